//! Workspaces as linked worktrees of the repository: they share its objects and refs.

use std::path::{Path, PathBuf};

use spinney_core::Workspace;
use spinney_git::{AddWorktree, RepositoryLock, Start, Worktree};

use super::moving::lock_reason;
use super::provider::{Provider, Step};
use crate::repositories::context::Context;

pub(super) struct LinkedWorktrees;

impl Provider for LinkedWorktrees {
    fn admin_root(&self, common_dir: &Path) -> PathBuf {
        common_dir.join("worktrees")
    }

    fn register<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        workspace: &'a Workspace,
        start: Start<'a>,
    ) -> Step<'a, ()> {
        Box::pin(async move {
            // Locked in git, so that a stray prune leaves it alone.
            let lock_reason = &lock_reason(&workspace.id);
            Ok(context.git().add_worktree(lock, &AddWorktree { path: &workspace.path, start, lock_reason }).await?)
        })
    }

    fn open(&self, context: &Context, path: &Path) -> spinney_git::Result<Worktree> {
        Worktree::open(context.git(), path)
    }

    fn moved(&self, context: &Context, path: &Path, admin_dir: &Path) -> Worktree {
        Worktree::moved(context.git(), path, admin_dir)
    }
}
