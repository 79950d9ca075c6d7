//! What jobs and workspaces changed: asked of the repository, so that a tree in the trash is no hindrance.

use axum::extract::State;
use axum::response::Response;
use spinney_app::document;
use spinney_core::{CommitId, Job};
use spinney_engine::{Context, Engine};

use super::extract::Path;
use super::named;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};
use crate::operations::{Answer, begin};

/// More than anybody reads.
const MAX_BYTES: usize = 2 << 20;

pub(crate) async fn of_job(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let job = named::job(&app.jobs(&engine)?, &id).await?;
    begin(&app, &caller, "job.diff", async move { Answer::ok(load_of_job(&engine, &job).await?) }).await
}

/// What a job changed, as far as it has come.
pub(crate) async fn load_of_job(engine: &Engine, job: &Job) -> Result<document::Diff> {
    let workspace = match &job.workspace_id {
        Some(id) => engine.store().read().await?.workspace(id).await?,
        None => None,
    };
    let base = job.outcome.base_commit.clone().or_else(|| workspace.as_ref().map(|row| row.base_commit.clone()));
    let context = engine.require_repository(&job.repository_id).await?;
    // One that runs has come to what its branch has by now.
    let tip = match (&job.outcome.commit, &workspace) {
        (None, Some(row)) if row.status.is_live() => {
            context.load_branch(&row.branch).await.map_err(spinney_engine::Error::from)?
        }
        (commit, _) => commit.clone(),
    };
    load(&context, base, tip).await
}

pub(crate) async fn of_workspace(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = named::workspace(&engine, &id).await?;
    begin(&app, &caller, "workspace.diff", async move {
        let context = engine.context_of(&row).await?;
        let tip = context.load_branch(&row.branch).await.map_err(spinney_engine::Error::from)?;
        Answer::ok(load(&context, Some(row.base_commit), tip).await?)
    })
    .await
}

async fn load(context: &Context, base: Option<CommitId>, tip: Option<CommitId>) -> Result<document::Diff> {
    let told = |commit: &Option<CommitId>| commit.as_ref().map(ToString::to_string);
    let (base_commit, commit) = (told(&base), told(&tip));
    let (Some(base), Some(tip)) = (base, tip) else {
        return Ok(document::Diff { base_commit, commit, diff: String::new(), truncated: false });
    };
    for wanted in [&base, &tip] {
        if context.load_commit(wanted.as_str()).await.map_err(spinney_engine::Error::from)?.is_none() {
            return Err(ApiError::not_found(format!("the commit `{wanted}` is not in the repository any more")));
        }
    }
    let patch = context.load_patch(&base, &tip, MAX_BYTES).await.map_err(spinney_engine::Error::from)?;
    Ok(document::Diff { base_commit, commit, diff: patch.text, truncated: patch.truncated })
}
