//! What can be asked about jobs: each a function that every front calls.

use spinney_core::{AgentName, Cancel, Job, JobId};
use spinney_engine::Context;
use spinney_jobs::{Agent, Busy, Jobs, NewJob};

use crate::{Prompt, Result, WorkRequest};

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
}

/// Records a job and starts its process.
///
/// # Errors
///
/// If the request makes no sense, no agent is meant, or the same work is being done.
pub async fn submit(jobs: &Jobs<'_>, context: Context, asked: JobAsked) -> Result<Job> {
    let JobAsked { id, agent, prompt, mut work, names_repository, busy, waits_for_room } = asked;
    let agent = match agent {
        Some(agent) => agent,
        None => Agent::only(&context)?,
    };
    let new = NewJob {
        id,
        agent,
        title: work.title.take(),
        trigger: work.platform,
        prompt: prompt.into_text(),
        work: work.work.clone(),
        request: work.for_job(waits_for_room)?,
        names_repository,
    };
    Ok(jobs.submit(context, new, busy).await?)
}

/// Asks a job to end, or ends it without asking its agent; gives it as it is then.
///
/// # Errors
///
/// If the job is over.
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
pub async fn retry(jobs: &Jobs<'_>, job: &Job, how: &Retry) -> Result<Job> {
    Ok(match &how.mark {
        mark if how.accept_held => jobs.accept_held(job, mark.as_ref()).await?,
        Some(mark) => jobs.retry_once(job, mark).await?,
        None => jobs.retry(job).await?,
    })
}
