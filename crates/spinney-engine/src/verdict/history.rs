//! Reasons that lie in a workspace's commits.

use spinney_core::{BranchName, CommitId, Evidence, EvidenceKind, Merge, ReasonCode, Workspace};
use spinney_git::Head;

use super::{Findings, Upstream};
use crate::context::Context;
use crate::tree::Tree;

/// Judges the branch that HEAD is on (an agent may have renamed it), or the recorded one where there is no tree.
pub(super) async fn judge_branch(
    context: &Context,
    workspace: &Workspace,
    worktree: Option<&Tree>,
    upstream: &Upstream,
    findings: &mut Findings,
) -> Merge {
    let mut branch = Some(workspace.branch.clone());
    let mut detached = None;
    if let Some(worktree) = worktree {
        match worktree.load_head().await {
            Ok(head) => {
                branch = head.branch().cloned();
                if let Head::Detached { commit, .. } = head {
                    detached = Some(commit);
                }
            }
            Err(error) => {
                findings.unverifiable("where HEAD is", &error);
                return Merge::Unknown { detail: error.to_string() };
            }
        }
        judge_submodules(worktree, findings).await;
    }
    if let Some(branch) = &branch {
        judge_stashes(context, worktree, branch, findings).await;
    }
    if let Some(commit) = &detached {
        judge_detached(context, commit, findings).await;
    }
    let tip = match (&branch, detached) {
        (Some(branch), _) => match tip_of(context, worktree, branch).await {
            Ok(tip) => tip,
            Err(error) => {
                findings.unverifiable("where the branch is", &error);
                None
            }
        },
        (None, detached) => detached,
    };
    let Some(tip) = tip else {
        return Merge::Unknown { detail: "it has no commit".to_owned() };
    };
    judge_tip(context, workspace, &tip, upstream, findings).await
}

/// Where a branch is, as the workspace sees it; where there is none, as the repository does.
async fn tip_of(
    context: &Context,
    worktree: Option<&Tree>,
    branch: &BranchName,
) -> spinney_git::Result<Option<CommitId>> {
    match worktree {
        Some(tree) => tree.load_branch(branch).await,
        None => context.load_branch(branch).await,
    }
}

/// Merged, or pushed, or neither.
async fn judge_tip(
    context: &Context,
    workspace: &Workspace,
    tip: &CommitId,
    upstream: &Upstream,
    findings: &mut Findings,
) -> Merge {
    let mut merge = merge_with(context, workspace, tip, upstream.base.as_ref()).await;
    if matches!(merge, Merge::Unmerged { .. } | Merge::Unknown { .. })
        && let Some(evidence) = forge_evidence(context, tip, upstream.merged_head.as_ref()).await
    {
        merge = Merge::Merged(evidence);
    }
    match &merge {
        Merge::Merged(_) | Merge::Unstarted => return merge,
        Merge::Unmerged { detail, .. } | Merge::Unknown { detail } => {
            findings.add(ReasonCode::Unmerged, detail.clone(), Vec::new());
        }
    }
    match context.count_unpushed(tip, &workspace.base_commit).await {
        Ok(unpushed) if unpushed.count == 0 => {}
        Ok(unpushed) => {
            let items =
                unpushed.first.iter().map(|(commit, subject)| format!("{} {subject}", commit.short())).collect();
            let count = usize::try_from(unpushed.count).unwrap_or(usize::MAX);
            findings.number(ReasonCode::Unpushed, count, None, items);
        }
        Err(error) => findings.unverifiable("what is pushed", error),
    }
    merge
}

/// What a forge merged is merged here too, as far as its head commit goes: what came later is not.
async fn forge_evidence(context: &Context, tip: &CommitId, merged_head: Option<&CommitId>) -> Option<Evidence> {
    let head = merged_head?;
    // A head that was never fetched proves nothing.
    let contained = head == tip || context.is_ancestor(tip, head).await.unwrap_or(false);
    let detail = || format!("the forge merged its pull request at `{}`", head.short());
    contained.then(|| Evidence { kind: EvidenceKind::Forge, detail: detail() })
}

async fn merge_with(context: &Context, workspace: &Workspace, tip: &CommitId, base: Option<&CommitId>) -> Merge {
    match base {
        Some(base) => context
            .load_merge(tip, base, &workspace.base_commit)
            .await
            .unwrap_or_else(|error| Merge::Unknown { detail: error.to_string() }),
        None if *tip == workspace.base_commit => Merge::Unstarted,
        None => Merge::Unknown { detail: "its base branch is gone".to_owned() },
    }
}

/// How what HEAD is on stands to base, or the recorded branch where there is no tree; no reason is looked for.
pub(super) async fn merge_of_head(
    context: &Context,
    workspace: &Workspace,
    worktree: Option<&Tree>,
    base: Option<&CommitId>,
) -> Merge {
    let tip = match worktree {
        Some(worktree) => worktree.load_head().await.map(|head| head.commit().cloned()),
        None => context.load_branch(&workspace.branch).await,
    };
    match tip {
        Ok(Some(tip)) => merge_with(context, workspace, &tip, base).await,
        Ok(None) => Merge::Unknown { detail: "it has no commit".to_owned() },
        Err(error) => Merge::Unknown { detail: error.to_string() },
    }
}

async fn judge_stashes(context: &Context, worktree: Option<&Tree>, branch: &BranchName, findings: &mut Findings) {
    let stashes = match worktree {
        Some(tree) => tree.load_stashes().await,
        None => context.load_stashes().await,
    };
    match stashes {
        Ok(stashes) => {
            let own = stashes.into_iter().filter(|stash| stash.branch.as_deref() == Some(branch.as_str()));
            let items: Vec<String> = own.map(|stash| stash.message).collect();
            if !items.is_empty() {
                findings.number(ReasonCode::Stash, items.len(), None, items);
            }
        }
        Err(error) => findings.unverifiable("what is stashed", error),
    }
}

async fn judge_detached(context: &Context, commit: &CommitId, findings: &mut Findings) {
    match context.count_unreferenced(commit).await {
        Ok(0) => {}
        Ok(count) => {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            findings.number(ReasonCode::DetachedCommits, count, Some("on no branch"), vec![commit.short().to_owned()]);
        }
        Err(error) => findings.unverifiable("whether its commits are on a branch", error),
    }
}

async fn judge_submodules(worktree: &Tree, findings: &mut Findings) {
    match worktree.load_unpushed_submodules().await {
        Ok(names) => findings.count(ReasonCode::SubmoduleUnpushed, names),
        Err(error) => findings.unverifiable("what its submodules hold", error),
    }
}
