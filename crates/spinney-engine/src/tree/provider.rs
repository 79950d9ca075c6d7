//! How workspaces are made on disk: what differs from one provider to the next, and the table of all of them.
//!
//! A provider keeps a tree and git's part of it, the admin dir, apart. Each is one directory, so that a workspace moves by two
//! renames. All else (finding, undoing, trash, archive) is the same for every provider and knows only those two.

use std::path::{Path, PathBuf};
use std::pin::Pin;

use spinney_core::{BranchName, Provider as Name, Workspace};
use spinney_git::{RepositoryLock, Start, Worktree};

#[cfg(feature = "fail-points")]
use super::clone::PrivateClones;
use super::worktree::LinkedWorktrees;
use crate::Result;
use crate::repositories::context::Context;

/// A step of a provider that runs git.
pub(super) type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// One way of making workspaces on disk.
pub(super) trait Provider: Sync {
    /// Where the admin dirs of live trees lie, in the repository's common git dir. A tree is found by what is in there.
    fn admin_root(&self, common_dir: &Path) -> PathBuf;

    /// Makes tree, admin dir and branch, without files, under the repository's lock. Fails without a trace, or leaves what an
    /// undo finds.
    fn register<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        workspace: &'a Workspace,
        start: Start<'a>,
    ) -> Step<'a, ()>;

    /// Opens the tree at a path, after checking that it and its admin dir agree about each other. Runs no git.
    fn open(&self, context: &Context, path: &Path) -> spinney_git::Result<Worktree>;

    /// The tree and the admin dir that were moved together, as into the trash: neither names the other any more.
    fn moved(&self, context: &Context, path: &Path, admin_dir: &Path) -> Worktree;

    /// Makes the repository know the commits of a workspace that has a repository of its own, and its branch follow.
    fn bring_in<'a>(
        &self,
        _context: &'a Context,
        _lock: &'a RepositoryLock,
        _workspace: &'a Workspace,
        _admin_dir: &'a Path,
    ) -> Step<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Makes a pin the repository's that was written where the workspace has its commits.
    fn bring_pin<'a>(
        &self,
        _context: &'a Context,
        _lock: &'a RepositoryLock,
        _workspace: &'a Workspace,
        _admin_dir: &'a Path,
        _name: &'a str,
    ) -> Step<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Makes a branch of the repository one of the workspace's too, at the same commit.
    fn lend_branch<'a>(
        &self,
        _context: &'a Context,
        _lock: &'a RepositoryLock,
        _admin_dir: &'a Path,
        _branch: &'a BranchName,
    ) -> Step<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Drops what was brought in; a pin has all of it, or nobody needs it.
    fn forget<'a>(&self, _context: &'a Context, _lock: &'a RepositoryLock, _workspace: &'a Workspace) -> Step<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Whether its trees have repositories of their own, whose commits must be brought in.
    fn is_apart(&self) -> bool {
        false
    }
}

/// The table: which provider a name stands for.
fn named(name: Name) -> &'static dyn Provider {
    match name {
        Name::Worktree => &LinkedWorktrees,
        #[cfg(feature = "fail-points")]
        Name::Clone => &PrivateClones,
    }
}

/// What a new workspace is made by.
pub(crate) fn provider_of_new() -> Name {
    #[cfg(feature = "fail-points")]
    if let Some(name) = crate::fail::provider() {
        return name;
    }
    Name::Worktree
}

/// The provider of a workspace, as its row says.
pub(super) fn of(workspace: &Workspace) -> &'static dyn Provider {
    named(workspace.provider)
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static dyn Provider> {
    Name::ALL.iter().map(|name| named(*name))
}
