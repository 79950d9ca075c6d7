//! Refs that name other refs: which branch a HEAD is on.

use spinney_core::BranchName;

use crate::Result;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::worktree::linked::Worktree;

impl Repository {
    /// The branch that the repository's own HEAD names; in a managed clone the remote's default when it was made.
    pub async fn load_head_branch(&self) -> Result<Option<BranchName>> {
        self.load_symbolic("HEAD", "refs/heads/").await
    }

    /// The local copy of a remote's HEAD, which may be stale: only for when the remote can't be asked.
    pub async fn load_remote_head(&self, remote: &str) -> Result<Option<BranchName>> {
        self.load_symbolic(&format!("refs/remotes/{remote}/HEAD"), &format!("refs/remotes/{remote}/")).await
    }

    async fn load_symbolic(&self, name: &str, prefix: &str) -> Result<Option<BranchName>> {
        let target = match self.ref_files().map(|files| files.target(name)) {
            Some(Ok(target)) => target.unwrap_or_default(),
            _ => self.command().args(["symbolic-ref", "--quiet", name]).accept(&[0, 1]).text().await?,
        };
        Ok(target.strip_prefix(prefix).and_then(|branch| branch.parse().ok()))
    }
}

impl Worktree {
    /// Puts HEAD on another branch without touching index or files.
    pub async fn set_head(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        let command = self.command().args(["symbolic-ref", "HEAD", &branch.local_ref()]);
        command.holding(lock).run().await.map(|_| ())
    }
}
