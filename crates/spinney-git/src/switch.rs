//! Putting a worktree that stands on no branch onto another commit, and then onto its branch.

use spinney_core::{BranchName, CommitId};

use crate::Result;
use crate::checkout::{with_lfs, workers};
use crate::command::Command;
use crate::lock::RepositoryLock;
use crate::worktree::Worktree;

impl Worktree {
    /// Moves HEAD, on no branch, to a commit, and with it only the files that differ. Needs no lock; refuses where a file
    /// that was changed, or that git did not have, would be overwritten: an ignored one too.
    pub async fn move_to(&self, commit: &CommitId, lfs: bool) -> Result<()> {
        self.moving(lfs).args(["--detach", commit.as_str()]).run().await.map(drop)
    }

    /// The same, and onto a branch that is made there; no upstream is set. Needs no lock either: git makes the branch
    /// under its own, or refuses where there is one.
    pub async fn move_to_new_branch(&self, branch: &BranchName, commit: &CommitId, lfs: bool) -> Result<()> {
        self.moving(lfs).args(["--no-track", "-c", branch.as_str(), commit.as_str()]).run().await.map(drop)
    }

    fn moving(&self, lfs: bool) -> Command {
        let command = with_lfs(self.command(), lfs).network().config("checkout.workers", workers().to_string());
        // A few files are written sooner than helpers are started.
        let command = command.config("checkout.thresholdForParallelism", "1000");
        command.args(["switch", "--quiet", "--no-recurse-submodules", "--no-overwrite-ignore"])
    }

    /// Makes a branch at HEAD's commit and puts HEAD on it; no file is touched, and no upstream is set.
    pub async fn start_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        let command = self.command().holding(lock);
        command.args(["switch", "--quiet", "--no-track", "-c", branch.as_str()]).run().await.map(drop)
    }

    /// Puts HEAD on a branch that stands at HEAD's commit.
    pub async fn continue_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        let command = self.command().holding(lock);
        let arguments = ["switch", "--quiet", "--no-recurse-submodules", "--no-guess", branch.as_str()];
        command.args(arguments).run().await.map(drop)
    }

    /// Takes HEAD off its branch, at a commit; neither index nor files are touched, nor looked at.
    pub async fn detach_head(&self, lock: &RepositoryLock, commit: &CommitId) -> Result<()> {
        let command = || self.command().holding(lock).args(["update-ref", "--no-deref", "HEAD", commit.as_str()]);
        self.repository().run_patiently(command).await.map(drop)
    }
}
