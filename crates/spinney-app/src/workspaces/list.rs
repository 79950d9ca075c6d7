//! Workspaces as lists.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use async_recursion::async_recursion as boxed;
use spinney_core::{Job, JobId, JobStatus, RepositoryId, WorkKind, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_engine::{Context, Details, Engine, ask_all};
use spinney_store::{WorkspaceFilter, WorkspaceSearch};

use crate::Result;
use crate::page::{Page, PageAsked, behind};

/// Which workspaces are listed.
#[derive(Debug, Clone, Default)]
pub struct Which {
    pub repository: Option<RepositoryId>,
    /// None: those that are not removed, but for those to read in.
    pub statuses: Option<Vec<WorkspaceStatus>>,
    pub kind: Option<WorkKind>,
    /// In the name, the title or the branch.
    pub text: Option<String>,
}

/// A workspace in a list.
#[derive(Debug, Clone)]
pub struct Row {
    pub workspace: Workspace,
    /// The job that runs in it.
    pub job: Option<JobId>,
}

/// Lists workspaces of the account on this node, newest first. From the store alone.
///
/// # Errors
///
/// If the page makes no sense, or the store can't tell.
#[boxed]
pub async fn page(engine: &Engine, which: Which, asked: &PageAsked<'_>) -> Result<Page<Row>> {
    let is_meant = |status: &WorkspaceStatus| status.is_live() && *status != WorkspaceStatus::Reading;
    let meant = || WorkspaceStatus::ALL.iter().copied().filter(is_meant).collect();
    let filter = WorkspaceFilter {
        account: engine.account().to_owned(),
        node: Some(engine.home().node().clone()),
        repository: which.repository,
        statuses: which.statuses.unwrap_or_else(meant),
    };
    let search = WorkspaceSearch { filter, kind: which.kind, text: which.text };
    let rows = asked.rows()?;
    let mut db = engine.store().read().await?;
    let workspaces = db.workspace_page(&search, &rows).await?;
    let running: HashMap<_, _> =
        db.running_jobs(engine.home().node()).await?.into_iter().map(|(job, workspace)| (workspace, job)).collect();
    let row = |workspace: Workspace| Row { job: running.get(&workspace.id).cloned(), workspace };
    let rows = workspaces.into_iter().map(row).collect();
    Page::cut(rows, asked, |row| behind(row.workspace.created_at, row.workspace.id.as_str()))
}

/// Marks workspaces whose directory vanished as lost, and those whose directory is back, before they are listed: of a
/// repository, or of all.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn notice_vanished(engine: &Engine, repository: Option<&RepositoryId>) -> Result<()> {
    Ok(engine.notice_vanished(repository).await?)
}

/// The jobs that run now, by their workspaces.
pub type Running = HashMap<WorkspaceId, Job>;

/// Loads the account's jobs on this node that run, in one query.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn running(engine: &Engine) -> Result<Running> {
    let jobs = engine.store().read().await?.unfinished_jobs(engine.home().node()).await?;
    let running = jobs.into_iter().filter(|job| job.status == JobStatus::Running && job.account == engine.account());
    Ok(running.filter_map(|job| Some((job.workspace_id.clone()?, job))).collect())
}

/// Asks git about every workspace, several at a time, keeping their order. `here` is a repository that is open already.
///
/// # Errors
///
/// If the repository of one can't be opened.
pub async fn inspect_all(engine: &Engine, here: Option<&Context>, workspaces: &[Workspace]) -> Result<Vec<Details>> {
    let mut contexts: Vec<Context> = Vec::new();
    for workspace in workspaces {
        let known = |context: &Context| context.repository.id == workspace.repository_id;
        if !here.is_some_and(known) && !contexts.iter().any(known) {
            contexts.push(engine.context_of(workspace).await?);
        }
    }
    let context_of = |workspace: &Workspace| {
        let known = |context: &&Context| context.repository.id == workspace.repository_id;
        here.filter(known).or_else(|| contexts.iter().find(known))
    };
    let asked = workspaces.iter().map(|workspace| async move {
        match context_of(workspace) {
            Some(context) if workspace.status.is_live() => engine.inspect(context, workspace).await,
            _ => Details::default(),
        }
    });
    Ok(ask_all(asked).await)
}

/// Measures the trees whose size is not known, or not any more, until a moment; gives those whose turn did not come.
///
/// # Errors
///
/// If the store can't be written.
#[boxed]
pub async fn measure(
    engine: &Engine,
    workspaces: &mut [Workspace],
    until: Option<Instant>,
) -> Result<HashSet<WorkspaceId>> {
    Ok(engine.measure(workspaces, until).await?)
}
