//! Waits for a job.

use std::time::Duration;

use spinney_core::{Job, JobId};
use spinney_jobs::Jobs;
use tokio::time::{Instant, sleep};

use crate::Result;

/// How often the job is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is noted that a job waits for its child. It counts as waiting a little longer than this.
const NOTE_EVERY: Duration = Duration::from_secs(5);

/// Waits until a job is over, or the time is; gives it as it is then. While the agent of `parent` waits, that job takes no
/// worker, so that its child gets one. Of a job whose process died, the row may still say that it runs: who recovers the
/// jobs of this home settles it.
///
/// # Errors
///
/// If there is no such job in the account.
pub async fn wait(jobs: &Jobs<'_>, id: &JobId, parent: Option<&JobId>, within: Duration) -> Result<Job> {
    let until = Instant::now() + within;
    let mut noted: Option<Instant> = None;
    loop {
        let job = jobs.require(id).await?;
        let left = until.saturating_duration_since(Instant::now());
        if job.status.is_final() || left.is_zero() || jobs.is_over(&job).await? {
            if let (Some(parent), Some(_)) = (parent, noted) {
                jobs.stop_awaiting_children(parent).await?;
            }
            // It may have ended between the two looks.
            return Ok(jobs.require(id).await?);
        }
        if let Some(parent) = parent
            && noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY)
        {
            jobs.await_children(parent).await?;
            noted = Some(Instant::now());
        }
        sleep(LOOK_EVERY.min(left)).await;
    }
}
