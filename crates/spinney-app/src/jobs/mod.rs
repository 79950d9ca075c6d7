//! What can be asked about jobs: each a function that every front calls.

mod log;
mod wait;

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use spinney_core::{AgentName, Cancel, Job, JobId, JobRequest, JobStatus, RepositoryId, Workspace, WorkspaceId};
use spinney_engine::{Context, Engine};
use spinney_jobs::{Agent, Busy, Jobs, Launcher, NewJob};
use spinney_store::{JobFilter, JobSearch};

use crate::page::{Page, PageAsked, behind};
use crate::words::English;
use crate::{Error, Front, Prompt, Result, WorkRequest, document};

/// How much of a prompt a list tells.
const LISTED_PROMPT_CHARS: usize = 2000;
/// How many jobs are searched for one that has, or had, no workspace of its own.
const SEARCHED: u32 = 1000;

pub use log::{LogPart, log_part};
pub use wait::wait;

/// A job that somebody asks for.
#[derive(Debug, Clone)]
pub struct JobAsked {
    /// Chosen by who asks, so that asking again asks for the same job; none: a new one.
    pub id: Option<JobId>,
    /// None: the only one that is configured.
    pub agent: Option<AgentName>,
    pub prompt: Prompt,
    pub work: WorkRequest,
    /// Whether somebody named the repository, so that the job is for that one or for none.
    pub names_repository: bool,
    /// What to do when the same work is being done already.
    pub busy: Busy,
    /// Whether it waits where there is no room for its workspace, since nobody sits there who could make some.
    pub waits_for_room: bool,
    /// What it has in common with the other jobs of a list; none where it was asked for alone.
    pub batch: Option<JobId>,
}

/// Opens the jobs of a home, with the words that all fronts have in common.
///
/// # Errors
///
/// If the home has no place for jobs.
pub fn open(engine: &Engine, launcher: Arc<dyn Launcher>) -> spinney_jobs::Result<Jobs<'_>> {
    Jobs::open(engine, launcher, Arc::new(English))
}

/// Records a job and starts its process.
///
/// # Errors
///
/// If the request makes no sense, no agent is meant, or the same work is being done.
#[boxed]
pub async fn submit(jobs: &Jobs<'_>, context: Context, asked: JobAsked) -> Result<Job> {
    let busy = asked.busy;
    let new = new_job(jobs, &context, asked)?;
    Ok(jobs.submit(context, new, busy).await?)
}

/// The same for the agent of a running job.
///
/// # Errors
///
/// The same; and if that agent may ask for no more, or for the very work that its own job does.
pub async fn submit_child(jobs: &Jobs<'_>, parent: &JobId, context: Context, asked: JobAsked) -> Result<Job> {
    let busy = asked.busy;
    let new = new_job(jobs, &context, asked)?;
    Ok(jobs.submit_child(parent, context, new, busy).await?)
}

fn new_job(jobs: &Jobs<'_>, context: &Context, asked: JobAsked) -> Result<NewJob> {
    let JobAsked { id, agent, prompt, mut work, names_repository, busy: _, waits_for_room, batch } = asked;
    let agent = match agent {
        Some(agent) => agent,
        None => Agent::only(context)?,
    };
    jobs.require_start(context, &agent)?;
    Ok(NewJob {
        id,
        agent,
        title: work.title.take(),
        trigger: work.platform,
        prompt: prompt.into_text(),
        work: work.work.clone(),
        request: JobRequest { batch, ..work.for_job(waits_for_room)? },
        names_repository,
    })
}

/// Asks a job to end, or ends it without asking its agent; gives it as it is then.
///
/// # Errors
///
/// If the job is over.
#[boxed]
pub async fn cancel(jobs: &Jobs<'_>, job: &Job, at_once: bool) -> Result<Job> {
    jobs.cancel(job, if at_once { Cancel::AtOnce } else { Cancel::Asked }).await?;
    Ok(jobs.require(&job.id).await?)
}

/// How a job is run again.
#[derive(Debug, Clone, Default)]
pub struct Retry {
    /// Who asks again with the same mark finds it done.
    pub mark: Option<JobId>,
    /// Whether the very commit is delivered that is held for a person.
    pub accept_held: bool,
}

