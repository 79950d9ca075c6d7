//! Worktrees that others made, as workspaces of ours.

use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, NodeId, Workspace};
use spinney_engine::{Context, Engine, Import, Imports};

use crate::Result;

/// Which worktrees are taken in.
#[derive(Debug, Clone)]
pub enum Adopt {
    These(Vec<PathBuf>),
    /// All that the repository has and Spinney does not know.
    Unknown,
    /// Those of another home, which must be gone; all of them where none is named.
    FromHome {
        home: NodeId,
        paths: Vec<PathBuf>,
    },
}

/// Takes worktrees in where they stand. Each has its own outcome: one that can't be taken in does not stop the rest.
///
/// # Errors
///
/// If they can't be listed, or the other home is there.
#[boxed]
pub async fn adopt(
    engine: &Engine,
    context: &Context,
    which: &Adopt,
    base: Option<&BranchName>,
) -> Result<Vec<spinney_engine::Result<Workspace>>> {
    let unknown;
    let paths = match which {
        Adopt::FromHome { home, paths } => {
            let taken = engine.adopt_from_home(context, home, paths, base).await?;
            return Ok(taken.into_iter().map(|(_, outcome)| outcome).collect());
        }
        Adopt::Unknown => {
            unknown = engine.unknown_worktrees(context).await?;
            &unknown
        }
        Adopt::These(paths) => paths,
    };
    let mut outcomes = Vec::new();
    for path in paths {
        outcomes.push(engine.adopt(context, path, base.cloned()).await);
    }
    Ok(outcomes)
}

/// Takes in what other tools made: of some repositories, or of all that are there.
///
/// # Errors
///
/// If the account is not the home's owner, or a repository can't be opened.
#[boxed]
pub async fn import(engine: &Engine, here: Option<Context>, import: &Import) -> Result<Imports> {
    let contexts = match here {
        Some(context) => vec![context],
        None => present(engine).await?,
    };
    Ok(engine.import(contexts, import).await?)
}

/// The repositories whose git dir is there: one that is gone has no worktrees.
async fn present(engine: &Engine) -> Result<Vec<Context>> {
    let mut contexts = Vec::new();
    for repository in engine.repositories().await? {
        if repository.common_dir.exists() {
            contexts.push(engine.require_repository(&repository.id).await?);
        }
    }
    Ok(contexts)
}
