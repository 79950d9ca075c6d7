//! Who asks, for what, and what they may.

use std::sync::Arc;

use spinney_core::{JobId, Repository, RepositoryId, Scope};
use spinney_engine::{Context, Engine, EngineThreads};
use spinney_jobs::{Jobs, Launcher};
use tokio_util::task::TaskTracker;

use crate::error::{Fault, Result};

/// What a server was started for: fixed at the start over stdio, the caller's over HTTP.
#[derive(Debug, Clone)]
pub struct Seat {
    /// Of the account that asks, acting as whoever asks.
    pub engine: Arc<Engine>,
    pub launcher: Arc<dyn Launcher>,
    /// On which all work of the engine is done.
    pub threads: EngineThreads,
    /// What goes on though the client is gone.
    pub tasks: TaskTracker,
    pub scope: Scope,
    /// The one repository; none: each tool is told which one is meant.
    pub repository: Option<RepositoryId>,
    /// The job whose agent asks: it sees its own workspace, and what it asked for.
    pub job: Option<JobId>,
}

impl Seat {
    /// Does work of the engine on one of its threads. It goes on though nobody waits for it any more.
    pub(crate) async fn work<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>>,
    {
        let token = self.tasks.token();
        let work = move || async move {
            let _token = token;
            work().await
        };
        self.threads.run(work).await.unwrap_or_else(|_| Err(Fault::internal("this call broke something here")))
    }

    pub(crate) fn jobs(&self) -> Result<Jobs<'_>> {
        Ok(spinney_app::jobs::open(&self.engine, self.launcher.clone())?)
    }

    /// The repository that a call is about: the fixed one, or the one that it names; none where neither is.
    pub(crate) async fn repository(&self, named: Option<&str>) -> Result<Option<Repository>> {
        let text = match (&self.repository, named) {
            (Some(_), Some(_)) => {
                return Err(Fault::usage("this server is for one repository: leave `repository` out"));
            }
            (Some(id), None) => id.as_str(),
            (None, Some(text)) => text,
            (None, None) => return Ok(None),
        };
        Ok(Some(spinney_app::repositories::find(&self.engine, text).await?))
    }

    /// The same where one is needed.
    pub(crate) async fn require_repository(&self, named: Option<&str>) -> Result<Repository> {
        let found = self.repository(named).await?;
        found.ok_or_else(|| Fault::usage("`repository` is missing: `context` lists them"))
    }

    /// The same, opened.
    pub(crate) async fn open_repository(&self, named: Option<&str>) -> Result<Context> {
        let row = self.require_repository(named).await?;
        Ok(self.engine.require_repository(&row.id).await?)
    }

    /// Whether a row of this repository may be seen.
    pub(crate) fn is_of_repository(&self, repository: &RepositoryId) -> bool {
        self.repository.as_ref().is_none_or(|own| own == repository)
    }
}
