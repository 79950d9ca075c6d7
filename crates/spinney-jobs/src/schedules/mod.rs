//! Schedules: agents that are started by themselves, at times or for the items of a work source.
//!
//! There are no timers here. Whoever runs a daemon calls [`Schedules::tick`], and again at the time that it gives, or sooner
//! when something happened; jobs of this node that were interrupted are to be resumed before. All that lasts is in the
//! store. Invariants:
//!
//! - One process of a home looks at a time ([`Ownable::Schedules`]); among nodes, each change of a row is made on the version that was
//!   read. So one run is started once.
//! - A run is taken in the store before anything is done for it, under the id that its job will have; an item is noted
//!   there before its source is told. Whoever finds an id without a job knows that the daemon died in between.
//! - A schedule has one job at a time, and an item one holder.

mod ask;
mod configured;
mod plan;
mod report;
mod run;
mod settle;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{Schedule, Timestamp};
use spinney_store::Ownable;

use crate::{Jobs, Result};

pub use ask::{Listed, Listing, Selector, write_change};
pub use configured::Problem;
pub use report::{Report, RunOutcome};

use configured::Configured;

/// The configuration, and what a person did to it, is looked at again this often.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// A job that runs, or an item that could not be given back, is looked at again this often.
const SETTLE_WITHIN: Duration = Duration::from_secs(15);
/// While another process of this home looks.
const BUSY: Duration = Duration::from_secs(1);

/// Schedules of one account on this node.
#[derive(Debug)]
pub struct Schedules<'e> {
    jobs: Jobs<'e>,
    /// Where people reach the daemon, without a slash at its end.
    public_url: Option<String>,
}

impl<'e> Schedules<'e> {
    #[must_use]
    pub fn new(jobs: Jobs<'e>, public_url: Option<&str>) -> Self {
        let public_url = public_url.map(|url| url.trim_end_matches('/').to_owned()).filter(|url| !url.is_empty());
        Self { jobs, public_url }
    }

    /// Settles what ended, starts what is due, and says when to look again at the latest.
    #[boxed]
    pub async fn tick(&self, now: Timestamp) -> Result<Timestamp> {
        let Some(_owned) = self.jobs.engine.ownership().take(Ownable::Schedules)? else { return Ok(now.plus(BUSY)) };
        let mut wake = now.plus(LOOK_AGAIN);
        if !self.settle_claims().await? {
            wake = wake.min(now.plus(SETTLE_WITHIN));
        }
        for configured in self.load_configured(true).await?.schedules {
            match self.attend(&configured, now).await {
                Ok(next) => wake = wake.min(next),
                Err(error) => {
                    let (schedule, error) = (configured.to_string(), spinney_core::in_full(&error));
                    tracing::warn!(%schedule, %error, "a schedule could not be looked at");
                }
            }
        }
        Ok(wake)
    }

    /// Looks at one schedule, and says when to look again.
    async fn attend(&self, configured: &Configured, now: Timestamp) -> Result<Timestamp> {
        let mut row = self.row(configured, now).await?;
        let settled = self.settle(configured, &mut row).await?;
        if plan::is_due(&row, now) {
            self.run(configured, &mut row, now).await?;
        }
        let planned = row.planned_at.filter(|_| !row.paused);
        let soon = (!settled || plan::is_open(&row)).then(|| now.plus(SETTLE_WITHIN));
        Ok([planned, soon].into_iter().flatten().min().unwrap_or_else(|| now.plus(LOOK_AGAIN)))
    }

    /// What the store has of a schedule, planned as it is configured.
    async fn row(&self, configured: &Configured, now: Timestamp) -> Result<Schedule> {
        let mut db = self.jobs.engine.store().read().await?;
        loop {
            match db.schedule(&configured.key).await? {
                None => {
                    db.insert_schedule(&plan::first(configured, now)).await?;
                }
                Some(row) if row.timing == configured.config.timing() => return Ok(row),
                Some(mut row) => {
                    plan::replan(configured, &mut row, now);
                    db.update_schedule(&mut row).await?;
                }
            }
        }
    }
}
