//! Settles what ended: a schedule's last job, and the items whose jobs are over, or never were.

use std::time::Duration;

use spinney_core::{Claim, Job, JobStatus, Schedule, in_full};
use spinney_engine::fail;

use super::configured::Configured;
use super::report::{Report, RunOutcome};
use super::{Schedules, plan};
use crate::sources::{self, SourceFault, Ticket, WorkSource};
use crate::told::GivenBack;
use crate::{Error, Result};

/// How long a claim holds that its node does not renew.
pub(super) const LEASE: Duration = Duration::from_secs(15 * 60);
/// So many failures in a row pause a schedule.
const MAX_FAILURES: u32 = 5;

impl Schedules<'_> {
    /// Notes how a schedule's last job ended; `false` while it has not.
    pub(super) async fn settle(&self, configured: &Configured, row: &mut Schedule) -> Result<bool> {
        let Some(id) = row.last_job_id.clone().filter(|_| plan::is_open(row)) else { return Ok(true) };
        let Some(job) = self.jobs.engine.store().read().await?.job(&id).await? else {
            // The run was taken, and its daemon died before there was a job: it is made again.
            (row.last_job_id, row.last_status, row.asked) = (None, None, true);
            return self.write(row).await;
        };
        if !job.status.is_final() || self.jobs.may_resume(&job).await {
            return Ok(false);
        }
        row.last_status = Some(job.status);
        let item = Report::read(&row.last_report).and_then(|report| report.item);
        let message = job.outcome.error.clone().or_else(|| job.outcome.summary.clone());
        self.conclude(configured, row, &Report::new(job.status.into(), message).about(item));
        self.write(row).await
    }

    /// Counts what a run came to, and pauses a schedule that keeps failing.
    pub(super) fn conclude(&self, configured: &Configured, row: &mut Schedule, report: &Report) {
        row.last_report = report.json();
        match report.outcome {
            RunOutcome::Completed => row.failures = 0,
            RunOutcome::Failed => row.failures += 1,
            // A person's will, or nothing at all.
            _ => return,
        }
        if row.failures >= MAX_FAILURES && !row.paused {
            let reason = self.jobs.words.pause(row.failures, report.message.as_deref());
            tracing::warn!(schedule = %configured, %reason, "a schedule is paused");
            (row.paused, row.pause_reason) = (true, Some(reason));
        }
    }

    /// Gives back or ends the items whose jobs are over; `false` where some could not be.
    pub(super) async fn settle_claims(&self) -> Result<bool> {
        let engine = self.jobs.engine;
        let mut db = engine.store().read().await?;
        db.renew_claims(engine.account(), engine.home().node(), LEASE).await?;
        let claims = db.claims_to_settle(engine.account(), engine.home().node()).await?;
        drop(db);
        let mut all = true;
        let mut unreachable: Vec<String> = Vec::new();
        for claim in claims {
            if unreachable.contains(&claim.source) {
                continue;
            }
            if let Err(error) = self.settle_claim(&claim).await {
                if matches!(&error, Error::Forge(error) if error.is_temporary()) {
                    unreachable.push(claim.source.clone());
                }
                let error = in_full(&error);
                tracing::warn!(source = claim.source, item = claim.item, %error, "an item could not be settled");
                all = false;
            }
        }
        Ok(all)
    }

    async fn settle_claim(&self, claim: &Claim) -> Result<()> {
        let job = self.jobs.engine.store().read().await?.job(&claim.job_id).await?;
        if let Some(job) = &job
            && (!job.status.is_final() || self.jobs.may_resume(job).await)
        {
            return Ok(());
        }
        let source = self.source_of(claim).await?;
        let agent = claim.schedule.agent.clone();
        let agent = agent.ok_or(Error::Source(SourceFault::NoAgent))?;
        let (job_id, schedule) = (claim.job_id.clone(), claim.schedule.name.clone());
        let ticket = Ticket { link: self.link(&job_id), job: job_id, agent, schedule };
        match &job {
            Some(job) if job.status == JobStatus::Completed => source.finish(&claim.item, &ticket, job).await?,
            job => source.release(&claim.item, &ticket, why(job.as_ref())).await?,
        }
        fail::point("schedule.returned")?;
        self.forget(claim).await?;
        Ok(fail::point("schedule.settled")?)
    }

    pub(super) async fn forget(&self, claim: &Claim) -> Result<()> {
        let mut db = self.jobs.engine.store().read().await?;
        db.delete_claim(&claim.source, &claim.item, &claim.job_id).await?;
        Ok(())
    }

    /// The source that an item is of, by way of the claim's own repository, or another one of the same place.
    async fn source_of(&self, claim: &Claim) -> Result<Box<dyn WorkSource>> {
        let mut repositories = self.jobs.engine.repositories().await?;
        repositories.sort_by_key(|repository| Some(&repository.id) != claim.schedule.repository_id.as_ref());
        let mut fault = None;
        for repository in repositories {
            let opened = match self.context(&repository.name).await {
                Ok(context) => sources::open(self.jobs.engine, &context, &claim.work_source, &self.jobs.words).await,
                Err(error) => Err(error),
            };
            match opened {
                Ok(source) if source.name() == claim.source => return Ok(source),
                Ok(_) => {}
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        let gone = || Error::Source(SourceFault::Unreachable { place: claim.source.clone() });
        Err(fault.unwrap_or_else(gone))
    }
}

/// Why an item is given back.
fn why(job: Option<&Job>) -> GivenBack {
    match job.map(|job| job.status) {
        Some(JobStatus::Cancelled) => GivenBack::Cancelled,
        Some(JobStatus::TimedOut) => GivenBack::TimedOut,
        Some(JobStatus::Interrupted) => GivenBack::Interrupted,
        Some(_) => GivenBack::Failed,
        None => GivenBack::NeverBegan,
    }
}