/// Runs a job again that has ended.
///
/// # Errors
///
/// If the job has not ended, or is not held.
#[boxed]
pub async fn retry(jobs: &Jobs<'_>, job: &Job, how: &Retry) -> Result<Job> {
    Ok(match &how.mark {
        mark if how.accept_held => jobs.accept_held(job, mark.as_ref()).await?,
        Some(mark) => jobs.retry_once(job, mark).await?,
        None => jobs.retry(job).await?,
    })
}

/// Finds a job of the account by its id alone.
///
/// # Errors
///
/// If there is none.
#[boxed]
pub async fn find(jobs: &Jobs<'_>, text: &str) -> Result<Job> {
    let unknown = || Error::unknown("job", text);
    let id: JobId = text.parse().map_err(|_| unknown())?;
    match jobs.require(&id).await {
        Err(spinney_jobs::Error::UnknownJob { .. }) => Err(unknown()),
        found => Ok(found?),
    }
}

/// Finds the newest job on work of a name, in a repository or in all: one that was cancelled while it waited, or that only
/// reads, has no workspace.
///
/// # Errors
///
/// If several repositories have such work.
#[boxed]
pub async fn newest_on(jobs: &Jobs<'_>, repository: Option<&RepositoryId>, name: &str) -> Result<Option<Job>> {
    let mut found = jobs.list(repository, JobStatus::ALL, SEARCHED).await?;
    found.retain(|job| job.work.workspace_name().as_str() == name);
    if found.iter().any(|job| job.repository_id != found[0].repository_id) {
        let candidates = found.iter().map(|job| format!("{} ({})", job.id, job.repository)).collect();
        return Err(spinney_jobs::Error::AmbiguousJob { name: name.to_owned(), candidates }.into());
    }
    Ok(found.into_iter().max_by_key(|job| job.created_at))
}

/// Finds the newest job in a workspace.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn newest_in(engine: &Engine, workspace: &WorkspaceId) -> Result<Option<Job>> {
    Ok(engine.store().read().await?.jobs_in(workspace, 1).await?.pop())
}

/// Loads the workspace of a job, also when it is in the trash by now.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn workspace_of(engine: &Engine, job: &Job) -> Result<Option<Workspace>> {
    match &job.workspace_id {
        Some(id) => Ok(engine.store().read().await?.workspace(id).await?),
        None => Ok(None),
    }
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct Which {
    pub repository: Option<RepositoryId>,
    /// None: all.
    pub statuses: Option<Vec<JobStatus>>,
    pub agent: Option<String>,
    pub workspace: Option<WorkspaceId>,
}

/// Lists jobs of the account, newest first. Of a long prompt, it has the beginning.
///
/// # Errors
///
/// If the page makes no sense, or the store can't tell.
#[boxed]
pub async fn page(engine: &Engine, which: Which, asked: &PageAsked<'_>) -> Result<Page<Job>> {
    let Which { repository, statuses, agent, workspace } = which;
    let statuses = statuses.unwrap_or_else(|| JobStatus::ALL.to_vec());
    let filter = JobFilter { account: engine.account().to_owned(), node: None, repository, statuses };
    let search = JobSearch { filter, agent, workspace };
    let mut rows = engine.store().read().await?.job_page(&search, &asked.rows()?).await?;
    for row in &mut rows {
        if let Some((end, _)) = row.prompt.char_indices().nth(LISTED_PROMPT_CHARS) {
            row.prompt.truncate(end);
        }
    }
    Page::cut(rows, asked, |row| behind(row.created_at, row.id.as_str()))
}

/// The documents of jobs, with what belongs to each, in two queries.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn documents(engine: &Engine, jobs: &Jobs<'_>, rows: &[Job], front: Front) -> Result<Vec<document::Job>> {
    let mut db = engine.store().read().await?;
    let ids: Vec<_> = rows.iter().map(|row| &row.id).collect();
    let sessions = db.sessions_of_all(&ids).await?;
    let places: Vec<_> = rows.iter().filter_map(|row| row.workspace_id.as_ref()).collect();
    let workspaces = db.workspaces_of_all(&places).await?;
    let document = |row: &Job| {
        let own: Vec<_> = sessions.iter().filter(|session| session.job_id == row.id).cloned().collect();
        let workspace = workspaces.iter().find(|workspace| Some(&workspace.id) == row.workspace_id.as_ref());
        document::Job::of(row, &own, workspace, &jobs.log_path(&row.id), front)
    };
    Ok(rows.iter().map(document).collect())
}
