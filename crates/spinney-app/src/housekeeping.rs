//! What keeps a home tidy: sweeps, the trash, pools. Each a function that every front calls.

use spinney_core::{Repository, Workspace};
use spinney_engine::notice::Observer;
use spinney_engine::{Context, Engine, Patience, PoolStatuses, Purged, Report, What};
use spinney_jobs::{Forgotten, Jobs};

use crate::{Error, Result};

/// A sweep that somebody asks for.
#[derive(Debug, Clone)]
pub struct SweepAsked {
    pub repositories: Vec<Repository>,
    pub what: What,
    /// Whether old jobs, conversations and events are forgotten, too.
    pub forget: bool,
    /// Whether it only tells what would happen.
    pub dry_run: bool,
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Swept {
    pub report: Report,
    pub forgotten: Forgotten,
}

/// Sweeps repositories, within the verdict.
///
/// # Errors
///
/// [`Error::SweepUnderWay`] while another sweeps this home.
pub async fn sweep(engine: &Engine, jobs: &Jobs<'_>, asked: &SweepAsked, observer: Observer<'_>) -> Result<Swept> {
    let _sweeper = engine.become_sweeper()?.ok_or(Error::SweepUnderWay)?;
    let report = jobs.sweep(&asked.repositories, asked.what, asked.dry_run, observer).await?;
    let forgotten = match asked.forget && !asked.dry_run {
        true => jobs.forget_old().await?,
        false => Forgotten::default(),
    };
    Ok(Swept { report, forgotten })
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
pub async fn purge(
    engine: &Engine,
    what: Purge,
    begins: &(dyn Fn(&Workspace) + Send + Sync),
    observer: Observer<'_>,
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

async fn purge_one(engine: &Engine, workspace: &Workspace, observer: Observer<'_>) -> spinney_engine::Result<Purged> {
    let context = engine.context_of(workspace).await?;
    engine.purge(&context, workspace, observer).await
}

/// Tells how the pools stand: of one repository, or of all.
///
/// # Errors
///
/// If the pool of the one that was named can't be looked at.
pub async fn pools(engine: &Engine, of: Option<&Context>) -> Result<PoolStatuses> {
    Ok(match of {
        Some(context) => PoolStatuses { pools: vec![engine.pool_status(context).await?], failed: Vec::new() },
        None => engine.pool_statuses().await?,
    })
}

/// Fills the pool of a repository for nobody in particular, if it wants filling and nobody is at it.
///
/// # Errors
///
/// If the pool can't be filled.
pub async fn refill_pool(engine: &Engine, context: Context) -> Result<()> {
    if engine.pool_wants_filling(&context).await? {
        engine.fill_pool(context, Patience::Background, &|_| {}).await?;
    }
    Ok(())
}
