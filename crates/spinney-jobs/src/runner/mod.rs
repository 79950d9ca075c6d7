//! The way of a job, in the process of its own that runs it:
//!
//! 1. **turn**: its row says `running`, if it still may start ([`turn`]); else it goes back to the queue
//!    ([`crate::supervisor`]), and this process leaves. Where its agent's clone is not made yet, it makes that ([`clone`]),
//!    and stands in line for its turn there;
//! 2. **set up** ([`setup`]): the engine gives it its workspace, or where to read ([`reading`]), or it has a directory as it is;
//! 3. **before_run** hooks, in the workspace ([`hooks`]);
//! 4. what is there by now is written down ([`origins`]): it is not the agent's;
//! 5. **sessions** ([`sessions`]): one or more conversations of the runtime in that same workspace;
//! 6. **deliver** ([`deliver`]): for a completed session only, commit what is left over, push, pull request;
//! 7. **after_run** or **on_error** hooks, with the job's result;
//! 8. **tear down** ([`teardown`]): the workspace goes if it may, by the agent's `keep`;
//! 9. the row says how it ended, and the place is free for the next job.
//!
//! Set-up happens once and teardown once, however many sessions there are. A failure, a cancel, a time limit at any point
//! leads to 7; the work stays where it is. When this process dies, whoever looks next finds the lock free and the row not
//! over ([`crate::Jobs::recover`]); `retry` goes on in the same workspace and session.

mod clone;
pub(crate) mod control;
mod deliver;
mod end;
mod environment;
mod escape;
pub(crate) mod family;
mod held;
mod hooks;
pub(crate) mod keep;
mod mcp_servers;
mod named_value;
pub(crate) mod origin;
mod origins;
mod own_branch;
pub(crate) mod process;
mod prompt;
pub(crate) mod queue;
mod reading;
mod sessions;
pub(crate) mod setup;
mod teardown;
mod tracker;
mod turn;
mod turns;

use std::sync::Arc;

use spinney_core::{
    AccountName, Advice, Cancel, Job, JobEvent, JobId, JobPhase, JobStatus, RepositoryName, SessionStatus, Timestamp,
    TriedRoom,
};
use spinney_engine::executor::become_head;
use spinney_engine::{Context, fail};
use spinney_store::{Ownable, Owned};

use crate::log::Log;
use crate::maintenance::outage::through;
use crate::runner::control::{Control, Stop};
use crate::told::{Detail, Failure, Warning, Words};
use crate::{Agent, Error, Jobs, Result, Sink, events};

use end::{End, Step, Why};

/// One job that is being run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    jobs: &'a Jobs<'a>,
    limits: &'a dyn ConfiguredLimits,
    job: Job,
    /// The right to run it, with the fence of its start.
    owned: Owned,
    agent: Agent,
    context: Context,
    log: Log,
    control: Control,
    /// The second look at the main checkout, while it goes on.
    escapes: Option<escape::Escapes>,
    /// What was in its workspace before its agent began, once that is known.
    stock: Option<origins::Stock>,
    /// When it asked for a workspace last, until that is answered.
    tried: Option<TriedRoom>,
}

/// What is configured by now: a job may wait for longer than its configuration stays as it was.
pub trait ConfiguredLimits: std::fmt::Debug + Sync {
    /// How many jobs may run at once; none when it can't be told.
    fn max_workers(&self) -> Option<u32>;
}

