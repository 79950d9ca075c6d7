//! Whether it lives, and whether it can work: open to all, and silent about the work.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Result};

pub(crate) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Ready: the store answers, and nothing is ending.
pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Value>> {
    if app.stop().is_asked() {
        return Err(ApiError::unavailable("this server ends"));
    }
    let reached = match app.engine().store().read().await {
        Ok(mut db) => db.newest_event_id().await,
        Err(error) => Err(error),
    };
    match reached {
        Ok(_) => Ok(Json(json!({ "status": "ready" }))),
        Err(error) => {
            tracing::error!(%error, "the store does not answer");
            Err(ApiError::unavailable("the store does not answer"))
        }
    }
}
