//! What follows when an issue or a pull request is closed: base is fetched, so that a merge is seen at once, and what the
//! forge says of it is written down, so that it counts although nobody asks the forge again.

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, Consent, MergedPull, Remover, Sweep, Work, WorkKind, Workspace, WorkspaceStatus};

use super::{DroppedBranch, ForgeAsked};
use crate::notice::Observer;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::trash::remove::Removed;
use crate::verdict::{Beside, ForgeWord};
use crate::{Engine, Result};

/// An issue or a pull request that is over, as the forge tells it.
#[derive(Debug, Clone)]
pub struct ClosedWork {
    pub work: Work,
    /// Of a pull request that was merged.
    pub merged: Option<MergedPull>,
    /// The branch of a pull request of this very repository, not of a fork's.
    pub head: Option<BranchName>,
}

impl ClosedWork {
    fn concerns(&self, row: &Workspace) -> bool {
        row.work == self.work || self.is_of_its_branch(row) || self.is_related(row)
    }

    fn is_of_its_branch(&self, row: &Workspace) -> bool {
        self.head.as_ref() == Some(&row.branch)
    }

    fn is_related(&self, row: &Workspace) -> bool {
        let related = match self.work.kind {
            WorkKind::Issue => &row.metadata.related_issues,
            WorkKind::Pr => &row.metadata.related_prs,
            _ => return false,
        };
        self.work.key.parse().is_ok_and(|number| related.contains(&number))
    }

    /// What is to be noted of its merge. What is only related has a pull request of its own, if any.
    fn merge_of(&self, row: &Workspace) -> Option<&MergedPull> {
        let is_its_own = row.work == self.work || self.is_of_its_branch(row) || row.metadata.merged.is_none();
        self.merged.as_ref().filter(|_| is_its_own)
    }
}

impl Engine {
    /// Hears that an issue or a pull request is closed: fetches base, notes a merge, and drops the branches that workspaces
    /// of it left. Where it concerns no workspace, nothing is done.
    #[boxed]
    pub async fn hear_closed(
        &self,
        context: &Context,
        closed: &ClosedWork,
        observer: &dyn Observer,
    ) -> Result<Vec<DroppedBranch>> {
        let mut rows = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        rows.extend(self.workspaces(Some(&context.repository.id), Among::Removed).await?);
        rows.retain(|row| closed.concerns(row));
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        for row in &rows {
            if let Some(merged) = closed.merge_of(row) {
                self.note_merged(row.clone(), merged).await?;
            }
        }
        // What fails here only makes a branch stay until the next sweep.
        if let Err(error) = self.fetch_base(context, observer).await {
            tracing::warn!(cause = %error.in_full(), "base was not fetched");
        }
        let mut forge = ForgeAsked::unopened();
        let mut dropped = Vec::new();
        for left in self.left_branches(context).await? {
            if rows.iter().all(|row| row.id != left.workspace.id) {
                continue;
            }
            match self.reconsider(context, left, false, &mut forge, observer).await {
                Ok(found) => dropped.extend(found),
                Err(error) => tracing::warn!(cause = %error.in_full(), "a branch was not looked at"),
            }
        }
        Ok(dropped)
    }

    /// Removes a workspace whose issue or pull request was closed, within the verdict. The forge is asked for its pull
    /// request: one that was merged or closed by now is no reason.
    #[boxed]
    pub async fn let_go_closed(
        &self,
        context: &Context,
        workspace: &Workspace,
        consent: &Consent,
        observer: &dyn Observer,
    ) -> Result<Removed> {
        let word = ForgeAsked::unopened().ask(self, context, workspace, observer).await;
        let beside = Beside { own: None, forge: word.as_ref() };
        let verdict = self.judge_letting_go_told(context, workspace, Sweep::Close, consent, beside).await?;
        let workspace = self.note_merged_by(workspace.clone(), word.as_ref()).await?;
        self.remove_judged(context, &workspace, &verdict, Remover::Sweep(Sweep::Close), None, observer).await
    }

    /// Notes what the forge answered of a merge, so that it is known when the workspace is gone.
    pub(crate) async fn note_merged_by(&self, workspace: Workspace, word: Option<&ForgeWord>) -> Result<Workspace> {
        match word.and_then(|word| word.merged.as_ref()) {
            Some(merged) => self.note_merged(workspace, merged).await,
            None => Ok(workspace),
        }
    }

    async fn note_merged(&self, mut workspace: Workspace, merged: &MergedPull) -> Result<Workspace> {
        if workspace.metadata.merged.as_ref() == Some(merged) {
            return Ok(workspace);
        }
        let mut db = self.store.write().await?;
        if let Some(mut row) = db.workspace(&workspace.id).await? {
            row.metadata.merged = Some(merged.clone());
            db.update_workspace(&row, WorkspaceStatus::ALL).await?;
            workspace.metadata = row.metadata;
        }
        db.commit().await?;
        Ok(workspace)
    }
}
