//! Waits until a job may start.

use std::time::Duration;

use spinney_core::{Cancel, Job, JobPhase, JobStatus, NoRoom, Timestamp, WaitsFor, WorkspaceStatus};
use spinney_engine::fail;
use tokio::time::{Instant, sleep};

use super::setup::Place;
use super::{End, Run, Step};
use crate::control::{Bell, Stop};
use crate::events;
use crate::outage::through;
use crate::queue::{self, Limits};

/// How often the bell is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often the store is asked although no bell rang: somebody may have died without a word.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How often the configuration is read again.
const READ_LIMITS_EVERY: Duration = Duration::from_secs(2);
/// How often a job that waits for room looks whether there is some.
const LOOK_FOR_ROOM_EVERY: Duration = Duration::from_secs(2);
/// After this time it tries, however full it looks: what is merged by now makes room.
const TRY_ROOM_AFTER: Duration = Duration::from_secs(5 * 60);

impl Run<'_> {
    /// Waits for the turn and takes the place where the work is done; where somebody else turns out to be in that place,
    /// waits again.
    pub(super) async fn take_turn_and_place(&mut self) -> Step<Place> {
        loop {
            self.wait_for_turn().await?;
            fail::point("job.started")?;
            if let Some(url) = self.job.request.clone_url.clone() {
                self.move_to_clone(&url).await?;
                continue;
            }
            let place = match through(async || self.set_up_anew().await).await {
                Err(End::Blocked(no_room)) if self.job.request.waits_for_room => {
                    self.wait_for_room(no_room).await?;
                    continue;
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
    async fn set_up_anew(&mut self) -> Step<Place> {
        match self.set_up().await {
            Err(end @ End::CutOff(_)) => {
                through(async || Ok::<_, End>(self.jobs.engine.recover(&|_| {}).await?)).await?;
                Err(end)
            }
            done => done,
        }
    }

    /// Goes back to those who wait, and stays there until there seems to be room; or, since a merge can make some that is
    /// not seen from here, until it is time to try again.
    async fn wait_for_room(&mut self, no_room: NoRoom) -> Step<()> {
        self.job.outcome.blocked = true;
        self.job.waits_for = Some(WaitsFor::Room(no_room));
        self.wait_again().await?;
        self.begin(JobPhase::Waiting, self.job.waits_for.as_ref().map(ToString::to_string));
        let until = Instant::now() + TRY_ROOM_AFTER;
        while Instant::now() < until && !through(async || self.seems_to_have_room().await).await? {
            tokio::select! {
                stop = self.control.more_than(Stop::No) => return Err(End::Stopped(stop)),
                () = sleep(LOOK_FOR_ROOM_EVERY) => {}
            }
        }
        self.job.outcome.blocked = false;
        Ok(())
    }

    async fn seems_to_have_room(&self) -> Step<bool> {
        Ok(self.jobs.engine.seems_to_have_room(&self.context).await?)
    }

    async fn wait_for_turn(&mut self) -> Step<()> {
        let mut limits = Limits {
            max_workers: self.jobs.engine.config().limits.max_workers,
            max_concurrent: self.agent.config.max_concurrent,
        };
        let mut bell = Bell::new(self.jobs.places.bell()).at_least_every(ASK_EVERY);
        let mut read_at = Instant::now();
        loop {
            if read_at.elapsed() >= READ_LIMITS_EVERY {
                limits.max_workers = self.limits.max_workers().unwrap_or(limits.max_workers);
                read_at = Instant::now();
            }
            if bell.rang() && through(async || self.try_to_start(limits).await).await? {
                return Ok(());
            }
            tokio::select! {
                stop = self.control.more_than(Stop::No) => return Err(End::Stopped(stop)),
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Starts if it may, in one transaction with the look at who else runs.
    async fn try_to_start(&mut self, limits: Limits) -> Step<bool> {
        // Who died must not be waited for.
        let jobs = self.jobs.recover_others(&self.job.id).await?;
        let waits_for = queue::waits_for(&with(&jobs, &self.job), &self.job.id, limits);
        if waits_for.is_some() && waits_for == self.job.waits_for {
            // Nothing new, as mostly: that takes no transaction. Whoever ends after this look rings the bell.
            return Ok(false);
        }
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
        let jobs = db.unfinished_jobs(&self.job.node).await?;
        let own = jobs.iter().find(|job| job.id == self.job.id);
        if let Some(own) = own.filter(|own| own.status == JobStatus::Running && own.attempt == self.job.attempt + 1) {
            // Nobody else writes this row: the start was committed, and the answer to that cut off.
            self.job = own.clone();
            self.owned.set_fence(db.fence_of_job(&self.job.id).await?);
            return Ok(true);
        }
        let Some(own) = own.filter(|own| own.status == JobStatus::Pending) else {
            return Err(End::failed("its record says that it does not wait any more".to_owned()));
        };
        // A process that was stopped, or only just started, may not have heard of it.
        if own.cancel != Cancel::No {
            return Err(End::Stopped(Stop::of(own.cancel)));
        }
        let waits_for = queue::waits_for(&with(&jobs, &self.job), &self.job.id, limits);
        let may_start = waits_for.is_none();
        let news = waits_for != self.job.waits_for;
        self.job.waits_for = waits_for;
        let mut row = self.job.clone();
        if may_start {
            row.status = JobStatus::Running;
            row.attempt += 1;
            row.started_at = Some(Timestamp::now());
            row.ended_at = None;
        }
        if may_start || news {
            match db.update_job(&row, JobStatus::Pending).await {
                Ok(true) => {
                    let mut fence = None;
                    if may_start {
                        events::started(&mut db, &row)?;
                        fence = db.fence_of_job(&row.id).await?;
                    } else {
                        events::waiting(&mut db, &row)?;
                    }
                    db.commit().await?;
                    self.owned.set_fence(fence);
                }
                Ok(false) => return Err(End::failed("its record says that it does not wait any more".to_owned())),
                // Somebody took the place at this very moment.
                Err(spinney_store::Error::Conflict { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            self.job = row;
        }
        if let Some(waits_for) = self.job.waits_for.as_ref().filter(|_| news) {
            self.begin(JobPhase::Waiting, Some(waits_for.to_string()));
        }
        Ok(may_start)
    }

    /// Makes the place this job's alone; `false` when another job runs there, and this one waits again.
    async fn take_place(&mut self, place: &Place) -> Step<bool> {
        let workspace = place.row().map(|row| row.id.clone());
        // What was finished in a workspace that is gone is not in this one; who only reads leaves nothing there.
        if self.job.workspace_id.is_some() && self.job.workspace_id != workspace && place.as_reading().is_none() {
            self.job.outcome.finished = false;
        }
        self.job.place = place.name();
        self.job.workspace_id = workspace;
        let mut db = self.jobs.engine.store().write().await?;
        // A removal looks for running jobs under the same lock: either it finds this one, or this one its removal.
        db.lock_repository(&self.job.repository_id).await?;
        let is_there = match place.workspace() {
            Some(own) => db.workspace(&own.id).await?.is_some_and(|row| row.status == WorkspaceStatus::Active),
            None => true,
        };
        if is_there {
            match db.update_job(&self.job, JobStatus::Running).await {
                Ok(true) => {
                    events::placed(&mut db, &self.job)?;
                    db.commit().await?;
                    return Ok(true);
                }
                Ok(false) => return Err(End::failed("its record says that it does not run any more".to_owned())),
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

/// The list with what is known of this job by now.
fn with(jobs: &[Job], job: &Job) -> Vec<Job> {
    jobs.iter().map(|other| if other.id == job.id { job.clone() } else { other.clone() }).collect()
}
