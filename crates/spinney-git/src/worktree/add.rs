//! Making a linked worktree, without its files: those come by `Worktree::checkout`, outside the lock.

use std::path::Path;

use spinney_core::{BranchName, CommitId};

use crate::process::retry::Retry;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// Where a new worktree starts.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    NewBranch { name: &'a BranchName, commit: &'a CommitId },
    ExistingBranch(&'a BranchName),
    Detached(&'a CommitId),
}

#[derive(Debug, Clone, Copy)]
pub struct AddWorktree<'a> {
    /// Absolute; nothing may be there.
    pub path: &'a Path,
    pub start: Start<'a>,
    /// The reason it is locked with from its first moment, so that no stray prune takes it.
    pub lock_reason: &'a str,
}

impl Repository {
    /// Adds a linked worktree. No upstream is set, and nothing is ever forced.
    pub async fn add_worktree(&self, lock: &RepositoryLock, add: &AddWorktree<'_>) -> Result<()> {
        if !add.path.is_absolute() {
            return Err(Error::Refused { what: "an absolute path", name: add.path.display().to_string() });
        }
        if let Start::NewBranch { name, .. } = add.start
            && self.load_branch(name).await?.is_some()
        {
            return Err(Error::BranchExists { branch: name.to_string() });
        }
        let mut retry = Retry::default();
        loop {
            let added = self.try_add_worktree(lock, add).await;
            if let Err(Error::LockContention { what }) = &added {
                self.clear_if_stale(Path::new(what));
            }
            // Git makes the branch first, and leaves it behind when what follows fails.
            if added.as_ref().is_err_and(|error| !matches!(error, Error::BranchExists { .. }))
                && let Start::NewBranch { name, commit } = add.start
                && let Ok(Some(left)) = self.load_branch(name).await
                && left == *commit
            {
                // The first error is the one to tell.
                let _ = self.delete_ref(lock, &name.local_ref(), commit).await;
            }
            if !retry.again(&added).await {
                return added;
            }
        }
    }

    async fn try_add_worktree(&self, lock: &RepositoryLock, add: &AddWorktree<'_>) -> Result<()> {
        let command = self.holding(lock).args(["worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason"]);
        let command = command.arg(add.lock_reason);
        let command = match add.start {
            Start::NewBranch { name, .. } => command.args(["--no-track", "-b", name.as_str()]),
            Start::ExistingBranch(_) => command,
            Start::Detached(_) => command.arg("--detach"),
        };
        let start = match add.start {
            Start::NewBranch { commit, .. } | Start::Detached(commit) => commit.as_str(),
            Start::ExistingBranch(name) => name.as_str(),
        };
        command.arg("--").arg(add.path).arg(start).run().await.map(drop)
    }
}
