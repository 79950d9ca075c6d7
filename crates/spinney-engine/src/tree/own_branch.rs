//! Puts a workspace back on its own branch, where somebody left HEAD elsewhere. Nothing that is not committed, and no commit
//! that is on no branch, is left behind.

use async_recursion::async_recursion as boxed;
use spinney_core::BranchName;
use spinney_git::{Head, StatusOptions};

use super::Tree;
use crate::Result;
use crate::repositories::context::Context;

/// How a workspace stands to its own branch.
#[derive(Debug)]
pub enum OwnBranch {
    /// HEAD is on it; or it is gone, and HEAD is on no other.
    Kept,
    /// It is gone, and HEAD is on another: somebody renamed it.
    Renamed(BranchName),
    /// HEAD was elsewhere, and is back on it.
    Back { from: Head },
    /// HEAD is elsewhere, and there are changes that are not committed.
    Dirty { at: Head },
    /// HEAD is elsewhere, with commits that are on no branch.
    OnNoBranch { at: Head },
}

impl Tree {
    /// Puts HEAD back on the workspace's own branch, where that leaves nothing behind.
    #[boxed]
    pub async fn return_to_branch(&self, context: &Context, own: &BranchName) -> Result<OwnBranch> {
        let head = self.load_head().await?;
        if head.branch() == Some(own) {
            return Ok(OwnBranch::Kept);
        }
        let Some(tip) = self.load_branch(own).await? else {
            return Ok(head.branch().cloned().map_or(OwnBranch::Kept, OwnBranch::Renamed));
        };
        let status = self.load_status(&StatusOptions { untracked: false, ignored: false }).await?;
        if !status.is_clean() {
            return Ok(OwnBranch::Dirty { at: head });
        }
        if let Head::Detached { commit, .. } = &head
            && !self.is_ancestor(commit, &tip).await?
        {
            return Ok(OwnBranch::OnNoBranch { at: head });
        }
        let lock = context.git().lock("run").await?;
        self.continue_branch(&lock, own).await?;
        drop(lock);
        Ok(OwnBranch::Back { from: head })
    }
}
