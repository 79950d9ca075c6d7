//! Branches that Spinney made and whose workspaces are gone: their merge was not known then, and may be by now.
//!
//! A branch is looked at if its workspace is in the trash or purged, and it stands where the removal left it: one that moved
//! since is somebody's, and so is one that was made again after the removal. It goes when it is merged, by content or by the forge's word, or has no commit of its own.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::{BranchName, CommitId, Workspace};

use super::{ForgeAsked, Report};
use crate::notice::Observer;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::trash::branch::why_needless;
use crate::tree;
use crate::verdict::{Trust, load_merge};
use crate::{Engine, Result};

/// A branch that went after its workspace.
#[derive(Debug, Clone)]
pub struct DroppedBranch {
    pub workspace: Workspace,
    pub branch: BranchName,
    /// Where it was.
    pub commit: CommitId,
    pub why: String,
}

/// A branch of ours without a workspace.
#[derive(Debug)]
pub(super) struct LeftBranch {
    pub workspace: Workspace,
    tip: CommitId,
}

impl Engine {
    /// Deletes what is merged by now of the branches that removed workspaces left.
    pub(super) async fn sweep_branches(
        &self,
        context: &Context,
        dry_run: bool,
        forge: &mut ForgeAsked,
        report: &mut Report,
        observer: &dyn Observer,
    ) -> Result<()> {
        for left in self.left_branches(context).await? {
            let name = left.workspace.branch.to_string();
            match self.reconsider(context, left, dry_run, forge, observer).await {
                Ok(dropped) => report.branches.extend(dropped),
                Err(error) => report.failed.push((name, error.in_full())),
            }
        }
        Ok(())
    }

    /// Finds the branches that removed workspaces left, each where the removal left it.
    pub(super) async fn left_branches(&self, context: &Context) -> Result<Vec<LeftBranch>> {
        if !self.config.cleanup.delete_merged_branches {
            return Ok(Vec::new());
        }
        let mut gone = self.workspaces(Some(&context.repository.id), Among::Removed).await?;
        gone.retain(|row| row.made_its_branch() && !row.metadata.branch_deleted);
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let branches = context.load_branches().await?;
        gone.retain(|row| branches.contains_key(&row.branch));
        let named = if gone.is_empty() { BTreeSet::new() } else { tree::named_branches(context)? };
        let mut left = BTreeMap::new();
        for workspace in gone {
            let Some(tip) = branches.get(&workspace.branch) else { continue };
            if left.contains_key(&workspace.branch)
                || named.contains(&workspace.branch)
                || is_made_again(context, &workspace)
                || self.tip_removed_with(&workspace).await?.as_ref() != Some(tip)
            {
                continue;
            }
            let on_it =
                self.store.read().await?.workspace_on_branch(&workspace.repository_id, &workspace.branch).await?;
            if on_it.is_none() {
                left.insert(workspace.branch.clone(), LeftBranch { tip: tip.clone(), workspace });
            }
        }
        Ok(left.into_values().collect())
    }

    /// Deletes a branch that was left, if it may go by now.
    pub(super) async fn reconsider(
        &self,
        context: &Context,
        left: LeftBranch,
        dry_run: bool,
        forge: &mut ForgeAsked,
        observer: &dyn Observer,
    ) -> Result<Option<DroppedBranch>> {
        let LeftBranch { workspace, tip } = left;
        if context.is_checked_out(&workspace.branch).await? {
            return Ok(None);
        }
        let mut upstream = self.upstream(context, &workspace, None).await;
        let remembered = load_merge(context, &workspace, &tip, &upstream, Trust::Memory).await;
        if why_needless(&remembered).is_none() {
            let word = forge.ask(self, context, &workspace, observer).await;
            upstream = self.upstream(context, &workspace, word.as_ref()).await;
            if upstream.merged_heads.is_empty() {
                return Ok(None);
            }
        }
        let proved = load_merge(context, &workspace, &tip, &upstream, Trust::Proof).await;
        let Some(why) = why_needless(&proved) else { return Ok(None) };
        if !dry_run && !self.delete_own_branch(context, &workspace, &tip, &why).await? {
            return Ok(None);
        }
        Ok(Some(DroppedBranch { branch: workspace.branch.clone(), commit: tip, why, workspace }))
    }
}

/// Whether somebody made a branch of the same name since its workspace was removed.
fn is_made_again(context: &Context, workspace: &Workspace) -> bool {
    let removed_at = workspace.removed_at.map(|at| at.as_millisecond() / 1000);
    let made_at = context.load_reflog_start(&workspace.branch);
    matches!((made_at, removed_at), (Some(made_at), Some(removed_at)) if made_at > removed_at)
}
