//! What can be asked about workspaces: each a function that every front calls.

use spinney_core::{BranchName, Consent, Job, Method, Remover, Verdict, Workspace};
use spinney_engine::notice::Observer;
use spinney_engine::{Context, Details, Engine, Removed, Resolution, Shown};

use crate::{Error, Result, WorkRequest};

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
pub async fn create(
    engine: &Engine,
    context: Context,
    request: WorkRequest,
    observer: Observer<'_>,
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
pub async fn show(engine: &Engine, context: Option<&Context>, workspace: &Workspace) -> Result<Seen> {
    let shown = match context {
        Some(context) => engine.show(context, workspace).await?,
        None => {
            let mut db = engine.store().read().await?;
            let (works, ports) = (db.works_of(&workspace.id).await?, db.ports_of(&workspace.id).await?);
            Shown { details: Details::default(), works, ports, link: None }
        }
    };
    let jobs = engine.store().read().await?.jobs_in(&workspace.id, MAX_JOBS).await?;
    Ok(Seen { shown, jobs })
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
pub async fn remove(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    consent: &Consent,
    dry_run: bool,
    observer: Observer<'_>,
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
pub async fn restore(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    branch: Option<BranchName>,
    observer: Observer<'_>,
) -> Result<Workspace> {
    Ok(engine.restore(context, workspace, branch, observer).await?)
}

/// Keeps sweeps away from a workspace, or lets them take it again.
///
/// # Errors
///
/// If the workspace is nobody's, as one of the pool.
pub async fn set_pinned(engine: &Engine, workspace: Workspace, pinned: bool) -> Result<Workspace> {
    if !workspace.status.is_of_work() {
        return Err(Error::NobodysWorkspace { name: workspace.name, status: workspace.status });
    }
    Ok(engine.set_pinned(workspace, pinned).await?)
}
