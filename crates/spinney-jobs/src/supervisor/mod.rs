//! The queue of a home: jobs that can't begin now are rows, and one process, its supervisor, starts each at its turn.
//!
//! 1. A job that can't begin is written with what it waits for ([`spinney_core::Job::is_queued`]), and its owner lets go of
//!    it ([`door`]). A supervisor is started where none holds the lock of the queue ([`Ownable::Queue`]), and is handed the
//!    environment of whoever asked ([`environment`]).
//! 2. The supervisor looks whenever the bell rings, or a process that it watches is gone ([`look`]): it settles the dead,
//!    decides about all that wait in one pass, and writes what each waits for where that is news.
//! 3. At a job's turn it takes the job's lock and starts the job's process, which carries the lock on. The row stays as it
//!    is: only that process writes that the job runs, in a transaction that looks once more at who else does. If it finds
//!    somebody else there, the job is in the queue again, and its process leaves.
//! 4. When nothing waits it leaves: it gives up the lock, and then looks once more, for whoever found the lock taken.
//!
//! It may die at any of these points: what waits is still in the queue, and whoever looks next ([`crate::Jobs::recover`], the
//! end of any job) starts another one. A job starts once, because its lock has one owner and its row one transition.

mod door;
mod environment;
mod look;
mod room;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use spinney_core::{Cancel, JobId, Timestamp};
use spinney_engine::executor::hide;
use spinney_engine::fail;
use spinney_store::{Ownable, Owned};
use tokio::time::{Instant, sleep};

use crate::maintenance::outage::through;
use crate::{ConfiguredLimits, Jobs, Result};

use environment::{Handed, Mark};
use room::Room;

/// How often the bell is looked at. It takes a few microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Whoever rings within this time of another may leave the bell as it was: the clock of a file system has steps.
const STEP: Duration = Duration::from_millis(8);
/// How often locks of processes are looked at that may die without a word.
const WATCH_EVERY: Duration = Duration::from_millis(250);
/// How often it is looked at what no bell tells: the configuration, room, and what another machine wants cancelled.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// How often everything is looked at, whatever happened.
const LOOK_ANYWAY_EVERY: Duration = Duration::from_secs(30);
/// Between two tries when the store could not be asked.
const PAUSE: Duration = Duration::from_secs(1);

impl Jobs<'_> {
    /// Starts the jobs of the queue, each at its turn, and returns when none is left. For the process that was started for it.
    pub async fn supervise(&self, limits: &dyn ConfiguredLimits) -> Result<()> {
        // A process that leads a group already has no session to leave.
        let _ = rustix::process::setsid();
        let Some(mut owned) = self.engine.ownership().inherit(Ownable::Queue)? else { return Ok(()) };
        // It keeps the environments of others, and agents run as the same user.
        hide();
        loop {
            fail::point("queue.taken")?;
            Supervisor::new(self, limits)?.run(owned).await?;
            fail::point("queue.left")?;
            // Who asked before the lock was free has started no other one.
            let node = self.engine.home().node();
            if !through(async || Ok::<_, crate::Error>(self.engine.store().read().await?.has_queue(node).await?))
                .await?
            {
                return Ok(());
            }
            match self.engine.ownership().take(Ownable::Queue)? {
                Some(again) => owned = again,
                None => return Ok(()),
            }
        }
    }
}

/// The one process of a home that decides whose turn it is.
#[derive(Debug)]
struct Supervisor<'a> {
    jobs: &'a Jobs<'a>,
    limits: &'a dyn ConfiguredLimits,
    handed: Handed,
    /// What had been handed over when the last look began.
    mark: Mark,
    max_workers: u32,
    room: Room,
    /// Jobs whose processes were started and have not said yet what came of it, with how often they had turned back by then.
    starting: HashMap<JobId, u32>,
    /// Jobs that turned back although it seemed to be their turn, as their own configuration may say, with who ran then.
    turned_away: HashMap<JobId, HashSet<JobId>>,
    /// Jobs that have a process.
    attended: Vec<JobId>,
    /// When a job that runs takes its worker again.
    next_change: Option<Timestamp>,
    /// A lock was somebody else's for a moment.
    looks_again: bool,
}

