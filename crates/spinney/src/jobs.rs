//! Jobs as the command line has them: opened, found by what a person typed, settled when their process died.

use std::sync::Arc;

use spinney_app::{Front, document};
use spinney_core::{Job, JobStatus};
use spinney_engine::{Among, Engine};
use spinney_jobs::{ConfiguredLimits, Error, Jobs};

use crate::app::App;
use crate::background;
use crate::error::{CliError, Result};

impl ConfiguredLimits for App {
    fn max_workers(&self) -> Option<u32> {
        // What can't be read now, as while somebody writes it, counts as it did.
        Some(self.layers().ok()?.resolve().ok()?.config.limits.max_workers)
    }
}

/// Opens the jobs of this home, to be run by this very program.
pub fn open<'e>(app: &App, engine: &'e Engine) -> Result<Jobs<'e>> {
    Ok(spinney_app::jobs::open(engine, Arc::new(background::own_program(app, engine)?))?)
}

/// Settles the jobs whose processes died, and says so. Nothing here fails a command that is about something else.
pub async fn settle_dead(app: &App, engine: &Engine) {
    let settled = match open(app, engine) {
        Ok(jobs) => jobs.recover().await.map_err(CliError::from),
        Err(error) => Err(error),
    };
    match settled {
        Ok(settled) => settled.iter().filter(|job| job.account == engine.account()).for_each(|job| {
            let (id, agent, work) = (&job.id, &job.agent, job.work.workspace_name());
            let how = if job.status == JobStatus::Cancelled { "cancelled, and" } else { "interrupted:" };
            app.ui
                .say(format!("job {id} ({agent} on {work}) was {how} its process died; `spinney retry {id}` goes on"));
        }),
        Err(error) => app.ui.warn(format!("jobs could not be read: {}", error.message())),
    }
}

/// Finds a job by what a person typed: its id, the beginning of it, or a workspace or work, whose newest job is meant.
pub async fn find(app: &App, engine: &Engine, jobs: &Jobs<'_>, text: &str) -> Result<Job> {
    let unknown = match jobs.find(text).await {
        Err(error @ Error::UnknownJob { .. }) => error,
        found => return Ok(found?),
    };
    let workspace = app.workspace(engine, text, Among::All).await.ok().map(|(_, workspace)| workspace);
    let in_workspace = match &workspace {
        Some(workspace) => spinney_app::jobs::newest_in(engine, &workspace.id).await?,
        None => None,
    };
    let here = app.context_if_any(engine).await?;
    let repository = here.as_ref().map(|context| &context.repository.id);
    let on_work = spinney_app::jobs::newest_on(jobs, repository, text).await?;
    let newest = in_workspace.into_iter().chain(on_work).max_by_key(|job| job.created_at);
    newest.ok_or_else(|| match workspace {
        Some(workspace) => CliError::not_found(format!("{} has had no job yet", workspace.name))
            .hinted("`spinney jobs` lists those of others"),
        None => unknown.into(),
    })
}

/// A job's JSON document, with all that belongs to it.
pub async fn document(engine: &Engine, jobs: &Jobs<'_>, job: &Job) -> Result<document::Job> {
    Ok(document::Job::load(engine, jobs, job, Front::CommandLine).await?)
}

/// The exit status that tells how a job ended.
pub fn exit_status(job: &Job) -> u8 {
    match job.status {
        JobStatus::Completed => 0,
        JobStatus::Failed if job.outcome.blocked => 3,
        JobStatus::Failed => 1,
        _ => 6,
    }
}

/// The exit status of several jobs: a failure comes before what was ended, and that before success.
pub fn worst(statuses: impl IntoIterator<Item = u8>) -> u8 {
    statuses.into_iter().min_by_key(|status| if *status == 0 { u8::MAX } else { *status }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_comes_first_and_success_last() {
        assert_eq!(worst([0, 6, 1, 6]), 1);
        assert_eq!(worst([0, 6]), 6);
        assert_eq!(worst([0, 0]), 0);
        assert_eq!(worst([]), 0);
    }
}
