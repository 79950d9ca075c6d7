//! Long work that requests began.

use axum::Json;
use axum::extract::State;
use spinney_app::document;
use spinney_core::OperationId;

use super::extract::Path;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Operation>> {
    let unknown = || ApiError::not_found(format!("there is no operation `{id}`"));
    let id: OperationId = id.parse().map_err(|_| unknown())?;
    let found = app.engine().store().read().await?.long_operation(&caller.account, &id).await?;
    Ok(Json(document::Operation::of(&found.ok_or_else(unknown)?)))
}
