//! On which branch a job works: its workspace's own, from beginning to end.
//!
//! An agent may rename its branch or start another; but nothing is committed to or pushed as a branch that is somebody
//! else's: one that is checked out elsewhere, the base, another workspace's, or one that the remote has already.

use spinney_core::{Advice, BranchName, Workspace};
use spinney_engine::{Delivery, OwnBranch};
use spinney_git::Head;

use super::{End, Run, Step, Why};

impl Run<'_> {
    /// Puts a workspace that is used again back on its branch, where an earlier agent left HEAD elsewhere.
    pub(super) async fn return_to_branch(&mut self, workspace: Workspace) -> Step<Workspace> {
        let own = &workspace.branch;
        let tree = self.context.require_tree(&workspace)?;
        let refused = |at: &Head, why: &str| {
            let (name, left) = (&workspace.name, left(at));
            End::Failed(Why {
                text: format!("{name} was left {left}, not on its `{own}`, {why}"),
                advice: vec![Advice::SeeStatusOf { workspace: name.clone() }],
            })
        };
        match tree.return_to_branch(&self.context, own).await? {
            OwnBranch::Kept => Ok(workspace),
            OwnBranch::Back { from } => {
                self.warn(format!("it was left {}, and is back on `{own}`", left(&from)));
                Ok(workspace)
            }
            OwnBranch::Renamed(renamed) => {
                self.require_own_branch(&workspace, &renamed).await?;
                self.warn(format!("its branch is `{renamed}` now: somebody renamed `{own}`"));
                let delivery = Delivery { branch: Some(&renamed), ..Delivery::default() };
                Ok(self.jobs.engine.record_delivery(&self.context, &workspace, &delivery).await?)
            }
            OwnBranch::Dirty { at } => Err(refused(&at, "with changes that are not committed")),
            OwnBranch::OnNoBranch { at } => Err(refused(&at, "with commits that are on no branch")),
        }
    }

    /// Refuses a branch that is not this workspace's to write to.
    pub(super) async fn require_own_branch(&self, workspace: &Workspace, branch: &BranchName) -> Step<()> {
        if workspace.branch == *branch {
            return Ok(());
        }
        let refused = |what: &str| {
            Err(End::failed(format!(
                "its agent went to `{branch}`, which is {what}: nothing is committed or pushed there"
            )))
        };
        if workspace.base_branch.as_ref() == Some(branch) {
            return refused("its base");
        }
        let trees = self.context.load_worktrees().await?;
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
            && let Some(tip) = self.context.load_remote_branch(&remote.name, branch).await?
            && self.job.outcome.commit.as_ref() != Some(&tip)
        {
            return refused(&format!("a branch that `{}` has already", remote.name));
        }
        Ok(())
    }
}

/// Where HEAD was left, in words.
fn left(head: &Head) -> String {
    match head {
        Head::Branch { name, .. } => format!("on `{name}`"),
        Head::Detached { commit, .. } => format!("on no branch at {}", commit.short()),
    }
}
