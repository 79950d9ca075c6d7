//! Jobs that wait for room in a repository: one of them tries again when there seems to be some, and the others after it.

use std::collections::HashMap;
use std::time::Duration;

use spinney_core::{
    AccountName, Job, JobId, JobStatus, NoRoom, Push, RepositoryId, Timestamp, TriedRoom, WaitsFor, Workspace,
    WorkspaceId, WorkspaceStatus,
};
use spinney_engine::Context;
use spinney_store::JobFilter;

use crate::{Jobs, Result};

/// After this time one tries, however full it looks: what is merged by now makes room.
const TRY_AFTER: Duration = Duration::from_secs(5 * 60);
/// How many jobs that are done are searched for those of the same list.
const MOST_OF_BATCH: u32 = 500;

/// What is known of the repositories in which there was no room.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Whether a job tries just now.
    pub(super) is_tried: bool,
    full: HashMap<RepositoryId, Full>,
}

#[derive(Debug)]
struct Full {
    context: Context,
    account: AccountName,
    /// The last job that tried.
    last: Job,
    /// Whether that is still how it looks.
    is_full: bool,
}

/// Why a job has to wait for room, and as of which try.
pub(super) type Blocked = HashMap<JobId, Option<(NoRoom, TriedRoom)>>;

impl Room {
    /// The jobs that have to wait for room still.
    pub(super) async fn blocked(&mut self, jobs: &Jobs<'_>, rows: &[Job], starting: &HashMap<JobId, u32>) -> Blocked {
        let mut groups: HashMap<&RepositoryId, Vec<&Job>> = HashMap::new();
        let is_blocked = |job: &&Job| job.is_queued() && job.outcome.tried_room.is_some() && job.outcome.blocked;
        for job in rows.iter().filter(is_blocked) {
            groups.entry(&job.repository_id).or_default().push(job);
        }
        self.full.retain(|id, _| groups.contains_key(id));
        self.is_tried = false;
        let mut blocked = Blocked::new();
        for (id, group) in groups {
            let tries = |job: &&Job| starting.contains_key(&job.id) || is_being_set_up(job);
            let is_tried = rows.iter().filter(|job| job.repository_id == *id).any(|job| tries(&job));
            self.is_tried |= is_tried;
            let next = match is_tried {
                true => None,
                // What can't be told now is told at the next look.
                false => self.next(jobs, id, &group).await.unwrap_or_default(),
            };
            blocked.extend(group.iter().filter(|job| Some(&job.id) != next.as_ref()).map(|job| (job.id.clone(), None)));
        }
        blocked
    }

    /// The job of those that may try again.
    async fn next(&mut self, jobs: &Jobs<'_>, id: &RepositoryId, group: &[&Job]) -> Result<Option<JobId>> {
        let Some(last) = group.iter().copied().max_by_key(|job| tried_at(job)) else { return Ok(None) };
        let Ok(account) = last.account.parse::<AccountName>() else { return Ok(None) };
        if !self.full.contains_key(id) {
            let engine = jobs.engine.for_account(&account);
            let context = engine.find_context(Some(&last.repository.to_string()), engine.home().root()).await?;
            let full = Full { context, account, last: last.clone(), is_full: true };
            self.full.insert(id.clone(), full);
        }
        let Some(full) = self.full.get_mut(id) else { return Ok(None) };
        full.last = last.clone();
        full.is_full = !full.has_news(jobs).await?;
        if !full.is_full {
            return Ok(group.first().map(|job| job.id.clone()));
        }
        let mut asked: Vec<&JobId> = Vec::new();
        for job in group {
            let (Some(batch), Some(_)) = (&job.request.batch, &job.outcome.tried_room) else { continue };
            if asked.contains(&batch) {
                continue;
            }
            asked.push(batch);
            let of_batch = || group.iter().filter(|other| other.request.batch.as_ref() == Some(batch));
            let tried = of_batch().max_by_key(|job| tried_at(job)).and_then(|job| job.outcome.tried_room.as_ref());
            let done = jobs.load_done_of_batch(job).await?;
            if tried.is_some_and(|tried| done.iter().any(|done| !tried.done.contains(done))) {
                return Ok(Some(job.id.clone()));
            }
        }
        Ok(None)
    }

