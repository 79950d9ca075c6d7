//! How jobs come into the queue, and how a supervisor comes to be.

use std::time::Duration;

use spinney_core::{Job, JobEvent, JobPhase, JobStatus, Timestamp, WaitsFor};
use spinney_engine::fail;
use spinney_store::{Connection, Ownable, Owned};
use tokio::time::{Instant, sleep};

use super::environment::hand_over;
use crate::log::Log;
use crate::runner::queue;
use crate::told::Detail;
use crate::{Error, Jobs, Result, Sink};

/// How long a supervisor may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often one is started for one job: one that dies at once would do so again.
const STARTED_AT_MOST: u32 = 3;

impl Jobs<'_> {
    /// Says what a job that is about to be recorded, or waits again, has to wait for; none when it begins at once. The queue
    /// is locked.
    pub(crate) async fn decide(&self, db: &mut Connection, job: &Job) -> Result<Option<WaitsFor>> {
        let (now, limit) = (Timestamp::now(), self.engine.config().limits.max_workers);
        let running = db.running_of(&job.node).await?;
        let busy = running.iter().filter(|other| queue::works(other, now)).count();
        // As in the middle of a long list: whoever else waits changes nothing.
        let is_plain = busy >= limit as usize
            && job.request.max_concurrent == 0
            && !running.iter().any(|other| queue::contend(other, job));
        if is_plain && !db.has_pending_rival(job).await? {
            return Ok(Some(WaitsFor::Worker { busy, limit }));
        }
        let mut jobs = db.queue_of(&job.node).await?;
        match jobs.iter_mut().find(|other| other.id == job.id) {
            Some(own) => own.clone_from(job),
            None => jobs.push(job.clone()),
        }
        Ok(queue::waits_for(&jobs, &job.id, limit, now))
    }

    /// Lets a job wait that was put into the queue by its owner.
    pub(crate) async fn put_in_queue(&self, job: &Job, owned: Owned) -> Result<()> {
        self.tell_waiting(job);
        fail::point("queue.recorded")?;
        self.leave_in_queue(job, owned).await
    }

    /// Gives up a job that is in the queue, once a supervisor has what is needed to start it.
    pub(crate) async fn leave_in_queue(&self, job: &Job, owned: Owned) -> Result<()> {
        let handed = self.hand_over(job).await;
        owned.discard();
        self.places.ring();
        handed
    }

    /// Tells in a job's log what it waits for. The caller owns the job.
    pub(super) fn tell_waiting(&self, job: &Job) {
        let Some(waits_for) = job.waits_for.clone() else { return };
        let detail = Some(self.words.detail(&Detail::WaitsFor(waits_for)));
        // Who follows it reads the row, too.
        if let Ok(mut log) = Log::open(&self.places.log(&job.id), self.words.clone()) {
            log.emit(JobEvent::Phase { phase: JobPhase::Waiting, detail });
            log.flush();
        }
    }

    /// Tells in a job's log that it is over, where it has no process that would.
    pub(crate) fn tell_finished(&self, job: &Job) {
        if let Ok(mut log) = Log::open(&self.places.log(&job.id), self.words.clone()) {
            let (error, advice) = (job.outcome.error.clone(), job.outcome.advice.clone());
            log.emit(JobEvent::Finished { status: job.status, error, advice });
            log.flush();
        }
    }

    /// Hands the environment of this process to the supervisor, which is started where there is none.
    async fn hand_over(&self, job: &Job) -> Result<()> {
        let (socket, variables) = (self.places.queue_socket(), self.launcher.environment(self.engine));
        let (until, mut started) = (Instant::now() + LISTENS_WITHIN, 0);
        while let Err(error) = hand_over(&socket, &job.id, &variables).await {
            // There is none, or one that is just starting or leaving.
            if started < STARTED_AT_MOST {
                started += u32::from(self.start_supervisor()?);
            }
            if Instant::now() > until {
                tracing::warn!(job = %job.id, cause = %error, "the supervisor was not told its environment");
                break;
            }
            let is_there = self.engine.ownership().is_owned(&Ownable::Queue)?;
            if !is_there && started == STARTED_AT_MOST {
                break;
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Starts a supervisor, unless there is one.
    fn start_supervisor(&self) -> Result<bool> {
        let Some(owned) = self.engine.ownership().take(Ownable::Queue)? else { return Ok(false) };
        let lock = owned.carrier()?;
        self.launcher.start_supervisor(self.engine, lock).map_err(|source| Error::Start { source })?;
        Ok(true)
    }

    /// Has somebody start what waits, if anything does: whoever decided that may have died.
    pub async fn attend_queue(&self) -> Result<()> {
        let has_queue = self.engine.store().read().await?.has_queue(self.engine.home().node()).await?;
        if has_queue && !self.engine.ownership().is_owned(&Ownable::Queue)? {
            self.start_supervisor()?;
        }
        Ok(())
    }

    /// The same for who asked for a job and follows it: the next supervisor is handed its environment again.
    pub async fn attend(&self, job: &Job) -> Result<()> {
        if job.status == JobStatus::Pending && job.is_queued() && !self.engine.ownership().is_owned(&Ownable::Queue)? {
            self.hand_over(job).await?;
        }
        Ok(())
    }
}
