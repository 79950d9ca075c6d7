//! The tools about jobs, but for waiting.

use serde_json::{Value, json};
use spinney_app::document::fit::{MAX_BYTES, bytes, fit_within};
use spinney_app::jobs::{self, JobAsked};
use spinney_app::{Front, Prompt, document};
use spinney_core::Job;
use spinney_jobs::Busy;

use crate::arguments::{CancelJob, GetJob, RunJob};
use crate::error::{Fault, Result};
use crate::family::{Wish, find_job};
use crate::seat::Seat;

/// Asks for a job, and gives it as it is at once. The agent of a job gets a job of its own, which does not wait for room: it
/// is told, and can decide.
pub(crate) async fn run(seat: &Seat, asked: RunJob) -> Result<Value> {
    let context = seat.open_repository(asked.repository.as_deref()).await?;
    if let (Some(_), Some(hint)) = (&seat.job, asked.work.leads_elsewhere()) {
        return Err(Fault::usage(format!("leave `{hint}` out: a job that you ask for gets a workspace of its own")));
    }
    let new = JobAsked {
        id: None,
        agent: asked.agent,
        prompt: Prompt::new(asked.prompt)?,
        work: asked.work.request()?,
        names_repository: true,
        busy: Busy::Wait,
        waits_for_room: seat.job.is_none(),
        batch: None,
    };
    let known = seat.jobs()?;
    let job = match &seat.job {
        Some(parent) => jobs::submit_child(&known, parent, context, new).await?,
        None => jobs::submit(&known, context, new).await?,
    };
    tell(seat, &job).await
}

pub(crate) async fn get(seat: &Seat, asked: GetJob) -> Result<Value> {
    let job = find_job(seat, &asked.id, Wish::Look).await?;
    let mut document = tell(seat, &job).await?;
    if asked.log || asked.cursor.is_some() {
        let log = log(seat, &job, asked.cursor.as_deref())?;
        // The cursor stands behind all of these events: what is cut for room is the rest.
        document = fit_within(document, MAX_BYTES - bytes(&log));
        document["events"] = log["events"].clone();
        document["next"] = log["next"].clone();
    }
    Ok(document)
}

pub(crate) async fn cancel(seat: &Seat, asked: CancelJob) -> Result<Value> {
    let job = find_job(seat, &asked.id, Wish::Act).await?;
    let known = seat.jobs()?;
    let job = jobs::cancel(&known, &job, asked.force).await?;
    tell(seat, &job).await
}

/// A job's document.
pub(crate) async fn tell(seat: &Seat, job: &Job) -> Result<Value> {
    let known = seat.jobs()?;
    Ok(json!(document::Job::load(&seat.engine, &known, job, Front::Tools).await?))
}

/// A part of a job's log. Behind the last part of a job that is over nothing comes next.
pub(crate) fn log(seat: &Seat, job: &Job, cursor: Option<&str>) -> Result<Value> {
    let part = jobs::log_part(&seat.jobs()?, &job.id, cursor)?;
    let is_last = part.events.is_empty() && job.status.is_final();
    Ok(json!({ "events": part.events, "next": (!is_last).then_some(part.next) }))
}
