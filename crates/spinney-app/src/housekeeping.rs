//! What keeps a home tidy: sweeps, the trash, pools. Each a function that every front calls.

use std::process::Child;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use spinney_core::config::CleanupConfig;
use spinney_core::{Repository, RepositoryId, Timestamp, Workspace};
use spinney_engine::notice::Observer;
use spinney_engine::{
    Among, Context, Drained, Engine, Erasable, Erasure, ExpiredArchive, Filled, Patience, PoolStatuses, Purged, Report,
    Sizes, Standing, Trashed, What, stands,
};
use spinney_jobs::{Chore, Forgotten, Jobs, Launcher};
use spinney_store::WorkspaceTally;

use crate::{Error, Result, words};

/// Archives that take less are no news, however little there is beside them.
const NOTABLE_ARCHIVES: u64 = 10 << 20;

/// After how many fillings that did nothing a pool is left as it is.
const IDLE_ROUNDS: u32 = 2;

/// After how long a tree is measured again in which nobody is known to have worked.
const MEASURED_AGAIN: Duration = Duration::from_secs(6 * 60 * 60);

/// A sweep that somebody asks for.
#[derive(Debug, Clone)]
pub struct SweepAsked {
    pub repositories: Vec<Repository>,
    pub what: What,
    /// Whether old jobs, conversations and events are forgotten, too.
    pub forget: bool,
    /// Whether archives that are kept no longer are erased, too.
    pub archives: bool,
    /// Whether it only tells what would happen.
    pub dry_run: bool,
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Swept {
    pub report: Report,
    /// Whose archives were kept no longer; with a dry run, whose would not be.
    pub erased: Vec<ErasedArchive>,
    pub forgotten: Forgotten,
}

/// A purged workspace of which nothing is left, because its archive was kept no longer.
#[derive(Debug)]
pub struct ErasedArchive {
    pub workspace: Workspace,
    /// What its archive took.
    pub bytes: u64,
    /// In words.
    pub why: String,
}

/// Sweeps repositories, within the verdict.
///
/// # Errors
///
/// [`Error::SweepUnderWay`] while another sweeps this home.
#[boxed]
pub async fn sweep(engine: &Engine, jobs: &Jobs<'_>, asked: &SweepAsked, observer: &dyn Observer) -> Result<Swept> {
    let _sweeper = engine.become_sweeper()?.ok_or(Error::SweepUnderWay)?;
    let mut report = jobs.sweep(&asked.repositories, asked.what, asked.dry_run, observer).await?;
    let erased = match asked.archives {
        true => erase_expired(engine, &asked.repositories, asked.dry_run, &mut report).await?,
        false => Vec::new(),
    };
    let forgotten = match asked.forget && !asked.dry_run {
        true => jobs.forget_old().await?,
        false => Forgotten::default(),
    };
    Ok(Swept { report, erased, forgotten })
}

/// Erases the archives of some repositories that `cleanup.archive_for` and `cleanup.archive_quota` keep no longer.
async fn erase_expired(
    engine: &Engine,
    repositories: &[Repository],
    dry_run: bool,
    report: &mut Report,
) -> Result<Vec<ErasedArchive>> {
    if !dry_run {
        engine.note_archives().await?;
    }
    let cleanup = &engine.config().cleanup;
    let mut erased = Vec::new();
    for ExpiredArchive { workspace, bytes, why } in engine.expired_archives().await? {
        if repositories.iter().all(|repository| repository.id != workspace.repository_id) {
            continue;
        }
        let why = words::expired(why, &cleanup.archive_for.to_string(), &cleanup.archive_quota.to_string());
        let erasure = match dry_run {
            true => Ok(workspace.clone()),
            false => erase_one(engine, &workspace).await.map(|erasure| erasure.workspace),
        };
        match erasure {
            Ok(workspace) => erased.push(ErasedArchive { workspace, bytes, why }),
            Err(error) => report.failed.push((workspace.name.to_string(), error.in_full())),
        }
    }
    Ok(erased)
}

async fn erase_one(engine: &Engine, workspace: &Workspace) -> spinney_engine::Result<Erasure> {
    let context = engine.context_of(workspace).await?;
    engine.erase(&context, workspace).await
}

/// What is left of workspaces that somebody wants to erase.
#[derive(Debug, Default)]
pub struct ErasureAsked {
    pub erasable: Vec<Erasable>,
    pub failed: Vec<(Workspace, spinney_engine::Error)>,
}

/// Looks at what is left of some workspaces, and would be gone for good.
#[boxed]
pub async fn erasable(engine: &Engine, workspaces: Vec<Workspace>) -> ErasureAsked {
    let mut asked = ErasureAsked::default();
    let erased = workspaces.iter().map(|workspace| workspace.id.clone()).collect();
    for workspace in workspaces {
        let look = async { engine.load_erasable(&engine.context_of(&workspace).await?, &workspace, &erased).await };
        match look.await {
            Ok(erasable) => asked.erasable.push(erasable),
            Err(error) => asked.failed.push((workspace, error)),
        }
    }
    asked
}

/// What came of an erasure.
#[derive(Debug, Default)]
pub struct Erasing {
    pub erased: Vec<Erasure>,
    pub failed: Vec<(Workspace, spinney_engine::Error)>,
}

/// Deletes for good what is left of some workspaces in the trash, or purged from it; what fails keeps no other from going.
/// `begins` hears of each before it goes.
#[boxed]
pub async fn erase(
    engine: &Engine,
    workspaces: Vec<Workspace>,
    begins: &(dyn Fn(&Workspace) + Send + Sync),
) -> Erasing {
    let mut erasing = Erasing::default();
    for workspace in workspaces {
        begins(&workspace);
        match erase_one(engine, &workspace).await {
            Ok(erasure) => erasing.erased.push(erasure),
            Err(error) => erasing.failed.push((workspace, error)),
        }
    }
    erasing
}

/// Lists what was removed before a time and is not erased yet, oldest first: of one repository, or of all.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn removed_before(engine: &Engine, of: Option<&RepositoryId>, before: Timestamp) -> Result<Vec<Workspace>> {
    Ok(engine.removed_before(of, before).await?)
}

