//! Putting a worktree that stands on no branch onto another commit, and then onto its branch.

use spinney_core::{BranchName, CommitId};

use crate::refs::head::Head;
use crate::repository::lock::RepositoryLock;
use crate::worktree::checkout::{runs, with_lfs, writing_few};
use crate::worktree::linked::Worktree;
use crate::{Error, Result};

impl Worktree {
    /// Moves HEAD, on no branch, to a commit, and with it only the files that differ. Needs no lock; refuses where a file
    /// that was changed, or that git did not have, would be overwritten: an ignored one too.
    pub async fn move_to(&self, commit: &CommitId, lfs: bool) -> Result<()> {
        self.run_switch(lfs, &["--detach", commit.as_str()]).await
    }

    /// The same, and onto a branch that is made there; no upstream is set. Needs no lock either: git makes the branch
    /// under its own, or refuses where there is one. Where it fails, the branch may stay, and the files at one commit or
    /// the other.
    pub async fn move_to_new_branch(&self, branch: &BranchName, commit: &CommitId, lfs: bool) -> Result<()> {
        let from = match self.load_head().await? {
            Head::Detached { commit, rebasing: None } if !lfs => Some(commit),
            _ => None,
        };
        let plain = async {
            match &from {
                Some(from) => self.is_plain_move(from, commit).await,
                None => Ok(false),
            }
        };
        let ((), plain) = tokio::try_join!(self.make_branch(branch, commit), plain)?;
        if let Some(from) = from.filter(|_| plain)
            && self.move_files(&from, commit).await?
        {
            let (name, reason) = (branch.local_ref(), format!("checkout: moving from {from} to {branch}"));
            return self.command().args(["symbolic-ref", "-m", &reason, "HEAD", &name]).run().await.map(drop);
        }
        self.run_switch(lfs, &["--no-guess", branch.as_str()]).await
    }

    async fn make_branch(&self, branch: &BranchName, commit: &CommitId) -> Result<()> {
        let (name, none) = (branch.local_ref(), "0".repeat(commit.as_str().len()));
        let reason = format!("branch: Created from {commit}");
        let command = self.command().args(["update-ref", "--no-deref", "-m", &reason, &name, commit.as_str(), &none]);
        match command.run().await {
            Err(_) if self.repository().load_branch(branch).await?.is_some() => {
                Err(Error::BranchExists { branch: branch.to_string() })
            }
            made => made.map(drop),
        }
    }

    async fn run_switch(&self, lfs: bool, arguments: &[&str]) -> Result<()> {
        let secrets = self.checkout_secrets(lfs).await?;
        let command = secrets.go_with(writing_few(with_lfs(self.command(), lfs)).running(runs(lfs)));
        let command = command.args(["switch", "--quiet", "--no-recurse-submodules", "--no-overwrite-ignore"]);
        command.args(arguments).run().await.map(drop).map_err(|error| secrets.explain(error))
    }

    /// Makes a branch at HEAD's commit and puts HEAD on it; no file is touched, and no upstream is set.
    pub async fn start_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        let command = self.command().running(runs(false)).holding(lock);
        command.args(["switch", "--quiet", "--no-track", "-c", branch.as_str()]).run().await.map(drop)
    }

    /// Puts HEAD on a branch that stands at HEAD's commit.
    pub async fn continue_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        let command = self.command().running(runs(false)).holding(lock);
        let arguments = ["switch", "--quiet", "--no-recurse-submodules", "--no-guess", branch.as_str()];
        command.args(arguments).run().await.map(drop)
    }

    /// Takes HEAD off its branch, at a commit; neither index nor files are touched, nor looked at.
    pub async fn detach_head(&self, lock: &RepositoryLock, commit: &CommitId) -> Result<()> {
        let command = || self.command().holding(lock).args(["update-ref", "--no-deref", "HEAD", commit.as_str()]);
        self.repository().run_patiently(command).await.map(drop)
    }
}
