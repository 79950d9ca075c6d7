//! What can be asked about repositories: each a function that every front calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{Repository, RepositoryId, RepositoryName};
use spinney_engine::notice::Observer;
use spinney_engine::{AddRepository, Context, Engine};
use spinney_git::Known;
use spinney_store::WorkspaceTally;

use crate::{Error, Result};

/// Finds a repository of the account by its id, or by `owner/name`, without looking at its disk.
///
/// # Errors
///
/// If there is none.
#[boxed]
pub async fn find(engine: &Engine, text: &str) -> Result<Repository> {
    let (account, node) = (engine.account(), engine.home().node());
    let mut db = engine.store().read().await?;
    let found = match (text.parse::<RepositoryId>(), text.parse::<RepositoryName>()) {
        (Ok(id), _) => db.repository(node, &id).await?,
        (_, Ok(name)) => db.repository_named(account, node, &name).await?,
        _ => None,
    };
    let found = found.filter(|row| row.account == account && row.node == *node);
    found.ok_or_else(|| Error::unknown("repository", text))
}

/// A repository, with how many live workspaces it has.
#[derive(Debug, Clone)]
pub struct Populated {
    pub repository: Repository,
    pub live: usize,
}

/// All repositories of the account, by name.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn list(engine: &Engine) -> Result<Vec<Populated>> {
    let live = count_live(engine).await?;
    let of = |repository: Repository| Populated { live: number_of(&live, &repository.id), repository };
    Ok(engine.repositories().await?.into_iter().map(of).collect())
}

/// A repository with its count.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn populated(engine: &Engine, repository: Repository) -> Result<Populated> {
    let live = number_of(&count_live(engine).await?, &repository.id);
    Ok(Populated { repository, live })
}

async fn count_live(engine: &Engine) -> Result<HashMap<RepositoryId, u64>> {
    let mut live = HashMap::new();
    for tally in tallies(engine).await?.into_iter().filter(|tally| tally.status.is_of_work()) {
        *live.entry(tally.repository).or_default() += tally.count;
    }
    Ok(live)
}

fn number_of(live: &HashMap<RepositoryId, u64>, id: &RepositoryId) -> usize {
    usize::try_from(live.get(id).copied().unwrap_or_default()).unwrap_or(usize::MAX)
}

async fn tallies(engine: &Engine) -> Result<Vec<WorkspaceTally>> {
    Ok(engine.store().read().await?.tally_workspaces(engine.account(), engine.home().node()).await?)
}

/// What a repository has, as the store counts it.
#[derive(Debug, Clone)]
pub struct Tallied {
    pub repository: Repository,
    pub tallies: Vec<WorkspaceTally>,
}

/// Counts what each repository has; of one, or of all.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn tally(engine: &Engine, of: Option<&Repository>) -> Result<Vec<Tallied>> {
    let all = tallies(engine).await?;
    let repositories = match of {
        Some(repository) => vec![repository.clone()],
        None => engine.repositories().await?,
    };
    let of = |repository: Repository| {
        let tallies = all.iter().filter(|tally| tally.repository == repository.id).cloned().collect();
        Tallied { repository, tallies }
    };
    Ok(repositories.into_iter().map(of).collect())
}

/// Makes a repository known: a URL is cloned, a path is used as it is, seen from a directory.
///
/// # Errors
///
/// If there is no repository at the place, or it can't be cloned.
#[boxed]
pub async fn add(
    engine: &Engine,
    place: &str,
    directory: &Path,
    add: &AddRepository,
    observer: &dyn Observer,
) -> Result<Context> {
    Ok(engine.add_repository(place, directory, add, observer).await?)
}

/// Fetches all branches from the remote, and drops those that are gone there.
///
/// # Errors
///
/// If it has no remote, or that can't be reached.
#[boxed]
pub async fn sync(engine: &Engine, context: &Context, observer: &dyn Observer) -> Result<Known> {
    Ok(engine.sync_repository(context, observer).await?)
}

/// A repository that is not known any more.
#[derive(Debug)]
pub struct Forgotten {
    pub repository: Repository,
    /// Where the clone is kept that Spinney made of it.
    pub kept: Option<PathBuf>,
}

/// Forgets a repository that a person selected from a directory. One whose git dir is gone for good goes by its name, with
/// force also while it has workspaces.
///
/// # Errors
///
/// If it is unknown, or has live workspaces.
#[boxed]
pub async fn forget(engine: &Engine, selector: Option<&str>, directory: &Path, force: bool) -> Result<Forgotten> {
    if let Some(selector) = selector
        && let Some(repository) = engine.remove_missing_repository(selector, force).await?
    {
        return Ok(Forgotten { repository, kept: None });
    }
    let context = engine.find_context(selector, directory).await?;
    let kept = engine.remove_repository(&context).await?;
    Ok(Forgotten { repository: context.repository, kept })
}
