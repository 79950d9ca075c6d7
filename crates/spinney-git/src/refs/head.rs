//! What a worktree is at.

use spinney_core::{BranchName, CommitId};

use crate::worktree::linked::{Worktree, read_pointer};
use crate::{Error, Result};

/// Git writes this where HEAD is kept in another store than files.
pub(crate) const NOT_IN_A_FILE: &str = "refs/heads/.invalid";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On a branch, which has no commit as long as nothing was committed in an empty repository.
    Branch { name: BranchName, commit: Option<CommitId> },
    /// On no branch. During a rebase the branch that is being rebased is known; it still has its old commit.
    Detached { commit: CommitId, rebasing: Option<BranchName> },
}

impl Head {
    #[must_use]
    pub fn commit(&self) -> Option<&CommitId> {
        match self {
            Self::Branch { commit, .. } => commit.as_ref(),
            Self::Detached { commit, .. } => Some(commit),
        }
    }

    /// The branch that the work is on, also in the middle of its rebase.
    #[must_use]
    pub fn branch(&self) -> Option<&BranchName> {
        match self {
            Self::Branch { name, .. } => Some(name),
            Self::Detached { rebasing, .. } => rebasing.as_ref(),
        }
    }
}

impl Worktree {
    /// Reads HEAD.
    pub async fn load_head(&self) -> Result<Head> {
        let damaged = |reason: &str| Error::DamagedWorktree { path: self.path().to_owned(), reason: reason.to_owned() };
        let text = read_pointer(&self.admin_dir().join("HEAD")).ok_or_else(|| damaged("its HEAD can't be read"))?;
        let target = match text.strip_prefix("ref:").map(str::trim) {
            Some(NOT_IN_A_FILE) => {
                let answer = self.command().args(["symbolic-ref", "--quiet", "HEAD"]).accept(&[0, 1]).text().await?;
                (!answer.is_empty()).then_some(answer)
            }
            Some(target) => Some(target.to_owned()),
            None => None,
        };
        if let Some(target) = target {
            let name = target.strip_prefix("refs/heads/").and_then(|name| name.parse::<BranchName>().ok());
            let name = name.ok_or_else(|| damaged("its HEAD names no branch that can be used"))?;
            let commit = self.repository().load_branch(&name).await?;
            return Ok(Head::Branch { name, commit });
        }
        let commit = match text.parse() {
            Ok(commit) => commit,
            Err(_) => {
                let answer = self.command().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).accept(&[0, 1]);
                answer.text().await?.parse().map_err(|_| damaged("its HEAD names no commit"))?
            }
        };
        Ok(Head::Detached { commit, rebasing: self.rebasing() })
    }

    fn rebasing(&self) -> Option<BranchName> {
        let state = ["rebase-merge", "rebase-apply"].map(|name| self.admin_dir().join(name).join("head-name"));
        let name = state.iter().find_map(|path| read_pointer(path))?;
        name.strip_prefix("refs/heads/")?.parse().ok()
    }
}
