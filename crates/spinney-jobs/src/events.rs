//! The audit log: what happened to which job or schedule. Each entry is written with the change that it tells of.

use serde_json::{Value, json};
use spinney_core::{Cancel, Job, Schedule, Session, Timestamp};
use spinney_store::{Connection, Event};

use crate::Result;

/// A job was asked for.
pub(crate) fn created(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, "job.created", json!({ "trigger": job.trigger, "title": job.title }))
}

/// A job that has ended is to run again.
pub(crate) fn retried(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, "job.retried", json!({ "before": job.status }))
}

/// What a job waits for is known, or something else by now.
pub(crate) fn waiting(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, "job.waiting", json!({ "waits_for": job.waits_for }))
}

/// Its turn has come.
pub(crate) fn started(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, "job.started", json!({ "attempt": job.attempt }))
}

/// It has its workspace.
pub(crate) fn placed(db: &mut Connection, job: &Job) -> Result<()> {
    record(db, job, "job.placed", json!({ "branch": job.outcome.branch }))
}

/// A session began or ended, as its status says.
pub(crate) fn session(db: &mut Connection, job: &Job, session: &Session) -> Result<()> {
    let detail = json!({
        "session": session.id,
        "runtime": session.runtime,
        "resumed": session.resumed,
        "status": session.status,
    });
    record(db, job, "job.session", detail)
}

/// Its work is in the branch, and pushed or not as the policy says.
pub(crate) fn delivered(db: &mut Connection, job: &Job) -> Result<()> {
    let outcome = &job.outcome;
    let detail = json!({
        "branch": outcome.branch,
        "commit": outcome.commit,
        "push": outcome.push,
        "pull_request": outcome.pull_request,
    });
    record(db, job, "job.delivered", detail)
}

/// Somebody wants it to end.
pub(crate) fn cancelling(db: &mut Connection, job: &Job, cancel: Cancel) -> Result<()> {
    record(db, job, "job.cancelling", json!({ "cancel": cancel }))
}

/// It is over, as its status says.
pub(crate) fn ended(db: &mut Connection, job: &Job) -> Result<()> {
    let detail = json!({ "status": job.status, "error": job.outcome.error, "attempt": job.attempt });
    record(db, job, "job.ended", detail)
}

/// Something was done to a schedule: by a person, or by itself.
pub(crate) fn schedule(db: &mut Connection, schedule: &Schedule, kind: &str) -> Result<()> {
    let key = &schedule.key;
    db.record_event(Event {
        account: key.account.clone(),
        kind: kind.to_owned(),
        workspace_id: None,
        repository_id: key.repository_id.clone(),
        job_id: None,
        detail: json!({ "agent": key.agent, "name": key.name, "reason": schedule.pause_reason }),
        at: Timestamp::now(),
    })?;
    Ok(())
}

fn record(db: &mut Connection, job: &Job, kind: &str, mut detail: Value) -> Result<()> {
    detail["agent"] = json!(job.agent);
    detail["work"] = json!(job.work);
    db.record_event(Event {
        account: job.account.clone(),
        kind: kind.to_owned(),
        workspace_id: job.workspace_id.clone(),
        repository_id: Some(job.repository_id.clone()),
        job_id: Some(job.id.clone()),
        detail,
        at: Timestamp::now(),
    })?;
    Ok(())
}
