//! One look at the queue.

use std::collections::{HashMap, HashSet};

use spinney_core::{Actor, Cancel, Job, JobEvent, JobId, JobStatus, Timestamp, WaitsFor};
use spinney_engine::fail;
use spinney_store::Owned;

use super::Supervisor;
use crate::log::Log;
use crate::maintenance::outage::through;
use crate::runner::queue;
use crate::told::Warning;
use crate::{Result, Sink, events};

/// How many rows are written in one transaction, with their locks held.
const AT_ONCE: usize = 64;

/// What became of a job whose turn it is.
enum Start {
    Begun,
    /// Its lock is somebody else's: who looks at it, or who still starts it.
    Busy,
    /// It is not in the queue any more.
    Gone,
}

impl Supervisor<'_> {
    /// Settles, starts and tells; gives how many jobs are in the queue still.
    pub(super) async fn look(&mut self) -> Result<usize> {
        let node = self.jobs.engine.home().node();
        self.mark = self.handed.mark();
        let rows =
            through(async || Ok::<_, crate::Error>(self.jobs.engine.store().read().await?.queue_of(node).await?));
        let mut jobs = self.without_dead(rows.await?).await?;
        self.handed.keep_only(&jobs, self.mark);
        let now = Timestamp::now();
        self.note(&jobs, now);
        let runs: HashSet<JobId> = jobs.iter().filter(|job| queue::works(job, now)).map(|job| job.id.clone()).collect();
        self.turned_away.retain(|id, then| *then == runs && jobs.iter().any(|job| job.id == *id && job.is_queued()));
        let waiting: HashMap<JobId, Option<WaitsFor>> =
            jobs.iter().filter(|job| job.is_queued()).map(|job| (job.id.clone(), job.waits_for.clone())).collect();
        let mut blocked = self.room.blocked(self.jobs, &jobs, &self.starting).await;
        for job in &mut jobs {
            if self.starting.contains_key(&job.id) {
                job.status = JobStatus::Running;
            }
            // What can't start whatever is free stands in nobody's way.
            job.outcome.blocked = blocked.contains_key(&job.id) || self.turned_away.contains_key(&job.id);
        }
        let waits = loop {
            let waits = queue::decide(&jobs, self.max_workers, now);
            let may_start =
                |job: &Job, waits: &Option<WaitsFor>| job.is_queued() && waits.is_none() && !job.outcome.blocked;
            let turns: Vec<usize> = (0..jobs.len()).filter(|index| may_start(&jobs[*index], &waits[*index])).collect();
            if turns.is_empty() {
                break waits;
            }
            for index in turns {
                if let Some(no_room) = self.room.rules_out(self.jobs, &jobs[index]).await {
                    blocked.insert(jobs[index].id.clone(), Some(no_room));
                    jobs[index].outcome.blocked = true;
                    continue;
                }
                match self.start(&jobs[index]).await? {
                    Start::Begun => {}
                    Start::Busy | Start::Gone => self.looks_again = true,
                }
                jobs[index].status = JobStatus::Running;
            }
        };
        let mut news = Vec::new();
        for (job, waits) in jobs.iter().zip(waits) {
            if !job.is_queued() || self.turned_away.contains_key(&job.id) {
                continue;
            }
            let (waits, tried) = match blocked.remove(&job.id) {
                Some(Some(tried)) => (Some(WaitsFor::Room(tried.0)), Some(tried.1)),
                Some(None) => continue,
                None => (waits, None),
            };
            if waits.is_some() && waiting.get(&job.id) != Some(&waits) {
                news.push((job.id.clone(), waits, tried));
            }
        }
        for news in news.chunks(AT_ONCE) {
            self.tell(news).await?;
        }
        Ok(jobs.iter().filter(|job| job.is_queued()).count())
    }

    /// Settles what died or was cancelled; gives the others.
    async fn without_dead(&mut self, rows: Vec<Job>) -> Result<Vec<Job>> {
        let mut left = Vec::with_capacity(rows.len());
        let is_known: HashSet<&JobId> = rows.iter().map(|job| &job.id).collect();
        self.starting.retain(|id, _| is_known.contains(id));
        let runs: HashSet<JobId> =
            rows.iter().filter(|job| queue::works(job, Timestamp::now())).map(|job| job.id.clone()).collect();
        for job in rows {
            let started = self.starting.get(&job.id).copied();
            let settled = match started {
                _ if !job.is_queued() => {
                    self.starting.remove(&job.id);
                    if self.is_owned(&job.id) { None } else { self.jobs.settle_dead(&job).await? }
                }
                Some(turned_back) if job.outcome.turned_back != turned_back => {
                    self.starting.remove(&job.id);
                    if !job.outcome.blocked {
                        self.turned_away.insert(job.id.clone(), runs.clone());
                    }
                    None
                }
                // Nobody has it, and nothing was written: its process died before it began.
                Some(turned_back) if !self.is_owned(&job.id) => {
                    self.starting.remove(&job.id);
                    self.looks_again = true;
                    self.jobs.settle_unbegun(&job, turned_back).await?
                }
                Some(_) => None,
                None if job.cancel != Cancel::No => self.jobs.settle_dead(&job).await?,
                None => None,
            };
            match settled {
                Some(_) => {}
                None => left.push(job),
            }
        }
        Ok(left)
    }

    /// Notes whose locks are looked at, and when a job takes its worker again.
    fn note(&mut self, jobs: &[Job], now: Timestamp) {
        self.attended = jobs.iter().filter(|job| !job.is_queued()).map(|job| job.id.clone()).collect();
        self.next_change = jobs.iter().filter_map(|job| job.awaits_until).filter(|until| *until > now).min();
    }

    /// Starts the process of a job, which carries its lock on.
    async fn start(&mut self, job: &Job) -> Result<Start> {
        let Some(owned) = self.jobs.take(&job.id)? else { return Ok(Start::Busy) };
        let row = self.jobs.load(&job.id).await?;
        if !row.is_queued() || row.cancel != Cancel::No {
            owned.discard();
            return Ok(Start::Gone);
        }
        fail::point("queue.turn")?;
        let variables = self.handed.of(&job.id);
        if variables.is_none()
            && let Ok(mut log) = Log::open(&self.jobs.places.log(&job.id), self.jobs.words.clone())
        {
            log.emit(JobEvent::warning(self.jobs.words.warning(&Warning::OtherEnvironment)));
            log.flush();
        }
        self.starting.insert(job.id.clone(), row.outcome.turned_back);
        match self.jobs.launch_in(&job.id, &owned, variables.as_ref()) {
            Ok(()) => drop(owned),
            Err(error) => {
                self.starting.remove(&job.id);
                tracing::error!(job = %job.id, cause = %error, "its process could not be started");
                self.jobs.fail_to_start(&row, owned, &error).await?;
                return Ok(Start::Gone);
            }
        }
        fail::point("queue.started")?;
        Ok(Start::Begun)
    }

    /// Writes what jobs wait for by now, in their rows and logs.
    async fn tell(&mut self, news: &[(JobId, Option<WaitsFor>, Option<spinney_core::TriedRoom>)]) -> Result<()> {
        let mut owned: Vec<(Owned, Job)> = Vec::new();
        let mut db = self.jobs.engine.store().write().await?;
        for (id, waits_for, tried) in news {
            let Some(own) = self.jobs.take(id)? else {
                self.looks_again = true;
                continue;
            };
            let Some(mut row) = db.lock_job(id).await?.filter(|row| row.is_queued() && row.cancel == Cancel::No) else {
                own.discard();
                continue;
            };
            row.waits_for.clone_from(waits_for);
            if let Some(tried) = tried {
                row.outcome.blocked = true;
                row.outcome.tried_room = Some(tried.clone());
            }
            db.act_as(Actor::Job { id: id.clone() });
            if db.update_job(&row, JobStatus::Pending).await? {
                events::waiting(&mut db, &row)?;
                owned.push((own, row));
            }
        }
        db.commit().await?;
        for (own, row) in owned {
            self.jobs.tell_waiting(&row);
            own.discard();
        }
        Ok(())
    }
}
