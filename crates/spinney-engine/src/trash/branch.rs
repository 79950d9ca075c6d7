//! The branch of a workspace that is gone. It goes only if Spinney made it, and only from where it is known to be.
//!
//! 1. Under the repository's lock it is looked at again: checked out nowhere, not moved, no workspace's that lives.
//! 2. Its commits are in base, or its rescue ref keeps them: a restore makes it again.
//! 3. It is deleted by its old value. The row says so, in one transaction with the entry of the audit log: a branch that
//!    gets the same name later is somebody else's.
//!
//! A death between 2 and 3 leaves a rescue ref more; one behind the deletion an entry less.

use spinney_core::event::AboutWorkspace;
use spinney_core::{CommitId, Event, Merge, Workspace, WorkspaceStatus};
use spinney_git::RepositoryLock;
use spinney_store::Subject;

use crate::repositories::context::Context;
use crate::tree;
use crate::{Engine, Result};

const GONE: [WorkspaceStatus; 2] = [WorkspaceStatus::Trashed, WorkspaceStatus::Purged];

/// Why a branch holds nothing that base has not; none where it does, or nobody knows.
pub(crate) fn why_needless(merge: &Merge) -> Option<String> {
    match merge {
        Merge::Merged(evidence) => Some(evidence.detail.clone()),
        Merge::Unstarted => Some("it has no commit of its own".to_owned()),
        Merge::Unmerged { .. } | Merge::Unknown { .. } => None,
    }
}

impl Engine {
    /// Deletes the branch of a workspace that is gone; `false` where it is not ours, or no longer as it was.
    pub(crate) async fn delete_own_branch(
        &self,
        context: &Context,
        workspace: &Workspace,
        tip: &CommitId,
        why: &str,
    ) -> Result<bool> {
        let branch = &workspace.branch;
        if !workspace.made_its_branch() {
            return Ok(false);
        }
        let lock = context.lock("rm").await?;
        if context.is_checked_out(branch).await?
            || context.load_branch(branch).await?.as_ref() != Some(tip)
            || !self.is_nobodys_branch(workspace).await?
            || !self.keep_commits(context, &lock, workspace, tip).await?
        {
            return Ok(false);
        }
        context.delete_ref(&lock, &branch.local_ref(), tip).await?;
        drop(lock);
        self.note_deleted_branch(workspace, tip, why).await?;
        Ok(true)
    }

    /// Whether a workspace is still gone, and no other one has its branch by now.
    async fn is_nobodys_branch(&self, workspace: &Workspace) -> Result<bool> {
        let mut db = self.store.read().await?;
        let row = db.workspace(&workspace.id).await?;
        let is_gone = row.is_some_and(|row| GONE.contains(&row.status));
        Ok(is_gone && db.workspace_on_branch(&workspace.repository_id, &workspace.branch).await?.is_none())
    }

    /// Sees to it that a tip's commits stay when its branch goes; `false` where they would not.
    async fn keep_commits(
        &self,
        context: &Context,
        lock: &RepositoryLock,
        workspace: &Workspace,
        tip: &CommitId,
    ) -> Result<bool> {
        let rescue = tree::rescue_ref(&workspace.id);
        if let Some(pin) = context.load_ref(&rescue).await? {
            return Ok(context.is_ancestor(tip, &pin).await?);
        }
        if let Some(base) = self.base_tip(context, workspace).await
            && context.is_ancestor(tip, &base).await?
        {
            return Ok(true);
        }
        // In a mirror clone, others' `fetch --prune` would delete the ref.
        if context.load_mirrored_remote().await?.is_some() {
            return Ok(false);
        }
        context.update_ref(lock, &rescue, tip, None).await?;
        Ok(true)
    }

    async fn note_deleted_branch(&self, workspace: &Workspace, tip: &CommitId, why: &str) -> Result<()> {
        let mut db = self.store.write().await?;
        // Who restores it at this moment has made the branch again, or will.
        if let Some(mut row) = db.workspace(&workspace.id).await? {
            row.metadata.branch_deleted = true;
            db.update_workspace(&row, &GONE).await?;
        }
        let about = AboutWorkspace::of(workspace);
        let event = Event::BranchDeleted { about, commit: tip.clone(), why: why.to_owned() };
        db.record(Subject::workspace(workspace), event)?;
        Ok(db.commit().await?)
    }
}