impl Jobs<'_> {
    /// The account of a job, which says whose it is, whoever started its process; none for one that is unknown.
    pub async fn owner(&self, id: &JobId) -> Result<Option<AccountName>> {
        match through(async || self.load(id).await).await {
            Ok(job) => Ok(job.account.parse().ok()),
            Err(Error::UnknownJob { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a job from its turn to its end. For the process that was started for it, and for no other: it adopts orphaned
    /// processes and ends them.
    pub async fn run(&self, id: &JobId, limits: &dyn ConfiguredLimits) -> Result<JobStatus> {
        // A process that leads a group already, as one that a person started by hand, has no session to leave.
        let _ = rustix::process::setsid();
        become_head(id);
        let Some(owned) = self.engine.ownership().inherit(Ownable::Job(id.clone()))? else {
            let status = self.load(id).await?.status;
            return Err(Error::NotEnded { id: id.clone(), status });
        };
        let job = through(async || self.load(id).await).await?;
        if job.status != JobStatus::Pending {
            return Ok(job.status);
        }
        let mut log = Log::open(&self.places.log(id), self.words.clone())?;
        let (status, owned, job) = match through(async || self.prepare(&job).await).await {
            Ok((agent, context)) => {
                let control = Control::listen(self.engine.store().clone(), id.clone(), self.places.bell());
                let (escapes, stock, tried) = (None, None, None);
                let mut run =
                    Run { jobs: self, limits, job, owned, agent, context, log, control, escapes, stock, tried };
                (Box::pin(run.go()).await, run.owned, run.job)
            }
            Err(error) => {
                let end = End::from(error);
                let status = end.status();
                let (text, advice) = end.why().told(self.words.as_ref());
                log.emit(JobEvent::Finished { status, error: Some(text.clone()), advice: advice.clone() });
                log.flush();
                let mut job = job;
                (job.outcome.error, job.outcome.advice) = (Some(text), advice);
                self.settle(&mut job, status).await?;
                (status, owned, job)
            }
        };
        let _ = std::fs::remove_file(self.places.prompt(id));
        let _ = std::fs::remove_file(self.places.mcp(id));
        let _ = std::fs::remove_file(self.places.last_words(id));
        if status == JobStatus::Pending {
            self.leave_in_queue(&job, owned).await?;
            return Ok(status);
        }
        owned.discard();
        self.places.ring();
        // Who decided whose turn it is may have died meanwhile. What can't be started now is started by the next command.
        let _ = self.attend_queue().await;
        Ok(status)
    }

    async fn prepare(&self, job: &Job) -> Result<(Agent, Context)> {
        let context = async |name: &RepositoryName| {
            self.engine.find_context(Some(&name.to_string()), self.engine.home().root()).await
        };
        let agent =
            job.agent.parse().map_err(|_| Error::UnknownAgent { name: job.agent.clone(), known: Vec::new() })?;
        let agent =
            Agent::find(&context(job.request.configured_in.as_ref().unwrap_or(&job.repository)).await?, &agent)?;
        Ok((agent, context(&job.repository).await?))
    }

    /// Writes how a job ended. One that was told to end, and that a person cancelled meanwhile, is cancelled: a daemon takes
    /// up what is interrupted.
    async fn settle(&self, job: &mut Job, status: JobStatus) -> Result<()> {
        through(async || self.try_to_settle(job, status).await).await
    }

    async fn try_to_settle(&self, job: &mut Job, status: JobStatus) -> Result<()> {
        job.waits_for = None;
        job.ended_at = Some(Timestamp::now());
        let mut db = self.engine.store().write().await?;
        let row = db.lock_job(&job.id).await?;
        let is_cancelled = status == JobStatus::Interrupted && row.is_some_and(|row| row.cancel != Cancel::No);
        job.status = if is_cancelled { JobStatus::Cancelled } else { status };
        if is_cancelled {
            (job.outcome.error, job.outcome.advice) = (Some(self.words.failure(&Failure::Cancelled)), Vec::new());
        }
        db.end_sessions(&job.id, SessionStatus::Ended).await?;
        // Of a session whose end went wrong, only its row tells.
        job.outcome.usage = job.outcome.usage.most(db.spent_by(&job.id).await?);
        // A start that could not be written left the row as it was.
        if db.update_job(job, JobStatus::Running).await? || db.update_job(job, JobStatus::Pending).await? {
            events::ended(&mut db, job)?;
        }
        db.commit().await?;
        Ok(())
    }
}

impl Run<'_> {
    async fn go(&mut self) -> JobStatus {
        let (place, outcome) = self.work().await;
        if matches!(outcome, Err(End::Queued)) {
            return JobStatus::Pending;
        }
        let status = match &outcome {
            Ok(()) => JobStatus::Completed,
            Err(end) => end.status(),
        };
        self.job.outcome.blocked = matches!(outcome, Err(End::Blocked(..)));
        // An error of an attempt before is not one of this.
        (self.job.outcome.error, self.job.outcome.advice) = match outcome {
            Err(end) => {
                let (text, advice) = end.why().told(self.words());
                (Some(text), advice)
            }
            Ok(()) => (None, Vec::new()),
        };
        if let Some(place) = &place {
            self.note_left(place, status).await;
            self.note_escapes().await;
            self.note_changes(place).await;
            // A delivery has just read it.
            if status != JobStatus::Completed {
                self.read_branch(place).await;
            }
            let has_hooks = self.run_closing_hooks(place, status).await;
            if has_hooks || status != JobStatus::Completed {
                self.end_processes(place).await;
            }
            if status != JobStatus::Completed {
                self.job.outcome.untouched = self.is_untouched(place).await;
            }
            self.pass("job.closed");
        }
        self.log.report_fault();
        if let Some(place) = place {
            self.tear_down(place, status).await;
            self.pass("job.torn-down");
        }
        let status = match self.jobs.settle(&mut self.job, status).await {
            Ok(()) => self.job.status,
            Err(error) => {
                tracing::error!("how job {} ended could not be written: {error}", self.job.id);
                status
            }
        };
        self.pass("job.settled");
        let (error, advice) = (self.job.outcome.error.clone(), self.job.outcome.advice.clone());
        self.emit(JobEvent::Finished { status, error, advice });
        status
    }

    /// Everything up to the delivery; with the place where the work was done, once there is one.
    async fn work(&mut self) -> (Option<setup::JobPlace>, Step<()>) {
        if self.job.outcome.delivered {
            // An earlier attempt died after that. Its workspace may be gone already, and a sweep takes it else.
            return (None, Ok(()));
        }
        // Of a clone, it is asked once there is one.
        let has_forge = match self.job.request.clone_url {
            Some(_) => Ok(()),
            None => through(async || self.require_forge().await).await,
        };
        let place = match has_forge {
            Ok(()) => self.take_turn_and_place().await,
            Err(end) => Err(end),
        };
        let place = match place {
            Ok(place) => place,
            Err(end) => return (None, Err(end)),
        };
        let outcome = self.work_in(&place).await;
        (Some(place), outcome)
    }

    async fn work_in(&mut self, place: &setup::JobPlace) -> Step<()> {
        self.take_stock(place).await?;
        // What an earlier attempt finished is delivered, not done again.
        if !self.job.outcome.finished {
            let push_url = through(async || Ok::<_, End>(self.jobs.engine.push_url(&self.context).await?)).await?;
            self.job.outcome.push_url = push_url;
            self.control.limit(self.agent.config.timeout.0);
            self.run_opening_hooks(place).await?;
            self.begin_with_stock(place).await?;
            let before = self.look_at_checkout();
            let outcome = self.run_sessions(place).await;
            // Its git is a descendant too, and must not be ended with what the agent left.
            let before = self.seen(before).await;
            self.end_processes(place).await;
            self.look_again(before);
            outcome?;
            self.job.outcome.finished = true;
            self.record().await?;
            fail::point("job.finished")?;
        }
        // A person who cancels does not wait for a slow remote. What was pushed by then is found by a retry.
        let control = self.control.clone();
        tokio::select! {
            delivered = through(async || self.deliver(place).await) => delivered?,
            stop = control.more_than(Stop::TimedOut) => return Err(End::Stopped(stop)),
        }
        self.job.outcome.delivered = true;
        through(async || self.record_delivered().await).await
    }

    async fn record_delivered(&self) -> Step<()> {
        let mut db = self.jobs.engine.store().write().await?;
        db.record_outcome(&self.job.id, &self.job.outcome).await?;
        // Nothing is delivered from a directory as it is.
        if self.job.outcome.push.is_some() {
            events::delivered(&mut db, &self.job)?;
        }
        Ok(db.commit().await?)
    }

    /// Ends whatever the agent and the hooks left running.
    async fn end_processes(&self, place: &setup::JobPlace) {
        self.jobs.end_processes(&self.job.id, Arc::clone(place.executor())).await;
    }

    /// Writes what the job has come to so far.
    async fn record(&mut self) -> Step<()> {
        through(async || {
            let mut db = self.jobs.engine.store().read().await?;
            Ok(db.record_outcome(&self.job.id, &self.job.outcome).await?)
        })
        .await
    }

    /// A fail point where nothing can fail any more.
    fn pass(&mut self, name: &'static str) {
        if let Err(error) = fail::point(name) {
            self.warn(&Warning::Error(error.into()));
        }
    }

    fn emit(&mut self, event: JobEvent) {
        self.log.emit(event);
        self.log.flush();
    }

    fn words(&self) -> &dyn Words {
        self.jobs.words.as_ref()
    }

    fn begin(&mut self, phase: JobPhase) {
        self.emit(JobEvent::Phase { phase, detail: None });
    }

    fn begin_with(&mut self, phase: JobPhase, detail: &Detail) {
        let detail = Some(self.words().detail(detail));
        self.emit(JobEvent::Phase { phase, detail });
    }

    fn warn(&mut self, warning: &Warning) {
        self.warn_advised(warning, Vec::new());
    }

    fn warn_advised(&mut self, warning: &Warning, advice: Vec<Advice>) {
        let text = self.words().warning(warning);
        self.emit(JobEvent::Warning { text, advice });
    }
}
