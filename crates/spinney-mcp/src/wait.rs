//! `job_wait`: holds the call until the job is over, or for as long as a client waits for an answer.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::Value;
use spinney_app::jobs::{self, wait};
use spinney_core::Job;
use tokio::time::{Instant, sleep};

use crate::arguments::{self, WaitForJob};
use crate::error::{Fault, Result};
use crate::family::{Wish, find_job};
use crate::seat::Seat;

/// Clients give up after a minute without an answer.
const WITHOUT_PROGRESS: Duration = Duration::from_secs(50);
/// Who hears of progress waits longer.
const WITH_PROGRESS: Duration = Duration::from_secs(10 * 60);
const TELL_EVERY: Duration = Duration::from_secs(5);

pub(crate) async fn job_wait(
    seat: &Seat,
    arguments: JsonObject,
    request: &RequestContext<RoleServer>,
) -> Result<Value> {
    let asked: WaitForJob = arguments::read(arguments)?;
    let token = request.meta.get_progress_token();
    let most = if token.is_some() { WITH_PROGRESS } else { WITHOUT_PROGRESS };
    let within = asked.seconds.map_or(most, |seconds| Duration::from_secs(seconds).min(most));
    let own = seat.clone();
    let job = seat.work(move || async move { find_job(&own, &asked.id, Wish::Act).await }).await?;

    let known = seat.jobs()?;
    let waiting = wait(&known, &job.id, seat.job.as_ref(), within);
    let waited = tokio::select! {
        waited = waiting => waited?,
        never = tell_progress(seat, &job, request, token, within) => match never {},
        () = request.ct.cancelled() => {
            // Nobody waits any more, so that the job takes its worker again.
            if let Some(parent) = &seat.job {
                known.stop_awaiting_children(parent).await?;
            }
            return Err(Fault::usage("the wait was cancelled"));
        }
    };
    let own = seat.clone();
    seat.work(move || async move {
        let known = own.jobs()?;
        let job = if waited.status.is_final() {
            waited
        } else {
            // Its process may have died: whoever looks settles that.
            known.recover().await?;
            jobs::find(&known, waited.id.as_str()).await?
        };
        crate::jobs::tell(&own, &job).await
    })
    .await
}

/// Tells every few seconds that the wait goes on, to a client that asked for it.
async fn tell_progress(
    seat: &Seat,
    job: &Job,
    request: &RequestContext<RoleServer>,
    token: Option<ProgressToken>,
    within: Duration,
) -> std::convert::Infallible {
    let Some(token) = token else { return std::future::pending().await };
    let began = Instant::now();
    loop {
        sleep(TELL_EVERY).await;
        let status = match seat.jobs() {
            Ok(known) => jobs::find(&known, job.id.as_str()).await.map_or(job.status, |job| job.status),
            Err(_) => job.status,
        };
        let progress = ProgressNotificationParam::new(token.clone(), began.elapsed().as_secs_f64())
            .with_total(within.as_secs_f64())
            .with_message(format!("job {} is {status}", job.id));
        // Who does not hear it any more is gone, which the transport notices.
        let _ = request.peer.notify_progress(progress).await;
    }
}
