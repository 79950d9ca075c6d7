//! Long work: begun by a request, answered at once when it is quick, else followed by its id.

use std::future::Future;
use std::time::Duration;

use axum::Json;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use spinney_core::{LongOperation, LongOperationStatus, OperationId, Timestamp};
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::app::App;
use crate::auth::Caller;
use crate::document;
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

/// Begins work that goes on whatever becomes of the request, and answers with what comes of it; or, when that takes too
/// long, with the operation to follow.
pub(crate) async fn begin<F>(app: &App, caller: &Caller, kind: &str, work: F) -> Result<Response>
where
    F: Future<Output = Result<Answer>> + Send + 'static,
{
    let (sender, mut receiver) = oneshot::channel();
    let (task_app, id) = (app.clone(), OperationId::generate());
    let task_id = id.clone();
    let (followed, is_followed) = oneshot::channel::<()>();
    // It reads and writes files, some of them many: on a thread of its own, so that other requests do not wait for it.
    let work = work.in_current_span();
    let task = async move {
        let outcome = task_app
            .on_thread(move || work)
            .await
            .unwrap_or_else(|_| Err(ApiError::failed("this request broke something here")));
        let Err(outcome) = sender.send(outcome) else { return };
        // Nobody waits any more: it is told by its row, once that is there.
        if is_followed.await.is_ok() {
            let told = tell(&task_app, &task_id, outcome).await;
            if let Err(error) = told {
                tracing::error!(cause = %error.message, "the end of an operation could not be recorded");
            }
        }
    };
    app.tasks().spawn(task.in_current_span());
    if let Ok(outcome) = tokio::time::timeout(PATIENCE, &mut receiver).await {
        let broken = || ApiError::failed("this request broke something here");
        return Ok(outcome.map_err(|_| broken())??.into_response());
    }
    let operation = LongOperation {
        id,
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
    // From here on it is told by its row: what was sent in this very moment is told there, too.
    receiver.close();
    if let Ok(outcome) = receiver.try_recv() {
        tell(app, &operation.id, outcome).await?;
    }
    let _ = followed.send(());
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
