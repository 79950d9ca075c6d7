//! What store and refs know of a workspace. Of many it is enough to say that they stay, without a look at their files.

use async_recursion::async_recursion as boxed;
use spinney_core::{Consent, JobId, Merge, Reason, ReasonCode, Remover, Sweep, Verdict, Workspace};

use super::history::{self, Trust};
use super::{Beside, Findings, ForgeWord};
use crate::repositories::context::Context;
use crate::tree::{self, Opened, open};
use crate::{Engine, Result};

/// What was seen.
#[derive(Debug)]
pub(crate) struct Glance {
    /// By memory, too: what it says to be merged is to be proved.
    pub merge: Merge,
    reasons: Vec<Reason>,
}

impl Glance {
    /// What a whole verdict says, where there was more to look at.
    pub fn of(Verdict { reasons, merge }: Verdict) -> Self {
        Self { merge, reasons }
    }

    /// The reasons, as they count for one remover.
    pub fn reasons(&self, remover: Remover) -> Vec<Reason> {
        let as_counts = |reason: &Reason| Reason { blocks: reason.code.blocks(remover), ..reason.clone() };
        self.reasons.iter().map(as_counts).collect()
    }

    /// Whether one of its reasons has nothing to do with what is merged and pushed, and stops every sweep.
    pub fn is_held(&self, blockers: &[Reason]) -> bool {
        blockers.iter().any(|reason| !matches!(reason.code, ReasonCode::Unmerged | ReasonCode::Unpushed))
    }
}

impl Engine {
    /// Looks at what store and refs know. None where that takes a look at the tree: it is not there, can't be read, or stands
    /// on no branch.
    pub(crate) async fn glance(
        &self,
        context: &Context,
        workspace: &Workspace,
        own: Option<&JobId>,
        forge: Option<&ForgeWord>,
    ) -> Result<Option<Glance>> {
        let Some((merge, mut findings)) = self.glance_at_refs(context, workspace, forge).await else { return Ok(None) };
        self.judge_row(context, workspace, Beside { own, forge }, &mut findings).await?;
        findings.reasons.sort_by_key(|reason| reason.code);
        Ok(Some(Glance { merge, reasons: findings.reasons }))
    }

    /// The part of it that takes git. What was asked once is remembered.
    pub(crate) async fn glance_at_refs(
        &self,
        context: &Context,
        workspace: &Workspace,
        forge: Option<&ForgeWord>,
    ) -> Option<(Merge, Findings)> {
        if tree::is_apart(workspace) {
            return None;
        }
        let Opened::Whole(worktree) = open(context, workspace) else { return None };
        let head = worktree.load_head().await.ok()?;
        let (Some(_), Some(tip)) = (head.branch(), head.commit()) else { return None };
        let mut findings = Findings::new(Remover::Sweep(Sweep::Merged));
        let upstream = self.upstream(context, workspace, forge).await;
        let merge = history::load_merge(context, workspace, tip, &upstream, Trust::Memory).await;
        if history::tell_unmerged(&merge, &mut findings) {
            let unpushed = context.recall_unpushed(tip, &workspace.base_commit).await.ok()?;
            history::tell_unpushed(&unpushed, &mut findings);
        }
        Some((merge, findings))
    }

    /// Why a workspace can't be let go, by store and refs alone; none where its files have to be asked.
    #[boxed]
    pub async fn ruled_out(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        own: Option<&JobId>,
    ) -> Result<Option<Vec<Reason>>> {
        let Some(glance) = self.glance(context, workspace, own, None).await? else { return Ok(None) };
        let mut reasons = self.blocking(glance.reasons(Remover::Sweep(sweep)));
        reasons.retain(|reason| !consent.covers(reason));
        Ok((!reasons.is_empty()).then_some(reasons))
    }
}
