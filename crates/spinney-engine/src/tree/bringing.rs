//! Makes the repository know what is committed in a workspace that has a repository of its own.

use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, Workspace};
use spinney_git::RepositoryLock;

use super::finding::{admin_dirs, find_admin_dir, tree_of};
use super::{Tree, provider};
use crate::Result;
use crate::repositories::context::Context;

/// Brings a workspace's commits in, and makes its branch follow; of a linked worktree there is nothing to bring.
pub(crate) async fn bring_in(context: &Context, workspace: &Workspace) -> Result<()> {
    let provider = provider::of(workspace);
    if !provider.is_apart() {
        return Ok(());
    }
    let lock = context.git().lock("bring in").await?;
    match find_admin_dir(context, workspace)? {
        Some(admin_dir) => provider.bring_in(context, &lock, workspace, &admin_dir).await,
        None => Ok(()),
    }
}

/// Makes a branch of the repository one of the workspace's too; of a linked worktree it is one already.
pub(crate) async fn lend_branch(
    context: &Context,
    lock: &RepositoryLock,
    workspace: &Workspace,
    tree: &Tree,
    branch: &BranchName,
) -> Result<()> {
    provider::of(workspace).lend_branch(context, lock, tree.admin_dir(), branch).await
}

/// Whether a workspace's git dir is whole by itself.
pub(crate) fn is_apart(workspace: &Workspace) -> bool {
    provider::of(workspace).is_apart()
}

/// The places of all trees of a repository but the main checkout, which need not be there: those that git lists, and those
/// that have repositories of their own.
pub(crate) async fn places(context: &Context) -> Result<Vec<PathBuf>> {
    let listed = context.git().load_worktrees().await?;
    let mut places: Vec<PathBuf> =
        listed.into_iter().filter(|entry| !entry.is_main && !entry.bare).map(|entry| entry.path).collect();
    places.extend(apart_admin_dirs(context)?.iter().filter_map(|admin_dir| tree_of(admin_dir)));
    Ok(places)
}

/// The stale locks in repositories of workspaces, each with what it was found by.
pub(crate) fn stale_locks(context: &Context) -> Result<Vec<(Tree, PathBuf)>> {
    let mut locks = Vec::new();
    for provider in provider::all().filter(|provider| provider.is_apart()) {
        for admin_dir in admin_dirs(context, provider)? {
            let tree = Tree::new(provider.moved(context, &tree_of(&admin_dir).unwrap_or_default(), &admin_dir));
            let own = tree.git.repository();
            let stale = own.stale_locks().into_iter().chain(own.stale_locks_of_pseudo_refs(&admin_dir));
            locks.extend(stale.map(|lock| (tree.clone(), lock)));
        }
    }
    Ok(locks)
}

fn apart_admin_dirs(context: &Context) -> Result<Vec<PathBuf>> {
    let apart = provider::all().filter(|provider| provider.is_apart());
    let found = apart.map(|provider| admin_dirs(context, provider)).collect::<Result<Vec<_>>>()?;
    Ok(found.concat())
}

impl Context {
    /// Makes the repository know what is committed in a workspace.
    #[boxed]
    pub async fn bring_in(&self, workspace: &Workspace) -> Result<()> {
        bring_in(self, workspace).await
    }
}