/// What the archives take, beside the live trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Archives {
    pub count: u64,
    pub bytes: u64,
    /// What the live trees take, as far as they were measured.
    pub live_bytes: u64,
}

impl Archives {
    /// Adds up what the store counted.
    #[must_use]
    pub fn of<'a>(tallies: impl IntoIterator<Item = &'a WorkspaceTally>) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.count += tally.archives;
            sum.bytes = sum.bytes.saturating_add(tally.archive_bytes);
            if tally.status.is_live() && stands(tally.status) {
                sum.live_bytes = sum.live_bytes.saturating_add(tally.bytes);
            }
        }
        sum
    }

    /// Whether nothing but a person bounds them, and they take more than what they are kept beside.
    #[must_use]
    pub fn outgrow(&self, cleanup: &CleanupConfig) -> bool {
        let is_unbounded = cleanup.archive_for.0.is_zero() && cleanup.archive_quota.0 == 0;
        is_unbounded && self.bytes >= NOTABLE_ARCHIVES && self.bytes > self.live_bytes
    }
}

/// Counts what a sweep of a repository might take.
///
/// # Errors
///
/// If the store fails.
#[boxed]
pub async fn standing(engine: &Engine, context: &Context) -> Result<Standing> {
    Ok(engine.standing(context).await?)
}

/// What is purged.
#[derive(Debug, Clone)]
pub enum Purge {
    /// What has been in the trash for long enough.
    Due,
    /// All that is in the trash.
    All,
    These(Vec<Workspace>),
}

/// What came of a purge.
#[derive(Debug, Default)]
pub struct Purging {
    pub purged: Vec<Purged>,
    pub failed: Vec<(Workspace, spinney_engine::Error)>,
}

