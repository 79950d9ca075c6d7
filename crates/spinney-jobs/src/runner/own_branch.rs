//! On which branch a job works: its workspace's own, from beginning to end.
//!
//! An agent may rename its branch or start another; but nothing is committed to or pushed as a branch that is somebody
//! else's: one that is checked out elsewhere, the base, another workspace's, or one that the remote has already.

use spinney_core::{BranchName, Workspace};
use spinney_engine::Delivery;
use spinney_git::{Head, StatusOptions, Worktree};

use super::{End, Run, Step};

impl Run<'_> {
    /// Puts a workspace that is used again back on its branch, where an earlier agent left HEAD elsewhere.
    pub(super) async fn return_to_branch(&mut self, workspace: Workspace) -> Step<Workspace> {
        let worktree = Worktree::open(&self.context.git, &workspace.path)?;
        let head = worktree.load_head().await?;
        let own = &workspace.branch;
        if head.branch() == Some(own) {
            return Ok(workspace);
        }
        let Some(tip) = self.context.git.load_branch(own).await? else {
            let Some(renamed) = head.branch().cloned() else { return Ok(workspace) };
            self.require_own_branch(&workspace, &renamed).await?;
            self.warn(format!("its branch is `{renamed}` now: somebody renamed `{own}`"));
            let delivery = Delivery { branch: Some(&renamed), ..Delivery::default() };
            return Ok(self.jobs.engine.record_delivery(&self.context, &workspace, &delivery).await?);
        };
        let left = match &head {
            Head::Branch { name, .. } => format!("on `{name}`"),
            Head::Detached { commit, .. } => format!("on no branch at {}", commit.short()),
        };
        let refused = |why: &str| {
            let name = &workspace.name;
            let help = format!("`spinney exec {name} -- git status` shows it");
            End::Failed(format!("{name} was left {left}, not on its `{own}`, {why}; {help}"))
        };
        let status = worktree.load_status(&StatusOptions { untracked: false, ignored: false }).await?;
        if !status.is_clean() {
            return Err(refused("with changes that are not committed"));
        }
        if let Head::Detached { commit, .. } = &head
            && !self.context.git.is_ancestor(commit, &tip).await?
        {
            return Err(refused("with commits that are on no branch"));
        }
        let lock = self.context.git.lock("run").await?;
        worktree.continue_branch(&lock, own).await?;
        drop(lock);
        self.warn(format!("it was left {left}, and is back on `{own}`"));
        Ok(workspace)
    }

    /// Refuses a branch that is not this workspace's to write to.
    pub(super) async fn require_own_branch(&self, workspace: &Workspace, branch: &BranchName) -> Step<()> {
        if workspace.branch == *branch {
            return Ok(());
        }
        let refused = |what: &str| {
            Err(End::Failed(format!(
                "its agent went to `{branch}`, which is {what}: nothing is committed or pushed there"
            )))
        };
        if workspace.base_branch.as_ref() == Some(branch) {
            return refused("its base");
        }
        let trees = self.context.git.load_worktrees().await?;
        if let Some(other) =
            trees.iter().find(|tree| tree.branch.as_ref() == Some(branch) && tree.path != workspace.path)
        {
            return refused(&format!("checked out at `{}` too", other.path.display()));
        }
        let mut db = self.jobs.engine.store().read().await?;
        let other = db.workspace_on_branch(&workspace.repository_id, branch).await?;
        drop(db);
        if let Some(other) = other.filter(|other| other.id != workspace.id) {
            return refused(&format!("the branch of {}", other.name));
        }
        if let Some(remote) = self.jobs.engine.remote(&self.context).await?
            && let Some(tip) = self.context.git.load_remote_branch(&remote.name, branch).await?
            && self.job.outcome.commit.as_ref() != Some(&tip)
        {
            return refused(&format!("a branch that `{}` has already", remote.name));
        }
        Ok(())
    }
}
