//! The gate of every route: what was written in the table about who may pass.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tracing::Instrument;

use super::{Caller, Via};
use crate::app::App;
use crate::error::{ApiError, Result};
use crate::idempotency;
use crate::listen::Peer;
use crate::pages::refuse;
use crate::routes::Access;

/// The largest body that is read.
pub(crate) const MAX_BODY_BYTES: usize = 2 << 20;
/// How long a client may take to send a body.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// How long an answer may take to begin. Long work is an operation that the client follows.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// What is asked at one route's gate.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub app: App,
    pub access: Access,
}

/// Lets a request pass, or answers it.
pub(crate) async fn pass(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    let Gate { app, access } = gate;
    let is_write = !matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path().to_owned();
    let checked = check(&app, access, &mut request, is_write).await;
    let (caller, body) = match checked {
        Ok(passed) => passed,
        Err(error) => return answer_refused(access, &request, error),
    };
    if !is_write {
        return match timeout(ANSWER_WITHIN, next.run(request)).await {
            Ok(response) => response,
            Err(_) => refuse(&path, ApiError::unavailable("the answer takes too long")),
        };
    }
    // A client that goes away in the middle of a change does not leave it half done: it goes on by itself.
    let tasks = app.tasks().clone();
    let change = async move {
        match caller.filter(|_| request.headers().contains_key(idempotency::HEADER)) {
            Some(caller) => idempotency::once(&app, &caller, request, body, next).await,
            None => next.run(request).await,
        }
    };
    match timeout(ANSWER_WITHIN, tasks.spawn(change.in_current_span())).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => refuse(&path, ApiError::failed("an internal error interrupted this request")),
        Err(_) => refuse(
            &path,
            ApiError::unavailable("the change takes longer than a request may last; it continues in the background"),
        ),
    }
}

/// Who passes, and the body, which is read here if it is one that is written.
async fn check(app: &App, access: Access, request: &mut Request, is_write: bool) -> Result<(Option<Caller>, Bytes)> {
    if is_write {
        app.hosts().check_origin(request.headers())?;
    }
    let peer = request.extensions().get::<Peer>().copied().unwrap_or(Peer::Network(([0, 0, 0, 0], 0).into()));
    let found = Caller::find(app, peer, request.headers()).await;
    let caller = match access {
        Access::Open => found.ok().flatten(),
        Access::Api(scope) | Access::Page(scope) => {
            let caller = found?.ok_or_else(|| {
                ApiError::unauthorized("this needs a token")
                    .hinted("send one as `Authorization: Bearer …`; the owner of the home makes it")
            })?;
            caller.require(scope)?;
            Some(caller)
        }
    };
    let mut body = Bytes::new();
    if is_write {
        body = read_body(std::mem::take(request.body_mut())).await?;
        *request.body_mut() = Body::from(body.clone());
        if let Some(Caller { via: Via::Session { csrf, .. }, .. }) = &caller
            && !shown_csrf(request, &body).is_some_and(|shown| csrf.matches(&shown))
        {
            return Err(ApiError::forbidden("the form was sent from an outdated page")
                .hinted("reload the page and send the form again"));
        }
    }
    if let Some(caller) = &caller {
        request.extensions_mut().insert(caller.clone());
    }
    Ok((caller, body))
}

/// Reads a body whole, and neither for ever nor without end.
async fn read_body(sent: Body) -> Result<Bytes> {
    let too_slow = |_| ApiError::usage("the body did not come in time").with_status(StatusCode::REQUEST_TIMEOUT);
    let refused = |_| {
        ApiError::usage(format!("the request body is incomplete or has more than {MAX_BODY_BYTES} bytes"))
            .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    };
    let read = timeout(BODY_WITHIN, axum::body::to_bytes(sent, MAX_BODY_BYTES)).await;
    read.map_err(too_slow)?.map_err(refused)
}

/// The CSRF token of a write: in a header, or in a form's field.
fn shown_csrf(request: &Request, body: &[u8]) -> Option<String> {
    if let Some(shown) = request.headers().get("x-csrf-token") {
        return shown.to_str().ok().map(ToOwned::to_owned);
    }
    let is_form = request.headers().get(CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes().split(|byte| *byte == b';').next() == Some(b"application/x-www-form-urlencoded")
    });
    let text = std::str::from_utf8(body).ok().filter(|_| is_form)?;
    let value = text.split('&').find_map(|pair| pair.strip_prefix("csrf="))?;
    Some(value.to_owned())
}

/// A person without a session is sent to where they log in.
fn answer_refused(access: Access, request: &Request, error: ApiError) -> Response {
    let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
    if matches!(access, Access::Page(_)) && error.status == StatusCode::UNAUTHORIZED && is_look {
        let wanted = request.uri().path();
        let target = HeaderValue::try_from(format!("/login?next={wanted}"));
        let target = target.unwrap_or_else(|_| HeaderValue::from_static("/login"));
        return (StatusCode::SEE_OTHER, [(LOCATION, target)]).into_response();
    }
    refuse(request.uri().path(), error)
}
