//! Takes a job's turn; where it can't begin after all, the job goes back to the queue, and its process leaves.

use spinney_core::{Cancel, Job, JobPhase, JobStatus, NoRoom, Timestamp, TriedRoom, WaitsFor, WorkspaceStatus};
use spinney_engine::fail;

use super::setup::JobPlace;
use super::{End, Run, Step};
use crate::events;
use crate::maintenance::outage::through;
use crate::runner::control::Stop;
use crate::runner::queue;
use crate::told::{Detail, Failure};

/// Whose turn it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Whoever started this process saw that it was this job's: only who runs by now can be in its way.
    Given,
    /// It came back to those who wait, and those who asked first go first.
    InLine,
}

/// What came of a try to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    Started,
    /// Its row says what it waits for.
    Queued,
    TooLate,
}

impl Run<'_> {
    /// Takes the turn and the place where the work is done; where somebody else turns out to be in that place, stands in
    /// line again.
    pub(super) async fn take_turn_and_place(&mut self) -> Step<JobPlace> {
        let mut turn = Turn::Given;
        loop {
            self.begin_turn(turn).await?;
            turn = Turn::InLine;
            fail::point("job.started")?;
            if let Some(url) = self.job.request.clone_url.clone() {
                self.move_to_clone(&url).await?;
                continue;
            }
            // It may have gone since the job was recorded, and a daemon that took the job up has another environment. What is
            // finished needs no agent any more.
            if !self.job.outcome.finished {
                self.agent.require_start(self.jobs.engine.environment())?;
            }
            let place = match through(async || self.set_up_anew().await).await {
                Err(End::Blocked(no_room, again_at)) if self.job.request.waits_for_room => {
                    return Err(self.leave_for_room(no_room, again_at).await?);
                }
                place => place?,
            };
            if through(async || self.take_place(&place).await).await? {
                fail::point("job.placed")?;
                return Ok(place);
            }
        }
    }

    /// Sets up. What a set-up left half done that was cut off is finished or undone first, as after a death.
    async fn set_up_anew(&mut self) -> Step<JobPlace> {
        match self.set_up().await {
            Err(end @ End::CutOff(_)) => {
                through(async || Ok::<_, End>(self.jobs.engine.recover(&|_| {}).await?)).await?;
                Err(end)
            }
            done => done,
        }
    }

    /// Goes back to the queue, until there seems to be room.
    async fn leave_for_room(&mut self, no_room: NoRoom, again_at: Option<Timestamp>) -> Step<End> {
        // What was done or idle then made no room; what came since is news.
        let tried = self.tried.take();
        let mut tried = tried.unwrap_or(TriedRoom {
            at_ms: Timestamp::now().as_millisecond(),
            again_at_ms: None,
            done: Vec::new(),
        });
        tried.again_at_ms = again_at.map(Timestamp::as_millisecond);
        self.job.outcome.blocked = true;
        self.job.outcome.tried_room = Some(tried);
        self.job.outcome.turned_back += 1;
        self.job.waits_for = Some(WaitsFor::Room(no_room));
        self.wait_again().await?;
        self.tell_waiting();
        Ok(End::Queued)
    }

    /// Takes the turn, or gives it back.
    async fn begin_turn(&mut self, turn: Turn) -> Step<()> {
        let configured = self.jobs.engine.config().limits.max_workers;
        let max_workers = match turn {
            Turn::Given => configured,
            Turn::InLine => self.limits.max_workers().unwrap_or(configured),
        };
        // There seems to be room: it stands in line like any other.
        self.job.outcome.blocked = false;
        loop {
            match through(async || self.try_to_start(turn, max_workers).await).await? {
                Tried::Started => return Ok(()),
                Tried::Queued => return Err(End::Queued),
                Tried::TooLate => {}
            }
        }
    }

    /// Starts if it may, in one transaction with the look at who else runs; else goes to the queue.
    async fn try_to_start(&mut self, turn: Turn, max_workers: u32) -> Step<Tried> {
        let store = self.jobs.engine.store();
        let mut db = store.write().await?;
        db.lock_queue(&self.job.node).await?;
        if self.job.place.is_none()
            && self.job.request.clone_url.is_none()
            && !self.job.request.reads
            && let Some(workspace) = db.workspace_of_work(&self.job.repository_id, &self.job.work).await?
        {
            self.job.place = Some(workspace.id.to_string());
        }
        let own = db.job(&self.job.id).await?;
        if let Some(own) =
            own.clone().filter(|own| own.status == JobStatus::Running && own.attempt == self.job.attempt + 1)
        {
            // Nobody else writes this row: the start was committed, and the answer to that cut off.
            self.job = own;
            self.owned.set_fence(db.fence_of_job(&self.job.id).await?);
            return Ok(Tried::Started);
        }
        let Some(own) = own.filter(|own| own.status == JobStatus::Pending) else {
            return Err(End::failed(Failure::NotWaiting));
        };
        // A process that was stopped, or only just started, may not have heard of it.
        if own.cancel != Cancel::No {
            return Err(End::Stopped(Stop::of(own.cancel)));
        }
        let now = Timestamp::now();
        let mut asks = self.job.clone();
        asks.request.max_concurrent = self.agent.config.max_concurrent;
        let mut jobs = match turn {
            Turn::Given => db.running_of(&self.job.node).await?,
            Turn::InLine => db.queue_of(&self.job.node).await?,
        };
        match jobs.iter_mut().find(|job| job.id == asks.id) {
            Some(own) => own.clone_from(&asks),
            None => jobs.push(asks),
        }
        let waits_for = queue::waits_for(&jobs, &self.job.id, max_workers, now);
        let may_start = waits_for.is_none();
        let news = waits_for != own.waits_for;
        self.job.waits_for = waits_for;
        let mut row = self.job.clone();
        if !may_start {
            row.outcome.turned_back += 1;
        }
        if may_start {
            row.status = JobStatus::Running;
            row.attempt += 1;
            row.started_at = Some(Timestamp::now());
            row.ended_at = None;
        }
        match db.update_job(&row, JobStatus::Pending).await {
            Ok(true) => {}
            Ok(false) => return Err(End::failed(Failure::NotWaiting)),
            // Somebody took the place at this very moment, and is seen at the next look.
            Err(spinney_store::Error::Conflict { .. }) => return Ok(Tried::TooLate),
            Err(error) => return Err(error.into()),
        }
        let mut fence = None;
        if may_start {
            events::started(&mut db, &row)?;
            fence = db.fence_of_job(&row.id).await?;
        } else if news {
            events::waiting(&mut db, &row)?;
        }
        db.commit().await?;
        self.owned.set_fence(fence);
        self.job = row;
        if news {
            self.tell_waiting();
        }
        Ok(if may_start { Tried::Started } else { Tried::Queued })
    }

    /// Tells what it waits for, if it waits.
    fn tell_waiting(&mut self) {
        if let Some(waits_for) = self.job.waits_for.clone() {
            self.begin_with(JobPhase::Waiting, &Detail::WaitsFor(waits_for));
        }
    }

    /// Makes the place this job's alone; `false` when another job runs there, and this one waits again.
    async fn take_place(&mut self, place: &JobPlace) -> Step<bool> {
        let workspace = place.row().map(|row| row.id.clone());
        // What was finished in a workspace that is gone is not in this one; who only reads leaves nothing there.
        if self.job.workspace_id.is_some() && self.job.workspace_id != workspace && place.as_reading().is_none() {
            self.job.outcome.finished = false;
        }
        self.job.place = place.name();
        self.job.workspace_id = workspace;
        let mut db = self.jobs.engine.store().write().await?;
        // A removal or delivery looks for running jobs under the same lock: either it finds this one, or this one finds it.
        db.lock_repository(&self.job.repository_id).await?;
        let is_there = match place.workspace() {
            Some(own) => {
                let row = db.workspace(&own.id).await?;
                row.is_some_and(|row| row.status == WorkspaceStatus::Active)
                    && db.open_operation_of(&own.id).await?.is_none()
            }
            None => true,
        };
        if is_there {
            match db.update_job(&self.job, JobStatus::Running).await {
                Ok(true) => {
                    events::placed(&mut db, &self.job)?;
                    db.commit().await?;
                    return Ok(true);
                }
                Ok(false) => return Err(End::failed(Failure::NotRunning)),
                Err(spinney_store::Error::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        drop(db);
        self.wait_again().await?;
        Ok(false)
    }

    /// Goes back from those who run to those who wait.
    pub(super) async fn wait_again(&mut self) -> Step<()> {
        through(async || self.try_to_wait_again().await).await
    }

    async fn try_to_wait_again(&mut self) -> Step<()> {
        let waiting = Job { status: JobStatus::Pending, attempt: self.job.attempt - 1, ..self.job.clone() };
        let mut db = self.jobs.engine.store().write().await?;
        if db.update_job(&waiting, JobStatus::Running).await? {
            events::waiting(&mut db, &waiting)?;
        }
        db.commit().await?;
        self.owned.set_fence(None);
        self.job = waiting;
        self.jobs.places.ring();
        Ok(())
    }
}
