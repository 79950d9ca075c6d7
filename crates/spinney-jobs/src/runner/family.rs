//! Ends what runs for a job, wherever its place runs it.

use std::sync::Arc;

use spinney_core::{Job, JobId};
use spinney_engine::executor::{Executor, Tag, Tagged};
use spinney_store::{Ownable, Ownership};

use crate::{Jobs, Launcher, Result, StartedJob};

impl Jobs<'_> {
    /// Ends all processes of a job, and waits until they are gone. The process of a job that an agent started in its turn
    /// goes on: it is recorded, seen and cancelled like any other. So does the one that starts what waits.
    pub(crate) async fn end_processes(&self, job: &JobId, executor: Arc<dyn Executor>) {
        let (job, launcher) = (job.clone(), self.launcher.clone());
        let end = move || {
            let tag = Tag::Job(job.clone());
            let is_beside = |line: &[&[u8]]| runs_another_job(line, &job, &*launcher) || has_queue(line, &*launcher);
            executor.end(&Tagged::all(&tag).sparing(&is_beside));
        };
        let _ = tokio::task::spawn_blocking(end).await;
    }

    /// Ends what is left of a job whose process died.
    pub(crate) async fn end_left(&self, job: &Job) -> Result<()> {
        let workspace = match &job.workspace_id {
            Some(id) => self.engine.store().read().await?.workspace(id).await?,
            None => None,
        };
        self.end_processes(&job.id, self.engine.executor(workspace.as_ref())).await;
        Ok(())
    }
}

/// Whether a process runs another job: it was started as such a one is, and somebody owns that job.
fn runs_another_job(command_line: &[&[u8]], job: &JobId, launcher: &dyn Launcher) -> bool {
    let other = launcher.job_of(command_line).filter(|other| other.id != *job);
    let runs = |other: StartedJob| Ownership::of_home(&other.home).is_owned(&Ownable::Job(other.id)).unwrap_or(true);
    other.is_some_and(runs)
}

/// Whether a process is the supervisor of a queue.
fn has_queue(command_line: &[&[u8]], launcher: &dyn Launcher) -> bool {
    let home = launcher.queue_of(command_line);
    home.is_some_and(|home| Ownership::of_home(&home).is_owned(&Ownable::Queue).unwrap_or(true))
}
