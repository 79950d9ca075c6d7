//! On which branch a job works: its workspace's own, from beginning to end.
//!
//! An agent may rename its branch or start another; but nothing is committed to or pushed as a branch that is somebody
//! else's ([`crate::delivery::branch`]).

use spinney_core::{Advice, BranchName, Workspace};
use spinney_engine::{Delivery, OwnBranch};
use spinney_git::Head;

use super::{End, Run, Step, Why};
use crate::delivery::branch::other_owner;
use crate::told::{Failure, LeftWith, Warning};

impl Run<'_> {
    /// Puts a workspace that is used again back on its branch, where an earlier agent left HEAD elsewhere.
    pub(super) async fn return_to_branch(&mut self, workspace: Workspace) -> Step<Workspace> {
        let own = &workspace.branch;
        let tree = self.context.require_tree(&workspace)?;
        let refused = |head: Head, with: LeftWith| {
            let name = &workspace.name;
            let failure = Failure::LeftElsewhere { workspace: name.clone(), head, branch: own.clone(), with };
            End::Failed(Why::new(failure, vec![Advice::SeeStatusOf { workspace: name.clone() }]))
        };
        match tree.return_to_branch(&self.context, own).await? {
            OwnBranch::Kept => Ok(workspace),
            OwnBranch::Back { from } => {
                self.warn(&Warning::BackOnBranch { from, branch: own.clone() });
                Ok(workspace)
            }
            OwnBranch::Renamed(renamed) => {
                self.require_own_branch(&workspace, &renamed).await?;
                self.warn(&Warning::BranchRenamed { from: own.clone(), to: renamed.clone() });
                let delivery = Delivery { branch: Some(&renamed), ..Delivery::default() };
                Ok(self.jobs.engine.record_delivery(&self.context, &workspace, &delivery).await?)
            }
            OwnBranch::Dirty { at } => Err(refused(at, LeftWith::UncommittedChanges)),
            OwnBranch::OnNoBranch { at } => Err(refused(at, LeftWith::CommitsOnNoBranch)),
        }
    }

    /// Refuses a branch that is not this workspace's to write to.
    pub(super) async fn require_own_branch(&self, workspace: &Workspace, branch: &BranchName) -> Step<()> {
        let delivered = self.job.outcome.commit.as_ref();
        match other_owner(self.jobs.engine, &self.context, workspace, branch, delivered).await? {
            Some(owner) => Err(End::failed(Failure::NotOwnBranch { branch: branch.clone(), owner })),
            None => Ok(()),
        }
    }
}
