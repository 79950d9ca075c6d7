//! The audit log: what happened to which job or schedule. Each entry is written with the change that it tells of.

use spinney_core::event::{AboutJob, AboutSchedule};
use spinney_core::{Cancel, Event, Job, Schedule, Session};
use spinney_store::{Connection, Subject};

use crate::Result;

/// A job was asked for.
pub(crate) fn created(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, |about| Event::JobCreated { about, trigger: job.trigger, title: job.title.clone() })
}

/// A job that has ended is to run again.
pub(crate) fn retried(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, |about| Event::JobRetried { about, before: job.status })
}

/// What a job waits for is known, or something else by now.
pub(crate) fn waiting(db: &mut Connection, job: &Job) -> Result<()> {
    let waits_for = job.waits_for.as_ref().map(ToString::to_string);
    record(db, job, |about| Event::JobWaiting { about, waits_for, on: job.waits_for.clone() })
}

/// Its turn has come.
pub(crate) fn started(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, |about| Event::JobStarted { about, attempt: job.attempt })
}

/// It has its workspace.
pub(crate) fn placed(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, |about| Event::JobPlaced { about, branch: job.outcome.branch.clone() })
}

/// A session began or ended, as its status says.
pub(crate) fn session(db: &mut Connection, job: &Job, session: &Session) -> Result<()> {
    record(db, job, |about| Event::JobSession {
        about,
        session: session.id.clone(),
        runtime: session.runtime.clone(),
        resumed: session.resumed,
        status: session.status,
    })
}

/// Its work is in the branch, and pushed or not as the policy says.
pub(crate) fn delivered(db: &mut Connection, job: &Job) -> Result<()> {
    let outcome = &job.outcome;
    record(db, job, |about| Event::JobDelivered {
        about,
        branch: outcome.branch.clone(),
        commit: outcome.commit.clone(),
        push: outcome.push,
        pull_request: outcome.pull_request.clone(),
    })
}

/// Somebody wants it to end.
pub(crate) fn cancelling(db: &mut Connection, job: &Job, cancel: Cancel) -> Result<()> {
    record(db, job, |about| Event::JobCancelling { about, cancel })
}

/// It is over, as its status says.
pub(crate) fn ended(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, |about| Event::JobEnded {
        about,
        status: job.status,
        attempt: job.attempt,
        error: job.outcome.error.clone(),
    })
}

/// What was done to a schedule, as [`Event::SchedulePaused`].
pub type ScheduleChange = fn(AboutSchedule) -> Event;

/// Something was done to a schedule: by a person, or by itself.
pub(crate) fn schedule(db: &mut Connection, schedule: &Schedule, what: ScheduleChange) -> Result<()> {
    let key = &schedule.key;
    let subject = Subject { repository_id: key.repository_id.clone(), ..Subject::account(&key.account) };
    Ok(db.record(subject, what(AboutSchedule::of(schedule)))?)
}

fn record(db: &mut Connection, job: &Job, what: impl FnOnce(AboutJob) -> Event) -> Result<()> {
    Ok(db.record(Subject::job(job), what(AboutJob::of(job)))?)
}