    /// Whether there seems to be room somewhere by now, as far as no bell tells.
    pub(super) async fn has_news(&self, jobs: &Jobs<'_>) -> bool {
        for full in self.full.values().filter(|full| full.is_full) {
            if full.has_news(jobs).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Why a job need not try: it wants a workspace of its own, and the last one that did found no room.
    pub(super) async fn rules_out(&self, jobs: &Jobs<'_>, job: &Job) -> Option<(NoRoom, TriedRoom)> {
        let full = self.full.get(&job.repository_id).filter(|full| full.is_full && full.last.id != job.id)?;
        let request = &job.request;
        let wants_one = request.waits_for_room
            && request.clone_url.is_none()
            && request.branch.is_none()
            && request.links.is_empty()
            && request.conversation.is_none()
            && !request.reads
            && job.place.is_none()
            && job.outcome.tried_room.is_none()
            && request.batch == full.last.request.batch
            && job.account == full.last.account;
        let (Some(WaitsFor::Room(no_room)), Some(tried)) = (&full.last.waits_for, &full.last.outcome.tried_room) else {
            return None;
        };
        if !wants_one {
            return None;
        }
        let has_one =
            async { jobs.engine.store().read().await?.workspace_of_work(&job.repository_id, &job.work).await };
        matches!(has_one.await, Ok(None)).then(|| (no_room.clone(), tried.clone()))
    }
}

impl Full {
    async fn has_news(&self, jobs: &Jobs<'_>) -> Result<bool> {
        let Some(tried) = &self.last.outcome.tried_room else { return Ok(true) };
        let (now, at) = (Timestamp::now(), Timestamp::from_millisecond(tried.at_ms));
        let again_at = tried.again_at_ms.map(Timestamp::from_millisecond);
        if now >= at.plus(TRY_AFTER) || again_at.is_some_and(|again_at| again_at < now) {
            return Ok(true);
        }
        let engine = jobs.engine.for_account(&self.account);
        Ok(engine.seems_to_have_room(&self.context).await?
            || engine.next_idle(&self.context, at).await?.is_some_and(|at| at <= now))
    }
}

fn tried_at(job: &Job) -> i64 {
    job.outcome.tried_room.as_ref().map_or(0, |tried| tried.at_ms)
}

/// Whether a job that waited for room runs, and does not have its workspace yet.
fn is_being_set_up(job: &Job) -> bool {
    job.status == JobStatus::Running && job.outcome.tried_room.is_some() && job.workspace_id.is_none()
}

impl Jobs<'_> {
    /// The workspaces of jobs of the same list that are done and delivered, and that nobody asked for since.
    pub(crate) async fn load_done_of_batch(&self, job: &Job) -> Result<Vec<WorkspaceId>> {
        let Some(batch) = &job.request.batch else { return Ok(Vec::new()) };
        let filter = JobFilter {
            account: job.account.clone(),
            node: Some(job.node.clone()),
            repository: Some(job.repository_id.clone()),
            statuses: vec![JobStatus::Completed],
        };
        let mut db = self.engine.store().read().await?;
        let mut done = Vec::new();
        for job in db.jobs(&filter, MOST_OF_BATCH).await? {
            let is_delivered = matches!(job.outcome.push, Some(Push::Pushed | Push::Nothing));
            if job.request.batch.as_ref() != Some(batch) || !is_delivered {
                continue;
            }
            let Some(id) = job.own_workspace_id() else { continue };
            let row = db.workspace(id).await?.filter(|row| row.status == WorkspaceStatus::Active);
            let is_unused = |row: &Workspace| job.ended_at.is_some_and(|ended| row.last_activity_at <= ended);
            if row.as_ref().is_some_and(is_unused) {
                done.push(id.clone());
            }
        }
        Ok(done)
    }
}