/// When to look.
#[derive(Debug)]
struct Times {
    heard: Option<SystemTime>,
    looked: Option<Instant>,
    /// How long the last look took. While many ask at once, it looks for a third of the time at most.
    took: Duration,
    watched: Instant,
    asked: Instant,
}

impl<'a> Supervisor<'a> {
    fn new(jobs: &'a Jobs<'a>, limits: &'a dyn ConfiguredLimits) -> Result<Self> {
        let handed = Handed::listen(&jobs.places.queue_socket())?;
        let max_workers = limits.max_workers().unwrap_or(jobs.engine.config().limits.max_workers);
        let (room, starting, turned_away) = (Room::default(), HashMap::new(), HashMap::new());
        let (attended, next_change, looks_again) = (Vec::new(), None, false);
        let mark = Mark::default();
        Ok(Self {
            jobs,
            limits,
            handed,
            mark,
            max_workers,
            room,
            starting,
            turned_away,
            attended,
            next_change,
            looks_again,
        })
    }

    /// Works until nothing waits; gives up the lock then.
    async fn run(mut self, owned: Owned) -> Result<()> {
        let now = Instant::now();
        let mut times = Times { heard: None, looked: None, took: Duration::ZERO, watched: now, asked: now };
        while owned.is_whole() {
            if self.is_due(&mut times).await {
                let began = Instant::now();
                let looked = self.look().await;
                (times.looked, times.took) = (Some(Instant::now()), began.elapsed());
                match looked {
                    Ok(0) if self.starting.is_empty() && !self.looks_again && self.handed.close(self.mark) => break,
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(cause = %error, "the queue could not be looked at");
                        times.looked = None;
                        sleep(PAUSE).await;
                    }
                }
            }
            tokio::select! {
                () = self.handed.news() => {}
                () = sleep(LOOK_EVERY) => {}
            }
        }
        fail::point("queue.leaving")?;
        owned.discard();
        Ok(())
    }

    /// Whether there may be something to do.
    async fn is_due(&mut self, times: &mut Times) -> bool {
        let Some(looked) = times.looked else {
            times.heard = self.jobs.places.rung_at();
            return true;
        };
        let rung = self.jobs.places.rung_at();
        let has_rested = looked.elapsed() >= times.took * 2;
        if rung != times.heard && has_rested && !rung.is_some_and(|rung| rung.elapsed().is_ok_and(|age| age < STEP)) {
            times.heard = rung;
            return true;
        }
        if (has_rested && std::mem::take(&mut self.looks_again))
            || looked.elapsed() >= LOOK_ANYWAY_EVERY
            || self.next_change.is_some_and(|at| at <= Timestamp::now())
            || self.starting.keys().any(|id| !self.is_owned(id))
        {
            return true;
        }
        if times.watched.elapsed() >= WATCH_EVERY {
            times.watched = Instant::now();
            if !self.starting.is_empty() || self.room.is_tried || self.attended.iter().any(|id| !self.is_owned(id)) {
                return true;
            }
        }
        if times.asked.elapsed() >= ASK_EVERY {
            times.asked = Instant::now();
            let limit = self.limits.max_workers().unwrap_or(self.max_workers);
            let is_changed = std::mem::replace(&mut self.max_workers, limit) != limit;
            return is_changed || self.room.has_news(self.jobs).await || self.has_cancelled().await;
        }
        false
    }

    fn is_owned(&self, id: &JobId) -> bool {
        self.jobs.engine.ownership().is_owned(&Ownable::Job(id.clone())).unwrap_or(true)
    }

    /// Whether somebody cancelled a job in the queue and rang no bell here.
    async fn has_cancelled(&self) -> bool {
        let attended = async {
            let mut db = self.jobs.engine.store().read().await?;
            db.attended_jobs(self.jobs.engine.home().node()).await
        };
        attended.await.is_ok_and(|jobs| jobs.iter().any(|job| job.is_queued() && job.cancel != Cancel::No))
    }
}
