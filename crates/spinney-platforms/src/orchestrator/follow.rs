//! The second step of a delivery: what becomes of its job is told where it was asked for.

use spinney_app::words;
use spinney_core::{Delivery, DeliveryStatus, Job, JobStatus, Work};
use spinney_jobs::{Error as JobsError, Jobs};

use super::answer::Answered;
use super::{Orchestrator, inbound, say};
use crate::{Error, Message, Result};

/// How much of a log is looked through for what an agent does now.
const LOOKED_THROUGH: u64 = 64 << 10;

impl Orchestrator {
    /// Tells how far a job has come; once it is over, what it came to.
    pub(super) async fn follow(&self, mut delivery: Delivery) -> Result<()> {
        let inbound = inbound(&delivery)?;
        let adapter = self.adapter(delivery.platform).ok_or(Error::NoAdapter(delivery.platform))?.clone();
        let adapter = adapter.as_ref();
        let Some(id) = delivery.job_id.clone() else { return self.end(delivery, DeliveryStatus::Failed, None).await };
        let jobs = self.jobs()?;
        let job = match jobs.require(&id).await {
            Ok(job) => job,
            Err(JobsError::UnknownJob { .. }) => {
                return self.end(delivery, DeliveryStatus::Failed, Some("its job is gone")).await;
            }
            Err(error) => return Err(error.into()),
        };
        let standing = Answered::of(&delivery);
        if job.status.is_final() {
            if jobs.may_resume(&job).await {
                return Ok(());
            }
            let message = self.ending(&job).await?;
            return self.answer(delivery, &inbound, adapter, message, DeliveryStatus::Done).await;
        }
        // All that are followed there share what the platform bears.
        let every = adapter.limits().edit_every * self.followed(delivery.platform);
        if standing.is_fresh(every) {
            return Ok(());
        }
        let message = match job.status {
            JobStatus::Pending => say::waiting(&job),
            _ => self.working(&jobs, &job).await?,
        };
        let Some(message) = message else { return Ok(()) };
        match self.say(&mut delivery, &inbound, adapter, message).await {
            // What could not be told on the way is told at the end.
            Err(Error::Send(error)) if !error.is_temporary() => {
                tracing::warn!(platform = %delivery.platform, cause = %error, "progress could not be told");
                Ok(())
            }
            said => said,
        }
    }

    /// What is said while a job runs; nothing before it has its workspace.
    async fn working(&self, jobs: &Jobs<'_>, job: &Job) -> Result<Option<Message>> {
        let Some(workspace) = &job.workspace_id else { return Ok(None) };
        let workspace = self.engine().require_workspace(workspace).await?;
        let others = self.others_of(job).await?;
        Ok(Some(say::working(job, &workspace, &others, doing(jobs, job).as_deref())))
    }

    async fn ending(&self, job: &Job) -> Result<Message> {
        let workspace = spinney_app::jobs::workspace_of(self.engine(), job).await?;
        let others = self.others_of(job).await?;
        Ok(say::ending(job, workspace.as_ref(), &others, &self.shared.url))
    }

    /// The other work that a job's workspace is for.
    async fn others_of(&self, job: &Job) -> Result<Vec<Work>> {
        let Some(workspace) = &job.workspace_id else { return Ok(Vec::new()) };
        let mut works = self.engine().store().read().await?.works_of(workspace).await?;
        works.retain(|work| *work != job.work);
        Ok(works)
    }
}

/// What an agent does now.
fn doing(jobs: &Jobs<'_>, job: &Job) -> Option<String> {
    let mut log = jobs.log(&job.id);
    log.skip_to_last(LOOKED_THROUGH).ok()?;
    let mut last = None;
    while let Ok(Some(entry)) = log.next_entry() {
        last = words::doing(&entry.event).or(last);
    }
    last
}
