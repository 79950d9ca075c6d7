//! Starts a schedule that is due:
//!
//! 1. the run is taken: the row says under which id its job will be, and when the next one comes;
//! 2. with a work source: an item is noted as held, then claimed at its source;
//! 3. the job is recorded and started;
//! 4. the row says so, or why there is none.
//!
//! After a death before the third step there is no job of that id: whoever looks next gives the item back and has the run
//! made again.

use spinney_core::{
    Actor, Claim, Event, JobId, JobRequest, JobStatus, Platform, Schedule, Timestamp, Work, WorkKind, in_full,
};
use spinney_engine::{Context, fail};

use super::configured::Configured;
use super::report::{Report, RunOutcome};
use super::settle::LEASE;
use super::{Schedules, plan};
use crate::sources::{self, Item, Ticket};
use crate::told::Idle;
use crate::{Busy, Error, Jobs, NewJob, Result, events};

/// So many items are asked for in vain in one run; the next one goes on behind them.
const MAX_TRIES: usize = 20;

/// What became of a run.
enum Run {
    Started {
        item: Option<String>,
    },
    /// No job, and nothing is wrong.
    None(Report),
}

impl Schedules<'_> {
    /// Starts a schedule, unless its last job still runs.
    pub(super) async fn run(&self, configured: &Configured, row: &mut Schedule, now: Timestamp) -> Result<()> {
        row.asked = false;
        row.planned_at = plan::next(&configured.config, &configured.key, now);
        if let Some(job) = row.last_job_id.clone().filter(|_| plan::is_open(row)) {
            row.last_report = self.idle(RunOutcome::Skipped, &Idle::StillAtIt(job)).json();
            self.write(row).await?;
            return Ok(());
        }
        let last = Report::read(&row.last_report);
        let id = JobId::generate();
        let before = (row.last_job_id.replace(id.clone()), row.last_status.replace(JobStatus::Pending));
        row.last_started_at = Some(now);
        row.last_report = Report::new(RunOutcome::Taken, None).json();
        if !self.write(row).await? {
            // Somebody changed it meanwhile: it is looked at again with the next tick.
            return Ok(());
        }
        fail::point("schedule.taken")?;
        let behind = last.as_ref().filter(|last| last.outcome == RunOutcome::Skipped);
        let run = self.start(configured, &id, behind.and_then(|last| last.item.as_deref())).await;
        if run.is_err() && self.jobs.engine.store().read().await?.job(&id).await?.is_some() {
            // It was recorded and could not be started: it is settled like any other.
            return Ok(());
        }
        let mut again = None;
        let report = match run {
            Ok(Run::Started { item }) => {
                let report = Report::new(RunOutcome::Started, None).about(item).json();
                return self.note(row, &id, |row| row.last_report = report.clone()).await;
            }
            Ok(Run::None(report)) => report,
            Err(Error::Forge(error)) if error.is_temporary() => {
                let report = Report::postponed(in_full(&error), last.as_ref());
                again = Some(plan::again(&error, report.postponed, now));
                report
            }
            Err(error) => Report::new(RunOutcome::Failed, Some(in_full(&error))),
        };
        let concluded = |row: &mut Schedule| {
            (row.last_job_id, row.last_status) = before.clone();
            row.planned_at = again.or(row.planned_at);
            self.conclude(configured, row, &report);
        };
        self.note(row, &id, concluded).await?;
        // An item that was claimed for nothing is not kept from others.
        if configured.config.work_source.is_some() {
            self.settle_claims().await?;
        }
        Ok(())
    }

    /// Notes what became of a run, again on what somebody else made of the row meanwhile.
    async fn note(&self, row: &mut Schedule, run: &JobId, change: impl Fn(&mut Schedule)) -> Result<()> {
        loop {
            change(row);
            if self.write(row).await? {
                return Ok(());
            }
            match self.jobs.engine.store().read().await?.schedule(&row.key).await? {
                Some(newer) if newer.last_job_id.as_ref() == Some(run) => *row = newer,
                // It is another run's by now, or gone.
                _ => return Ok(()),
            }
        }
    }

    /// Writes a row on the version that was read, and tells where it is paused or resumed; `false` when somebody changed
    /// it.
    pub(super) async fn write(&self, row: &mut Schedule) -> Result<bool> {
        let mut db = self.jobs.engine.store().write().await?;
        let before = db.schedule(&row.key).await?;
        if !db.update_schedule(row).await? {
            return Ok(false);
        }
        if before.is_some_and(|before| before.paused != row.paused) {
            let what = if row.paused { Event::SchedulePaused } else { Event::ScheduleResumed };
            events::schedule(&mut db, row, what)?;
        }
        db.commit().await?;
        Ok(true)
    }

    /// Starts a job; where there are items, for the first that can be had, looked for behind the one that is named.
    async fn start(&self, configured: &Configured, id: &JobId, behind: Option<&str>) -> Result<Run> {
        let context = self.context(&configured.repository).await?;
        let Some(config) = &configured.config.work_source else {
            return match self.submit(configured, context, id, None).await {
                Ok(()) => Ok(Run::Started { item: None }),
                Err(error @ Error::Held { .. }) => Ok(skipped(&error)),
                Err(error) => Err(error),
            };
        };
        let source = sources::open(self.jobs.engine, &context, config, &self.jobs.words).await?;
        let mut ready = source.load_ready().await?;
        if ready.is_empty() {
            return Ok(Run::None(self.idle(RunOutcome::Idle, &Idle::NothingReady)));
        }
        if let Some(at) = behind.and_then(|behind| ready.iter().position(|item| item.key == behind)) {
            ready.rotate_left(at + 1);
        }
        let ticket = self.ticket(configured, id)?;
        let at_work = self.works_of(&context).await?;
        let mut tries = 0;
        for item in ready {
            if work(configured, Some(&item))?.is_some_and(|work| at_work.contains(&work)) {
                continue;
            }
            let claim = Claim {
                source: source.name().to_owned(),
                item: item.key.clone(),
                schedule: configured.key.clone(),
                job_id: id.clone(),
                work_source: config.clone(),
                since: Timestamp::now(),
            };
            if !self.jobs.engine.store().read().await?.insert_claim(&claim, LEASE).await? {
                continue;
            }
            fail::point("schedule.held")?;
            // Where that fails, the claim is settled with the next tick, as after a death.
            if source.claim(&item, &ticket).await? {
                fail::point("schedule.claimed")?;
                return self.submit_item(configured, id, &item).await;
            }
            self.forget(&claim).await?;
            tries += 1;
            if tries == MAX_TRIES {
                let report = self.idle(RunOutcome::Skipped, &Idle::HeldByOthers { items: tries });
                return Ok(Run::None(report.about(Some(item.key))));
            }
        }
        Ok(Run::None(self.idle(RunOutcome::Skipped, &Idle::AllHeld)))
    }

    fn idle(&self, outcome: RunOutcome, idle: &Idle) -> Report {
        Report::new(outcome, Some(self.jobs.words.idle(idle)))
    }

    async fn submit_item(&self, configured: &Configured, id: &JobId, item: &Item) -> Result<Run> {
        let context = self.context(&configured.repository).await?;
        match self.submit(configured, context, id, Some(item)).await {
            Ok(()) => {
                fail::point("schedule.started")?;
                Ok(Run::Started { item: Some(item.key.clone()) })
            }
            Err(error @ Error::Held { .. }) => Ok(skipped(&error)),
            Err(error) => Err(error),
        }
    }

    async fn submit(&self, configured: &Configured, context: Context, id: &JobId, item: Option<&Item>) -> Result<()> {
        let new = NewJob {
            id: Some(id.clone()),
            agent: configured.agent()?.clone(),
            work: work(configured, item)?,
            title: item.map(|item| item.title.clone()),
            prompt: item.map_or_else(|| configured.config.prompt.clone(), Item::prompt),
            trigger: Platform::Schedule,
            request: JobRequest {
                schedule: Some(configured.key.name.clone()),
                waits_for_room: true,
                ..JobRequest::default()
            },
            names_repository: true,
        };
        let (agent, name) = (configured.key.agent.clone(), configured.key.name.clone());
        let engine = self.jobs.engine.acting_as(Actor::Schedule { agent, name });
        let jobs = Jobs::open(&engine, self.jobs.launcher.clone(), self.jobs.words.clone())?;
        jobs.submit(context, new, Busy::Refuse).await.map(drop)
    }

    /// The works that jobs of this node are at, whoever asked for them.
    async fn works_of(&self, context: &Context) -> Result<Vec<Work>> {
        let unfinished = self.jobs.engine.store().read().await?.unfinished_jobs(self.jobs.engine.home().node()).await?;
        let here = unfinished.into_iter().filter(|job| job.repository_id == context.repository.id);
        Ok(here.map(|job| job.work).collect())
    }

    pub(super) fn ticket(&self, configured: &Configured, id: &JobId) -> Result<Ticket> {
        Ok(Ticket {
            job: id.clone(),
            agent: configured.agent()?.clone(),
            schedule: configured.key.name.clone(),
            link: self.link(id),
        })
    }

    /// Where people can look at a job.
    pub(super) fn link(&self, id: &JobId) -> Option<String> {
        self.public_url.as_ref().map(|url| format!("{url}/jobs/{id}"))
    }
}

/// The work of a run: the schedule's own, which lasts, or the item's; none where each job is its own.
fn work(configured: &Configured, item: Option<&Item>) -> Result<Option<Work>> {
    if configured.config.resume_session {
        let key = format!("schedule-{}.{}", configured.agent()?, configured.key.name);
        return Ok(Some(Work { kind: WorkKind::Task, key }));
    }
    Ok(item.and_then(|item| item.work.clone()))
}

fn skipped(error: &Error) -> Run {
    Run::None(Report::new(RunOutcome::Skipped, Some(error.to_string())))
}
