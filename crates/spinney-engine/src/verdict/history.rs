//! Reasons that lie in a workspace's commits.

use spinney_core::{BranchName, CommitId, Evidence, EvidenceKind, Merge, ReasonCode, Workspace};
use spinney_git::{Head, Unpushed};

use super::{Findings, Upstream};
use crate::repositories::context::Context;
use crate::tree::Tree;

/// How many commits are named.
const NAMED: usize = 3;

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
    let merge = load_merge(context, workspace, tip, upstream, Trust::Proof).await;
    if !tell_unmerged(&merge, findings) {
        return merge;
    }
    match count_unpushed(context, workspace, tip).await {
        Ok(unpushed) => tell_unpushed(&unpushed, findings),
        Err(error) => findings.unverifiable("what is pushed", error),
    }
    merge
}

/// The commits that are on no remote. Of a branch without a commit of its own, those that it alone leads to.
async fn count_unpushed(context: &Context, workspace: &Workspace, tip: &CommitId) -> spinney_git::Result<Unpushed> {
    let unpushed = context.count_unpushed(tip, &workspace.base_commit).await?;
    if unpushed.count > 0 {
        return Ok(unpushed);
    }
    let only_here = context.load_only_on(&workspace.branch, tip, NAMED).await?;
    Ok(Unpushed { count: only_here.count, first: only_here.newest })
}

/// Adds why a branch does not count as merged; `false` where it does, or holds nothing.
pub(super) fn tell_unmerged(merge: &Merge, findings: &mut Findings) -> bool {
    match merge {
        Merge::Merged(_) | Merge::Unstarted => false,
        Merge::Unmerged { detail, .. } | Merge::Unknown { detail } => {
            findings.add(ReasonCode::Unmerged, detail.clone(), Vec::new());
            true
        }
    }
}

pub(super) fn tell_unpushed(unpushed: &Unpushed, findings: &mut Findings) {
    if unpushed.count > 0 {
        let items = unpushed.first.iter().map(|(commit, subject)| format!("{} {subject}", commit.short())).collect();
        let count = usize::try_from(unpushed.count).unwrap_or(usize::MAX);
        findings.number(ReasonCode::Unpushed, count, None, items);
    }
}

/// What an answer about a branch rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Git, asked in this process.
    Proof,
    /// That, or what an earlier sweep wrote down.
    Memory,
}

/// How a commit of a workspace stands to base, by its content or by the forge's word.
pub(crate) async fn load_merge(
    context: &Context,
    workspace: &Workspace,
    tip: &CommitId,
    upstream: &Upstream,
    trust: Trust,
) -> Merge {
    let merge = match &upstream.base {
        Some(base) => {
            let asked = match trust {
                Trust::Proof => context.load_merge(tip, base, &workspace.base_commit).await,
                Trust::Memory => context.recall_merge(tip, base, &workspace.base_commit).await,
            };
            asked.unwrap_or_else(|error| Merge::Unknown { detail: error.to_string() })
        }
        None if *tip == workspace.base_commit => Merge::Unstarted,
        None => Merge::Unknown { detail: "its base branch is gone".to_owned() },
    };
    let merge = match merge {
        // Without a commit of its own, its branch may yet be the last that leads to where it began.
        Merge::Unstarted if trust == Trust::Proof && upstream.base.as_ref() != Some(tip) => {
            match context.load_only_on(&workspace.branch, tip, 1).await {
                Ok(only_here) if only_here.count == 0 => Merge::Unstarted,
                Ok(_) => {
                    let detail = "no other branch, tag or remote has the commits that it began with".to_owned();
                    Merge::Unknown { detail }
                }
                Err(error) => Merge::Unknown { detail: error.to_string() },
            }
        }
        merge => merge,
    };
    match &merge {
        Merge::Merged(_) | Merge::Unstarted => merge,
        Merge::Unmerged { .. } | Merge::Unknown { .. } => {
            forge_evidence(context, tip, &upstream.merged_heads).await.map_or(merge, Merge::Merged)
        }
    }
}

/// What a forge merged is merged here too, as far as its head commit goes: what came later is not.
async fn forge_evidence(context: &Context, tip: &CommitId, merged_heads: &[CommitId]) -> Option<Evidence> {
    for head in merged_heads {
        // A head that was never fetched proves nothing.
        if head == tip || context.is_ancestor(tip, head).await.unwrap_or(false) {
            let detail = format!("the forge merged its pull request at `{}`", head.short());
            return Some(Evidence { kind: EvidenceKind::Forge, detail });
        }
    }
    None
}

/// How what HEAD is on stands to base, or the recorded branch where there is no tree; no reason is looked for.
pub(super) async fn merge_of_head(
    context: &Context,
    workspace: &Workspace,
    worktree: Option<&Tree>,
    upstream: &Upstream,
) -> Merge {
    let tip = match worktree {
        Some(worktree) => worktree.load_head().await.map(|head| head.commit().cloned()),
        None => context.load_branch(&workspace.branch).await,
    };
    match tip {
        Ok(Some(tip)) => load_merge(context, workspace, &tip, upstream, Trust::Memory).await,
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
