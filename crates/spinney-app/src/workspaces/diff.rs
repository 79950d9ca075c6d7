//! What was changed, as a patch.

use async_recursion::async_recursion as boxed;
use spinney_core::{CommitId, Job, Workspace};
use spinney_engine::{Context, Engine};

use crate::document::Diff;
use crate::{Error, Result};

/// More than anybody reads.
const MAX_BYTES: usize = 2 << 20;

/// What a workspace's branch changed since its base.
///
/// # Errors
///
/// If git can't tell, or a commit is gone.
#[boxed]
pub async fn of_workspace(engine: &Engine, workspace: &Workspace) -> Result<Diff> {
    let context = engine.context_of(workspace).await?;
    let tip = context.load_branch(&workspace.branch).await.map_err(spinney_engine::Error::from)?;
    load(&context, Some(&workspace.base_commit), tip.as_ref()).await
}

/// What a job changed, as far as it has come.
///
/// # Errors
///
/// If git can't tell, or a commit is gone.
#[boxed]
pub async fn of_job(engine: &Engine, job: &Job) -> Result<Diff> {
    let workspace = crate::jobs::workspace_of(engine, job).await?;
    let base = job.outcome.base_commit.clone().or_else(|| workspace.as_ref().map(|row| row.base_commit.clone()));
    let context = engine.require_repository(&job.repository_id).await?;
    // One that runs has come to what its branch has by now.
    let tip = match (&job.outcome.commit, &workspace) {
        (None, Some(row)) if row.status.is_live() => {
            context.load_branch(&row.branch).await.map_err(spinney_engine::Error::from)?
        }
        (commit, _) => commit.clone(),
    };
    load(&context, base.as_ref(), tip.as_ref()).await
}

async fn load(context: &Context, base: Option<&CommitId>, tip: Option<&CommitId>) -> Result<Diff> {
    let told = |commit: Option<&CommitId>| commit.map(ToString::to_string);
    let (base_commit, commit) = (told(base), told(tip));
    let (Some(base), Some(tip)) = (base, tip) else {
        return Ok(Diff { base_commit, commit, diff: String::new(), truncated: false });
    };
    for wanted in [base, tip] {
        if context.load_commit(wanted.as_str()).await.map_err(spinney_engine::Error::from)?.is_none() {
            return Err(Error::CommitGone { commit: wanted.clone() });
        }
    }
    let patch = context.load_patch(base, tip, MAX_BYTES).await.map_err(spinney_engine::Error::from)?;
    Ok(Diff { base_commit, commit, diff: patch.text, truncated: patch.truncated })
}
