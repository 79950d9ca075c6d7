//! The way of a job, in the process of its own that runs it:
//!
//! 1. **turn**: it waits until it may start ([`turn`]), and its row says `running`; where its agent's clone is not made
//!    yet, it makes that ([`clone`]), and waits for its turn there;
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
mod deliver;
mod environment;
mod escape;
mod held;
mod hooks;
mod origins;
mod own_branch;
mod prompt;
mod reading;
mod sessions;
mod setup;

mod teardown;
mod tracker;
mod turn;
mod turns;

use std::sync::Arc;

use spinney_core::{
    AccountName, Advice, Cancel, Job, JobEvent, JobId, JobPhase, JobStatus, NoRoom, RepositoryName, SessionStatus,
    Timestamp,
};
use spinney_engine::executor::become_head;
use spinney_engine::{Context, ErrorKind, fail};
use spinney_store::{Ownable, Owned};

use crate::control::{Control, Stop};
use crate::log::Log;
use crate::outage::{Cut, through};
use crate::{Agent, Error, Jobs, Result, Sink, events};

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
}

/// What is configured by now: a job may wait for longer than its configuration stays as it was.
pub trait ConfiguredLimits: std::fmt::Debug + Sync {
    /// How many jobs may run at once; none when it can't be told.
    fn max_workers(&self) -> Option<u32>;
}

/// How a job ends when it does not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Failed(Why),
    /// There was no room for its workspace.
    Blocked(NoRoom),
    /// The database's server went away in the middle.
    CutOff(Why),
    Stopped(Stop),
}

/// Why a job does not complete, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    text: String,
    advice: Vec<Advice>,
}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self { text, advice: Vec::new() }
    }
}

impl Cut for End {
    fn is_cut_off(&self) -> bool {
        matches!(self, Self::CutOff(_))
    }
}

/// A part of a job's way.
type Step<T> = std::result::Result<T, End>;

impl End {
    fn status(&self) -> JobStatus {
        match self {
            Self::Failed(_) | Self::Blocked(_) | Self::CutOff(_) | Self::Stopped(Stop::No) => JobStatus::Failed,
            Self::Stopped(Stop::TimedOut) => JobStatus::TimedOut,
            Self::Stopped(Stop::Terminated) => JobStatus::Interrupted,
            Self::Stopped(Stop::Cancelled | Stop::AtOnce) => JobStatus::Cancelled,
        }
    }

    /// A failure that nothing is known to help with.
    fn failed(text: String) -> Self {
        Self::Failed(text.into())
    }

    fn message(&self) -> String {
        self.clone().why().text
    }

    fn why(self) -> Why {
        match self {
            Self::Failed(why) | Self::CutOff(why) => why,
            Self::Blocked(NoRoom { why, advice, .. }) => Why { text: why, advice },
            Self::Stopped(Stop::TimedOut) => "its time was up".to_owned().into(),
            Self::Stopped(Stop::Terminated) => "its process was told to end".to_owned().into(),
            Self::Stopped(_) => "cancelled".to_owned().into(),
        }
    }
}

impl<E: Into<Error>> From<E> for End {
    fn from(error: E) -> Self {
        let error = error.into();
        let why = Why { text: spinney_core::in_full(&error), advice: error.advice() };
        let (merged, stale) = match &error {
            Error::Engine(spinney_engine::Error::Limit { census, .. }) => (census.merged.len(), census.stale.len()),
            _ => (0, 0),
        };
        match error.kind() {
            _ if error.is_cut_off() => Self::CutOff(why),
            ErrorKind::Blocked => Self::Blocked(NoRoom { why: why.text, advice: why.advice, merged, stale }),
            _ => Self::Failed(why),
        }
    }
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
        let mut log = Log::open(&self.places.log(id))?;
        let (status, owned) = match through(async || self.prepare(&job).await).await {
            Ok((agent, context)) => {
                let control = Control::listen(self.engine.store().clone(), id.clone(), self.places.bell());
                let (escapes, stock) = (None, None);
                let mut run = Run { jobs: self, limits, job, owned, agent, context, log, control, escapes, stock };
                (Box::pin(run.go()).await, run.owned)
            }
            Err(error) => {
                let end = End::from(error);
                let (status, why) = (end.status(), end.why());
                let advice = why.advice.clone();
                log.emit(JobEvent::Finished { status, error: Some(why.text.clone()), advice });
                log.flush();
                let mut job = job;
                (job.outcome.error, job.outcome.advice) = (Some(why.text), why.advice);
                self.settle(&mut job, status).await?;
                (status, owned)
            }
        };
        let _ = std::fs::remove_file(self.places.prompt(id));
        let _ = std::fs::remove_file(self.places.last_words(id));
        owned.discard();
        self.places.ring();
        Ok(status)
    }

    async fn prepare(&self, job: &Job) -> Result<(Agent, Context)> {
        let context = async |name: &RepositoryName| {
            self.engine.repository(Some(&name.to_string()), self.engine.home().root()).await
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
            (job.outcome.error, job.outcome.advice) = (Some("cancelled".to_owned()), Vec::new());
        }
        db.end_sessions(&job.id, SessionStatus::Ended).await?;
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
        let status = match &outcome {
            Ok(()) => JobStatus::Completed,
            Err(end) => end.status(),
        };
        // An error of an attempt before is not one of this.
        (self.job.outcome.error, self.job.outcome.advice) = match outcome.err().map(End::why) {
            Some(why) => (Some(why.text), why.advice),
            None => (None, Vec::new()),
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
            self.pass("job.closed");
        }
        if let Some(fault) = self.log.fault() {
            tracing::warn!("{fault}");
        }
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
    async fn work(&mut self) -> (Option<setup::Place>, Step<()>) {
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

    async fn work_in(&mut self, place: &setup::Place) -> Step<()> {
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
    async fn end_processes(&self, place: &setup::Place) {
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
            self.warn(error.to_string());
        }
    }

    fn emit(&mut self, event: JobEvent) {
        self.log.emit(event);
        self.log.flush();
    }

    fn begin(&mut self, phase: JobPhase, detail: Option<String>) {
        self.emit(JobEvent::Phase { phase, detail });
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.emit(JobEvent::warning(text));
    }

    fn warn_advised(&mut self, text: String, advice: Vec<Advice>) {
        self.emit(JobEvent::Warning { text, advice });
    }
}
