//! What jobs and workspaces changed: asked of the repository, so that a tree in the trash is no hindrance.

use axum::extract::State;
use axum::response::Response;
use spinney_app::jobs;
use spinney_app::workspaces::{self, diff};

use super::extract::Path;
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::operations::{Answer, begin};

pub(crate) async fn of_job(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let job = jobs::find(&app.jobs(&engine)?, &id).await?;
    begin(&app, &caller, "job.diff", async move { Answer::ok(diff::of_job(&engine, &job).await?) }).await
}

pub(crate) async fn of_workspace(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.diff", async move { Answer::ok(diff::of_workspace(&engine, &row).await?) }).await
}