/// Purges the trash; what fails keeps no other from going. `begins` hears of each before it goes.
///
/// # Errors
///
/// [`Error::SweepUnderWay`] while another sweeps this home.
#[boxed]
pub async fn purge(
    engine: &Engine,
    what: Purge,
    begins: &(dyn Fn(&Workspace) + Send + Sync),
    observer: &dyn Observer,
) -> Result<Purging> {
    let _sweeper = engine.become_sweeper()?.ok_or(Error::SweepUnderWay)?;
    let due = match what {
        Purge::Due => engine.expired().await?,
        Purge::All => engine.trash(false).await?.into_iter().map(|trashed| trashed.workspace).collect(),
        Purge::These(workspaces) => workspaces,
    };
    let mut purging = Purging::default();
    for workspace in due {
        begins(&workspace);
        match purge_one(engine, &workspace, observer).await {
            Ok(purged) => purging.purged.push(purged),
            Err(error) => purging.failed.push((workspace, error)),
        }
    }
    Ok(purging)
}

async fn purge_one(engine: &Engine, workspace: &Workspace, observer: &dyn Observer) -> spinney_engine::Result<Purged> {
    let context = engine.context_of(workspace).await?;
    engine.purge(&context, workspace, observer).await
}

/// Tells how the pools stand: of one repository, or of all.
///
/// # Errors
///
/// If the pool of the one that was named can't be looked at.
#[boxed]
pub async fn pools(engine: &Engine, of: Option<&Context>) -> Result<PoolStatuses> {
    Ok(match of {
        Some(context) => PoolStatuses { pools: vec![engine.pool_status(context).await?], failed: Vec::new() },
        None => engine.pool_statuses().await?,
    })
}

/// Fills the pool of a repository for somebody who waits for it.
///
/// # Errors
///
/// If the pool can't be filled.
#[boxed]
pub async fn fill_pool(engine: &Engine, context: Context, observer: &dyn Observer) -> Result<Filled> {
    let (_, filled) = engine.fill_pool(context, Patience::Person, observer).await?;
    Ok(filled.unwrap_or_default())
}

/// Fills the pool of a repository for nobody in particular, if it wants filling and nobody is at it.
///
/// # Errors
///
/// If the pool can't be filled.
#[boxed]
pub async fn refill_pool(engine: &Engine, context: Context) -> Result<Option<Filled>> {
    if !engine.pool_wants_filling(&context).await? {
        return Ok(None);
    }
    Ok(engine.fill_pool(context, Patience::Background, &|_| {}).await?.1)
}

/// Has the pool of a repository filled in a process of its own, if it wants filling and nobody is at it; gives that process.
///
/// # Errors
///
/// If the store can't tell. That no process could be started is none: the pool is filled another time.
#[boxed]
pub async fn have_pool_filled(engine: &Engine, launcher: &dyn Launcher, context: &Context) -> Result<Option<Child>> {
    if !engine.pool_wants_filling(context).await? {
        return Ok(None);
    }
    Ok(launcher.start_chore(engine, Chore::FillPool { repository: &context.repository.name }).ok())
}

/// Fills the pool of a repository until there is nothing left to do; ends at once when somebody else is at it.
///
/// # Errors
///
/// If the pool can't be filled.
#[boxed]
pub async fn refill_pool_to_the_end(engine: &Engine, mut context: Context) -> Result<()> {
    let mut idle = 0;
    // What was claimed while the lock was held is ours to replace: who claimed it saw the lock, and left it to us. What
    // can't be done (a member in use that is one too many) is not tried for ever.
    while idle < IDLE_ROUNDS {
        let (fresh, filled) = engine.fill_pool(context, Patience::Background, &|_| {}).await?;
        context = fresh;
        let Some(filled) = filled.filter(|filled| filled.stopped.is_none()) else { break };
        if !engine.pool_wants_filling(&context).await? {
            break;
        }
        idle = if filled.did_something() { 0 } else { idle + 1 };
    }
    Ok(())
}

