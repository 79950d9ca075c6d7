//! What can be asked about workspaces: each a function that every front calls.

pub mod deliver;
pub mod diff;
pub mod list;

use async_recursion::async_recursion as boxed;
use spinney_core::{
    BranchName, Consent, Job, Method, Platform, Remover, Sweep, Verdict, Work, Workspace, WorkspaceId, WorkspaceStatus,
};
use spinney_engine::notice::Observer;
use spinney_engine::{ClosedWork, Conflicts, Context, Details, DroppedBranch, Engine, Removed, Resolution, Shown};

use spinney_store::Port;

use crate::{Error, Result, WorkRequest};

pub use deliver::deliver;
pub use list::{Running, inspect_all, measure, notice_vanished, page, running};

/// How many of its jobs are named, newest first.
const MAX_JOBS: u32 = 5;

/// A workspace that was made or found.
#[derive(Debug)]
pub struct Created {
    pub context: Context,
    pub resolution: Resolution,
}

impl Created {
    /// Whether a workspace was made, and not found: the pool may want filling.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.resolution.method == Method::Created
    }
}

/// Gives a piece of work its workspace.
///
/// # Errors
///
/// If the request makes no sense, or its workspace can't be had.
#[boxed]
pub async fn create(
    engine: &Engine,
    context: Context,
    request: WorkRequest,
    observer: &dyn Observer,
) -> Result<Created> {
    let request = request.for_workspace()?;
    let (context, resolution) = engine.resolve(context, &request, observer).await?;
    Ok(Created { context, resolution })
}

/// A workspace with all that is told of it.
#[derive(Debug)]
pub struct Seen {
    pub shown: Shown,
    /// Its newest jobs.
    pub jobs: Vec<Job>,
}

/// Shows a workspace; git is asked about its tree only where the repository is given.
///
/// # Errors
///
/// If the store or git can't tell.
#[boxed]
pub async fn show(engine: &Engine, context: Option<&Context>, workspace: &Workspace) -> Result<Seen> {
    let Belongings { jobs, works, ports, .. } = belongings(engine, &workspace.id, MAX_JOBS).await?;
    let shown = match context {
        Some(context) => engine.show(context, workspace).await?,
        None => Shown { details: Details::default(), works, ports, link: None },
    };
    Ok(Seen { shown, jobs })
}

/// What the store has of a workspace.
#[derive(Debug)]
pub struct Belongings {
    /// Its newest jobs, newest first.
    pub jobs: Vec<Job>,
    /// The conversations that it is for.
    pub conversations: Vec<(Platform, String)>,
    pub works: Vec<Work>,
    pub ports: Vec<Port>,
}

/// Loads what the store has of a workspace, with so many of its jobs.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn belongings(engine: &Engine, id: &WorkspaceId, max_jobs: u32) -> Result<Belongings> {
    let mut db = engine.store().read().await?;
    Ok(Belongings {
        jobs: db.jobs_in(id, max_jobs).await?,
        conversations: db.conversations_of(id).await?,
        works: db.works_of(id).await?,
        ports: db.ports_of(id).await?,
    })
}

/// Why a workspace may go, or may not.
#[derive(Debug)]
pub struct Why {
    pub verdict: Verdict,
    /// Why its forge could not be asked: its pull request is taken for open.
    pub forge_fault: Option<String>,
}

/// Judges whether a person may remove a workspace, with the forge's word on its pull request.
///
/// # Errors
///
/// If git can't tell.
#[boxed]
pub async fn why(engine: &Engine, context: &Context, workspace: &Workspace) -> Result<Why> {
    let (word, forge_fault) = engine.ask_forge(context, workspace).await;
    let verdict = engine.judge_told(context, workspace, Remover::Person, word.as_ref()).await?;
    Ok(Why { verdict, forge_fault })
}

/// What came of a removal.
#[derive(Debug)]
pub enum Removal {
    Removed(Box<Removed>),
    /// It would go, and nothing was done.
    WouldGo,
}

/// Moves a workspace to the trash, or only tells whether it would go.
///
/// # Errors
///
/// [`spinney_engine::Error::Refused`] with every reason, if something stands against it.
#[boxed]
pub async fn remove(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    consent: &Consent,
    dry_run: bool,
    observer: &dyn Observer,
) -> Result<Removal> {
    if dry_run {
        engine.judge_for(context, workspace, consent).await?;
        return Ok(Removal::WouldGo);
    }
    let removed = engine.remove(context, workspace, consent, observer).await?;
    Ok(Removal::Removed(Box::new(removed)))
}

