//! Runs a job again that has ended: because somebody asks for it, or because a daemon takes up what was interrupted.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{AgentName, Cancel, Job, JobId, JobStatus, Timestamp};
use spinney_store::Owned;
use tokio::time::{Instant, sleep};

use crate::{Agent, Error, Jobs, Result, events};

/// Why a job that has ended runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reopening<'m> {
    /// Somebody asked for it, with a mark of that wish or without.
    Asked { mark: Option<&'m JobId> },
    /// The daemon takes it up by itself, unless somebody cancelled it.
    TakenUp,
}

/// How long ago a job may have been interrupted for a daemon to take it up again.
const RESUMED_WITHIN: Duration = Duration::from_secs(60 * 60);
/// How often the process of a job is started that has not begun, whatever its agent says: nothing was tried yet, and who
/// asked for it may have died before there was one.
const STARTED_AT_MOST: u32 = 3;
/// How long a job's process may take to leave after it wrote how the job ended.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Jobs<'_> {
    /// Runs a job that has ended again: in the same workspace, and in the same session where its runtime can.
    #[boxed]
    pub async fn retry(&self, job: &Job) -> Result<Job> {
        self.reopen_asked(job, None).await
    }

    /// The same, once: who asks again with the same mark, because nobody told what came of it, finds it done.
    #[boxed]
    pub async fn retry_once(&self, job: &Job, mark: &JobId) -> Result<Job> {
        let known = self.load(&job.id).await?;
        if known.outcome.retried_by.as_ref() == Some(mark) {
            return Ok(known);
        }
        self.reopen_asked(job, Some(mark)).await
    }

    /// Delivers a job that is held for a person, although it is: its very commit, and no other.
    #[boxed]
    pub async fn accept_held(&self, job: &Job, mark: Option<&JobId>) -> Result<Job> {
        let mut known = self.load(&job.id).await?;
        if mark.is_some() && known.outcome.retried_by.as_ref() == mark {
            return Ok(known);
        }
        let Some(held) = &known.outcome.held else {
            return Err(Error::NotHeld { id: job.id.clone() });
        };
        known.outcome.accepted = Some(held.commit.clone());
        self.engine.store().read().await?.record_outcome(&job.id, &known.outcome).await?;
        self.reopen_asked(&known, mark).await
    }

    async fn reopen_asked(&self, job: &Job, mark: Option<&JobId>) -> Result<Job> {
        let reopened = self.reopen(job, Reopening::Asked { mark }).await?;
        reopened.ok_or_else(|| Error::UnknownJob { name: job.id.to_string() })
    }

    /// Makes a job that has ended wait again, and starts its process; none where it is not to be.
    async fn reopen(&self, job: &Job, why: Reopening<'_>) -> Result<Option<Job>> {
        if job.node != *self.engine.home().node() {
            return Err(Error::OtherNode { id: job.id.clone() });
        }
        let owned = self.take_ended(job).await?;
        let mut db = self.engine.store().write().await?;
        let Some(row) = db.lock_job(&job.id).await? else { return Ok(None) };
        if why == Reopening::TakenUp && (row.status != JobStatus::Interrupted || row.cancel != Cancel::No) {
            // Since it was looked at, somebody cancelled it or had it run again.
            return Ok(None);
        }
        if !db.reopen_job(&job.id).await? {
            // It waits or runs, and its process is dead: whoever finds it first settles it.
            drop((db, owned));
            self.settle_dead(job).await?;
            let Job { id, status, .. } = self.load(&job.id).await?;
            return Err(Error::NotEnded { id, status });
        }
        events::retried(&mut db, &row)?;
        let Some(mut job) = db.job(&job.id).await? else { return Ok(None) };
        if row.status == JobStatus::Completed {
            // There is nothing left to deliver: somebody wants it done once more.
            (job.outcome.finished, job.outcome.delivered) = (false, false);
            (job.outcome.shared, job.outcome.accepted) = (Vec::new(), None);
        }
        // It tells of the try before.
        (job.outcome.error, job.outcome.advice) = (None, Vec::new());
        (job.outcome.blocked, job.outcome.untouched) = (false, false);
        match why {
            Reopening::Asked { mark } => job.outcome.retried_by = mark.cloned(),
            Reopening::TakenUp => {
                job.outcome.retried_by = None;
                job.outcome.resumed += 1;
            }
        }
        job.outcome.tried_room = None;
        db.lock_queue(&job.node).await?;
        job.waits_for = self.decide(&mut db, &job).await?;
        db.update_job(&job, JobStatus::Pending).await?;
        if job.is_queued() {
            events::waiting(&mut db, &job)?;
        }
        db.commit().await?;
        self.set_going(&job, owned).await?;
        Ok(Some(job))
    }

    /// Takes a job that has ended. Its process may need a moment more to leave, and who only looks whether it has holds its
    /// lock for an instant.
    async fn take_ended(&self, job: &Job) -> Result<Owned> {
        let deadline = Instant::now() + LEAVES_WITHIN;
        loop {
            if let Some(owned) = self.take(&job.id)? {
                return Ok(owned);
            }
            let Job { id, status, .. } = self.load(&job.id).await?;
            if !status.is_final() || Instant::now() > deadline {
                return Err(Error::NotEnded { id, status });
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Whether this node's daemon takes a job up again: its process died lately, and it was not tried as often as it may be.
    #[boxed]
    pub async fn may_resume(&self, job: &Job) -> bool {
        let since = Timestamp::now().minus(RESUMED_WITHIN);
        let lately = job.ended_at.is_some_and(|ended| ended > since);
        if job.status != JobStatus::Interrupted || job.node != *self.engine.home().node() || !lately {
            return false;
        }
        let Ok(name) = job.agent.parse::<AgentName>() else { return false };
        let configured_in = job.request.configured_in.as_ref().unwrap_or(&job.repository).to_string();
        let Ok(context) = self.engine.find_context(Some(&configured_in), self.engine.home().root()).await else {
            return false;
        };
        Agent::find(&context, &name).is_ok_and(|agent| has_tries_left(job, &agent))
    }

    /// Takes a job up again that [`Self::may_resume`]; none when somebody cancelled it meanwhile.
    #[boxed]
    pub async fn resume(&self, job: &Job) -> Result<Option<Job>> {
        self.reopen(job, Reopening::TakenUp).await
    }
}

/// Whether an interrupted job was not tried as often as its agent may be.
pub(crate) fn has_tries_left(job: &Job, agent: &Agent) -> bool {
    let most = agent.config.max_attempts;
    // A process that dies before it begins makes no attempt, and must not be started for ever.
    let most = if job.attempt == 0 { most.max(STARTED_AT_MOST) } else { most };
    job.attempt.max(job.outcome.resumed + 1) < most
}
