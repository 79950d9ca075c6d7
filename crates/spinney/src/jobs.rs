//! Jobs as the command line has them: opened, found by what a person typed, settled when their process died.

use std::collections::HashMap;
use std::sync::Arc;

use spinney_app::{Front, document};
use spinney_core::{Job, JobStatus, Workspace, WorkspaceId};
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
    Ok(Jobs::open(engine, Arc::new(background::own_program(app, engine)?))?)
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
        Err(error) => app.ui.warn(format!("jobs could not be looked at: {}", error.message())),
    }
}

/// How many jobs are searched for one that has, or had, no workspace of its own.
const SEARCHED: u32 = 1000;

/// Finds a job by what a person typed: its id, the beginning of it, or a workspace or work, whose newest job is meant.
pub async fn find(app: &App, engine: &Engine, jobs: &Jobs<'_>, text: &str) -> Result<Job> {
    let unknown = match jobs.find(text).await {
        Err(error @ Error::UnknownJob { .. }) => error,
        found => return Ok(found?),
    };
    let workspace = app.workspace(engine, text, Among::All).await.ok().map(|(_, workspace)| workspace);
    let in_workspace = match &workspace {
        Some(workspace) => engine.store().read().await?.jobs_in(&workspace.id, 1).await?.pop(),
        None => None,
    };
    let on_work = newest_on(app, engine, jobs, text).await?;
    let newest = in_workspace.into_iter().chain(on_work).max_by_key(|job| job.created_at);
    newest.ok_or_else(|| match workspace {
        Some(workspace) => CliError::not_found(format!("{} has had no job yet", workspace.name))
            .hinted("`spinney jobs` lists those of others"),
        None => unknown.into(),
    })
}

/// Finds the newest job on a piece of work by its name: one that was cancelled while it waited, or that only reads, has
/// no workspace.
async fn newest_on(app: &App, engine: &Engine, jobs: &Jobs<'_>, name: &str) -> Result<Option<Job>> {
    let here = app.context_if_any(engine).await?;
    let mut found = jobs.list(here.as_ref().map(|context| &context.repository.id), JobStatus::ALL, SEARCHED).await?;
    found.retain(|job| job.work.workspace_name().as_str() == name);
    if found.iter().any(|job| job.repository_id != found[0].repository_id) {
        let candidates = found.iter().map(|job| format!("{} ({})", job.id, job.repository)).collect();
        return Err(Error::AmbiguousJob { name: name.to_owned(), candidates }.into());
    }
    Ok(found.into_iter().max_by_key(|job| job.created_at))
}

/// The jobs that run now, by their workspaces.
pub type Running = HashMap<WorkspaceId, Job>;

/// Loads the account's jobs on this node that run, in one query.
pub async fn running(engine: &Engine) -> Result<Running> {
    let jobs = engine.store().read().await?.unfinished_jobs(engine.home().node()).await?;
    let running = jobs.into_iter().filter(|job| job.status == JobStatus::Running && job.account == engine.account());
    Ok(running.filter_map(|job| Some((job.workspace_id.clone()?, job))).collect())
}

/// Loads the workspace of a job, also when it is in the trash by now.
pub async fn workspace_of(engine: &Engine, job: &Job) -> Result<Option<Workspace>> {
    match &job.workspace_id {
        Some(id) => Ok(engine.store().read().await?.workspace(id).await?),
        None => Ok(None),
    }
}

/// A job's JSON document, with all that belongs to it.
pub async fn document(engine: &Engine, jobs: &Jobs<'_>, job: &Job) -> Result<document::Job> {
    Ok(document::Job::load(engine, jobs, job, Front::CommandLine).await?)
}

/// The exit status that tells how a job ended.
pub fn exit_status(status: JobStatus) -> u8 {
    match status {
        JobStatus::Completed => 0,
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
