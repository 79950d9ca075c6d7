//! Long work: begun by a request, answered at once when it is quick, else followed by its id.

use std::future::Future;
use std::time::Duration;

use axum::Json;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use spinney_app::document;
use spinney_core::{LongOperation, LongOperationStatus, OperationId, Timestamp};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;
use tracing::{Instrument, Span};

use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};

/// How long a request waits for what it began.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of a request: a status and a document.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    document: Value,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, document: impl Serialize) -> Result<Self> {
        let document = serde_json::to_value(document)
            .map_err(|error| ApiError::failed(format!("the answer can't be written: {error}")))?;
        Ok(Self { status, document })
    }

    pub(crate) fn ok(document: impl Serialize) -> Result<Self> {
        Self::new(StatusCode::OK, document)
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.status, Json(self.document)).into_response()
    }
}

/// Work of the engine that goes on whatever becomes of the request that began it, on one of the engine's threads: other
/// requests are not to wait for it.
#[derive(Debug)]
pub(crate) struct Begun<T, E>(JoinHandle<Result<Result<T, E>, JoinError>>);

impl<T, E> Begun<T, E>
where
    T: Send + 'static,
    E: From<ApiError> + Send + 'static,
{
    pub(crate) fn new<F>(app: &App, work: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<T, E>>,
    {
        let (own, span) = (app.clone(), Span::current());
        Self(app.tasks().spawn(async move { own.on_thread(move || work().instrument(span)).await }.in_current_span()))
    }

    /// What comes of it; none when that takes longer than a request waits.
    pub(crate) async fn soon(&mut self) -> Result<Option<T>, E> {
        match timeout(PATIENCE, &mut self.0).await {
            Ok(ended) => Self::told(ended).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// What comes of it in the end.
    pub(crate) async fn end(self) -> Result<T, E> {
        Self::told(self.0.await)
    }

    fn told(ended: Result<Result<Result<T, E>, JoinError>, JoinError>) -> Result<T, E> {
        let broken = |_| Err(ApiError::failed("an internal error interrupted this request").into());
        ended.and_then(|ended| ended).unwrap_or_else(broken)
    }
}

/// Begins work, and answers with what comes of it; or, when that takes too long, with the operation to follow.
pub(crate) async fn begin<F>(app: &App, caller: &Caller, kind: &str, work: F) -> Result<Response>
where
    F: Future<Output = Result<Answer>> + Send + 'static,
{
    let mut begun = Begun::new(app, move || work);
    if let Some(answer) = begun.soon().await? {
        return Ok(answer.into_response());
    }
    let operation = LongOperation {
        id: OperationId::generate(),
        account: caller.account.clone(),
        node: app.engine().home().node().clone(),
        kind: kind.to_owned(),
        status: LongOperationStatus::Running,
        result: None,
        created_at: Timestamp::now(),
        ended_at: None,
    };
    let mut db = app.engine().store().write().await?;
    db.insert_long_operation(&operation).await?;
    db.commit().await?;
    // From here on it is told by its row.
    let (own, id) = (app.clone(), operation.id.clone());
    let follow = async move {
        if let Err(error) = tell(&own, &id, begun.end().await).await {
            tracing::error!(cause = %error.message, "the end of an operation could not be recorded");
        }
    };
    app.tasks().spawn(follow.in_current_span());
    let mut response = (StatusCode::ACCEPTED, Json(document::Operation::of(&operation))).into_response();
    if let Ok(place) = HeaderValue::try_from(format!("/api/v1/operations/{}", operation.id)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

async fn tell(app: &App, id: &OperationId, outcome: Result<Answer>) -> Result<()> {
    let (status, result) = match outcome {
        Ok(answer) => (LongOperationStatus::Done, answer.document),
        Err(error) => (LongOperationStatus::Failed, error.document()),
    };
    let mut db = app.engine().store().write().await?;
    db.end_long_operation(id, status, &result, Timestamp::now()).await?;
    db.commit().await?;
    Ok(())
}