/// Brings a workspace back, on a new branch where one is named.
///
/// # Errors
///
/// If what is in the trash can't be put back.
#[boxed]
pub async fn restore(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    branch: Option<BranchName>,
    observer: &dyn Observer,
) -> Result<Workspace> {
    Ok(engine.restore(context, workspace, branch, observer).await?)
}

/// Keeps sweeps away from a workspace, or lets them take it again.
///
/// # Errors
///
/// If the workspace is nobody's, as one of the pool.
#[boxed]
pub async fn set_pinned(engine: &Engine, workspace: Workspace, pinned: bool) -> Result<Workspace> {
    if !workspace.status.is_of_work() {
        return Err(Error::NobodysWorkspace { name: workspace.name, status: workspace.status });
    }
    Ok(engine.set_pinned(workspace, pinned).await?)
}

/// Finds a workspace of the account by its id alone.
///
/// # Errors
///
/// If there is none.
#[boxed]
pub async fn find(engine: &Engine, text: &str) -> Result<Workspace> {
    let unknown = || Error::unknown("workspace", text);
    let id: WorkspaceId = text.parse().map_err(|_| unknown())?;
    match engine.require_workspace(&id).await {
        Err(spinney_engine::Error::UnknownWorkspace { .. }) => Err(unknown()),
        found => Ok(found?),
    }
}

/// Hears that an issue or a pull request is closed: notes its merge, and deletes what branches it left that are merged.
///
/// # Errors
///
/// If git can't tell, or the store can't be written.
#[boxed]
pub async fn hear_closed(
    engine: &Engine,
    context: &Context,
    closed: &ClosedWork,
    observer: &dyn Observer,
) -> Result<Vec<DroppedBranch>> {
    Ok(engine.hear_closed(context, closed, observer).await?)
}

/// Removes a workspace for whoever is done with it, within the verdict of a sweep.
///
/// # Errors
///
/// [`spinney_engine::Error::Refused`] with every reason, if something stands against it.
#[boxed]
pub async fn let_go(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    sweep: Sweep,
    consent: &Consent,
    observer: &dyn Observer,
) -> Result<Removed> {
    Ok(engine.let_go(context, workspace, sweep, consent, None, observer).await?)
}

/// Removes a workspace whose issue or pull request is closed, within the verdict of a sweep.
///
/// # Errors
///
/// [`spinney_engine::Error::Refused`] with every reason, if something stands against it.
#[boxed]
pub async fn let_go_closed(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    consent: &Consent,
    observer: &dyn Observer,
) -> Result<Removed> {
    Ok(engine.let_go_closed(context, workspace, consent, observer).await?)
}

/// Makes a workspace that of another piece of work, too; false where that work has one of its own.
///
/// # Errors
///
/// If the store can't be written.
#[boxed]
pub async fn share(engine: &Engine, workspace: &Workspace, sharer: &Work, related: &[Work]) -> Result<bool> {
    Ok(engine.share(workspace, sharer, related).await?)
}

/// How a workspace stands: what git tells of its tree, and whether a person may remove it.
#[derive(Debug)]
pub struct Examined {
    pub details: Details,
    pub verdict: Verdict,
}

/// Tells how a workspace stands, without asking a forge.
///
/// # Errors
///
/// If git can't tell.
#[boxed]
pub async fn standing(engine: &Engine, context: &Context, workspace: &Workspace) -> Result<Examined> {
    let details = engine.inspect(context, workspace).await;
    let verdict = engine.judge(context, workspace, Remover::Person).await?;
    Ok(Examined { details, verdict })
}

/// Whether a repository has a remote to push to. Where it can't be told which of several is meant, it has.
///
/// # Errors
///
/// If git can't tell.
pub async fn has_remote(engine: &Engine, context: &Context) -> Result<bool> {
    match engine.remote(context).await {
        Ok(remote) => Ok(remote.is_some()),
        Err(spinney_engine::Error::AmbiguousRemote { .. } | spinney_engine::Error::UnknownRemote { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Whether a workspace has a tree that could go.
#[must_use]
pub fn is_judged(status: WorkspaceStatus) -> bool {
    matches!(status, WorkspaceStatus::Active | WorkspaceStatus::Broken | WorkspaceStatus::Lost)
}

/// Tells which workspaces of a repository change the same lines.
///
/// # Errors
///
/// If git can't tell.
#[boxed]
pub async fn conflicts(engine: &Engine, context: &Context) -> Result<Conflicts> {
    Ok(engine.conflicts(context).await?)
}
