//! Keeps the commits that a workspace's branch has when a job begins: `refs/spinney/before/<workspace>/<commit>`, so that no
//! `gc` of an agent's can take them.

use async_recursion::async_recursion as boxed;
use spinney_core::{CommitId, Workspace, WorkspaceId};

use crate::Result;
use crate::repositories::context::Context;

/// How much of a commit's id is in the name of its ref: people type it.
const DIGITS: usize = 16;

/// The ref that keeps a commit of a workspace's branch.
#[must_use]
pub fn tip_ref(workspace: &Workspace, commit: &CommitId) -> String {
    let commit = commit.as_str();
    format!("{}/{}", tips_of(&workspace.id), &commit[..commit.len().min(DIGITS)])
}

/// The name below which those refs of a workspace are.
pub(crate) fn tips_of(id: &WorkspaceId) -> String {
    format!("refs/spinney/before/{id}")
}

impl Context {
    /// Keeps a commit of a workspace's branch, unless what is `safe` has all of it.
    #[boxed]
    pub async fn keep_tip(&self, workspace: &Workspace, tip: &CommitId, safe: &[CommitId]) -> Result<()> {
        let (git, name) = (self.git(), tip_ref(workspace, tip));
        if git.count_missing(tip, safe).await?.count > 0 && git.load_ref(&name).await?.is_none() {
            let lock = git.lock("run").await?;
            git.update_ref(&lock, &name, tip, None).await?;
        }
        Ok(())
    }

    /// Lets a commit go that was kept.
    #[boxed]
    pub async fn release_tip(&self, workspace: &Workspace, tip: &CommitId) -> Result<()> {
        let (git, name) = (self.git(), tip_ref(workspace, tip));
        if git.load_ref(&name).await?.as_ref() == Some(tip) {
            let lock = git.lock("run").await?;
            git.delete_ref(&lock, &name, tip).await?;
        }
        Ok(())
    }
}
