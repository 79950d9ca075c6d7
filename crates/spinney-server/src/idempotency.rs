//! A request with a key is carried out once: asked again, the answer is given again.
//!
//! 1. The key is recorded with the fingerprint of the request, and with the id of what the request will make.
//! 2. The request is carried out; what it makes has that id.
//! 3. The answer is recorded.
//!
//! Of a process that died after 1, or that could not reach the store at 3, whoever asks again makes the same thing, or finds
//! it made.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use spinney_core::names::content_hash;
use spinney_core::{JobId, Timestamp};
use spinney_store::{IdempotencyKey, RecordedAnswer};

use crate::app::{Answering, App};
use crate::auth::Caller;
use crate::error::{ApiError, Result};

pub(crate) const HEADER: &str = "idempotency-key";

/// How long a key is remembered.
pub(crate) const REMEMBERED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// After this time nobody answers any more: another machine's daemon died, too.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(60);
const MAX_ANSWER_BYTES: usize = 4 << 20;
const MAX_KEY_BYTES: usize = 200;

/// The id of what a request makes, and the mark of what it changes.
#[derive(Debug, Clone)]
pub(crate) struct Subject(pub JobId);

/// Marks an answer with a secret in it, which is kept nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unrecorded;

/// Carries a request out, or gives the answer that it had.
pub(crate) async fn once(app: &App, caller: &Caller, mut request: Request, body: Bytes, next: Next) -> Response {
    let asked = Asked::of(&request);
    let (begun, _answering) = match begin(app, caller, &asked, &body).await {
        Ok(Begun::Answered(answer)) => return replayed(answer),
        Ok(Begun::Ours(key, answering)) => (key, answering),
        Err(error) => return error.into_response(),
    };
    if let Ok(subject) = begun.subject.parse() {
        request.extensions_mut().insert(Subject(subject));
    }
    // A key whose request broke something is not kept for ever as being answered.
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response =
        answered.unwrap_or_else(|_| ApiError::failed("an internal error interrupted this request").into_response());
    match end(app, &begun, response).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

/// What is looked at of a request.
struct Asked {
    line: String,
    keys: Vec<HeaderValue>,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let line = format!("{} {}", request.method(), request.uri());
        Self { line, keys: request.headers().get_all(HEADER).iter().cloned().collect() }
    }
}

enum Begun {
    Ours(IdempotencyKey, Answering),
    Answered(RecordedAnswer),
}

async fn begin(app: &App, caller: &Caller, request: &Asked, body: &[u8]) -> Result<Begun> {
    let [key] = request.keys.as_slice() else { return Err(wrong_key()) };
    let is_key =
        |key: &&str| (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = key.to_str().ok().filter(is_key).ok_or_else(wrong_key)?;
    let mut asked = format!("{}\n", request.line).into_bytes();
    asked.extend_from_slice(body);
    let new = IdempotencyKey {
        account: caller.account.clone(),
        key: key.to_owned(),
        fingerprint: content_hash(&asked),
        boot: app.boot().to_owned(),
        subject: JobId::generate().to_string(),
        answer: None,
        created_at: Timestamp::now(),
    };
    let held = || ApiError::held("a request with this key is being answered");
    let answering = app.begin_answer(&caller.account, key).ok_or_else(held)?;
    let mut db = app.engine().store().write().await?;
    if db.insert_idempotency_key(&new).await? {
        db.commit().await?;
        return Ok(Begun::Ours(new, answering));
    }
    let known = db.idempotency_key(&caller.account, key).await?.ok_or_else(held)?;
    if known.fingerprint != new.fingerprint {
        return Err(ApiError::usage("this key was used for another request")
            .with_status(StatusCode::UNPROCESSABLE_ENTITY)
            .hinted("choose another key for another request"));
    }
    if let Some(answer) = known.answer {
        return Ok(Begun::Answered(answer));
    }
    // What this process answers, it knows. One home has one daemon: what another process of this home left unanswered,
    // nobody answers.
    let age = new.created_at.as_millisecond() - known.created_at.as_millisecond();
    let is_left = known.boot == new.boot || db.nodes().await?.len() <= 1 || age > GIVEN_UP_AFTER.as_millis() as i64;
    if !is_left || !db.take_idempotency_key(&known, app.boot()).await? {
        return Err(held());
    }
    db.commit().await?;
    Ok(Begun::Ours(IdempotencyKey { boot: new.boot, ..known }, answering))
}

/// Records an answer; a refusal is forgotten, so that the same may be asked when it can be done, and so is a secret. A stream
/// is not recorded either: it may last.
async fn end(app: &App, key: &IdempotencyKey, response: Response) -> Result<Response> {
    let store = app.engine().store().clone();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !response.status().is_success() || is_stream || response.extensions().get::<Unrecorded>().is_some() {
        let mut db = store.write().await?;
        db.delete_idempotency_key(&key.account, &key.key).await?;
        db.commit().await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_ANSWER_BYTES)
        .await
        .map_err(|_| ApiError::failed("the answer is too long to be remembered"))?;
    let mut db = store.write().await?;
    let location = parts.headers.get(header::LOCATION).and_then(|place| place.to_str().ok()).map(ToOwned::to_owned);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let answer = RecordedAnswer { status: parts.status.as_u16(), text, location };
    db.answer_idempotency_key(&key.account, &key.key, &answer).await?;
    db.commit().await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn replayed(answer: RecordedAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.text).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
    if let Some(place) = answer.location.and_then(|place| HeaderValue::try_from(place).ok()) {
        headers.insert(header::LOCATION, place);
    }
    response
}

fn wrong_key() -> ApiError {
    ApiError::usage(format!("`{HEADER}` has 1 to {MAX_KEY_BYTES} visible ASCII characters, once"))
}