/// What came of something that is done by itself, for several: one that fails keeps no other from its turn.
#[derive(Debug, Default)]
pub struct ByItself {
    /// The names of those that it was done for.
    pub done: Vec<String>,
    pub failed: Vec<(String, Error)>,
}

/// Fills the pools of all repositories that want it.
///
/// # Errors
///
/// If the store can't tell the repositories.
#[boxed]
pub async fn refill_pools(engine: &Engine) -> Result<ByItself> {
    let mut outcome = ByItself::default();
    for repository in engine.repositories().await? {
        let name = repository.name.to_string();
        let fill = async { refill_pool(engine, engine.require_repository(&repository.id).await?).await };
        match fill.await {
            Ok(Some(_)) => outcome.done.push(name),
            Ok(None) => {}
            Err(error) => outcome.failed.push((name, error)),
        }
    }
    Ok(outcome)
}

/// Purges what is due, if the trash was not looked at just now.
///
/// # Errors
///
/// If the store can't tell what is due.
#[boxed]
pub async fn purge_by_itself(engine: &Engine) -> Result<ByItself> {
    let mut outcome = ByItself::default();
    if engine.trash_wants_purging().await? {
        for workspace in engine.expired().await? {
            let name = workspace.name.to_string();
            match engine.purge_by_itself(&workspace).await {
                Ok(_) => outcome.done.push(name),
                Err(error) => outcome.failed.push((name, error.into())),
            }
        }
    }
    Ok(outcome)
}

/// Whether something in the trash may be due, or nobody looked for long.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn trash_wants_purging(engine: &Engine) -> Result<bool> {
    Ok(engine.trash_wants_purging().await?)
}

/// Whether no process measures the trees of this home now.
#[must_use]
pub fn nobody_measures(engine: &Engine) -> bool {
    matches!(engine.become_measurer(), Ok(Some(_)))
}

/// Measures all trees whose size is unknown or old, unless somebody is at it.
///
/// # Errors
///
/// If the store can't be read or written.
#[boxed]
pub async fn measure_all(engine: &Engine) -> Result<()> {
    if let Some(_measurer) = engine.become_measurer()? {
        engine.note_archives().await?;
        let mut workspaces = engine.workspaces(None, Among::All).await?;
        engine.measure(&mut workspaces, None).await?;
    }
    Ok(())
}

/// Measures the trees that may take more or less than when they were last measured, until a time and unless somebody is at
/// it; tells how many.
///
/// # Errors
///
/// If the store can't be read or written.
#[boxed]
pub async fn measure_changed(engine: &Engine, until: Instant) -> Result<Option<usize>> {
    let Some(_measurer) = engine.become_measurer()? else { return Ok(None) };
    engine.note_archives().await?;
    let mut workspaces = engine.workspaces(None, Among::All).await?;
    workspaces.retain(may_have_changed);
    let due = Sizes::of(&workspaces).due;
    let left = engine.measure(&mut workspaces, Some(until)).await?;
    Ok(Some(due.saturating_sub(left.len())))
}

/// Whether somebody was at work in a tree since it was measured. Who edits files there by hand is known to nobody, so that all
/// are measured now and then.
fn may_have_changed(workspace: &Workspace) -> bool {
    let Some(size) = workspace.size else { return true };
    workspace.last_activity_at > size.at || size.at.elapsed() >= MEASURED_AGAIN
}

/// Gives a repository's warm workspaces up.
///
/// # Errors
///
/// If one can't be looked at.
#[boxed]
pub async fn drain_pool(engine: &Engine, context: &Context, observer: &dyn Observer) -> Result<Drained> {
    Ok(engine.drain_pool(context, observer).await?)
}

/// Lists what is in the trash, oldest first, with what each takes on disk where that is asked for.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn trash(engine: &Engine, sizes: bool) -> Result<Vec<Trashed>> {
    Ok(engine.trash(sizes).await?)
}
