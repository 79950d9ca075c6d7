//! Reasons that lie in a workspace's files.

use std::path::{Path, PathBuf};

use spinney_core::{Brought, ReasonCode, STATE_FILE, Workspace, path_text};
use spinney_git::ObjectFormat;

use super::Findings;
use super::hold::Hold;
use crate::Engine;
use crate::create::prepare::copy::{is_as_copied, is_same_as_in_main_checkout};
use crate::error::mend_index;
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::verdict::holdings::{Holdings, Stands};

pub(super) async fn judge_files(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    worktree: &Tree,
    hold: &Hold,
    findings: &mut Findings,
) {
    judge_operation(worktree, findings);
    if is_proved_clean(context, worktree).await {
        return;
    }
    // Git would be found inside the tree.
    hold.load().await;
    let format = ObjectFormat::of(&workspace.base_commit);
    let held = match Holdings::load(context.config(), worktree, format, Stands::InItsPlace).await {
        Ok(held) => held,
        Err(crate::Error::Git(error @ spinney_git::Error::DamagedIndex { .. })) => {
            return findings.add(ReasonCode::Unverifiable, error.to_string(), vec![mend_index(&workspace.path)]);
        }
        Err(error) => return findings.unverifiable("what changed", error.in_full()),
    };
    for opaque in &held.opaque {
        findings.unverifiable("what a repository inside holds", format!("{opaque}; git is not run there"));
    }
    findings.count(ReasonCode::Dirty, shown(&held.dirty));
    findings.count(ReasonCode::Converted, shown(&held.converted));
    let is_state = |path: &Path| path == Path::new(STATE_FILE);
    let copied = load_copied(engine, workspace, &held).await;
    // What was copied, and is still as it was then or as the main checkout has it now, is no loss.
    let carried_over = |path: &Path| {
        let digest = copied.digests.get(&path_text(path));
        digest.is_some_and(|digest| is_as_copied(&workspace.path, path, digest))
            || is_same_as_in_main_checkout(context, &workspace.path, path)
    };
    let is_copy = |path: &Path| copied.has_copied(&path_text(path)) && carried_over(path);
    let untracked: Vec<PathBuf> =
        held.untracked.iter().filter(|path| !is_state(path) && !is_copy(path)).cloned().collect();
    findings.count(ReasonCode::Untracked, shown(&untracked));
    let precious: Vec<PathBuf> =
        held.ignored.iter().filter(|path| !is_state(path) && !carried_over(path)).cloned().collect();
    findings.count(ReasonCode::PreciousIgnored, shown(&precious));
    judge_repositories(worktree, held, findings);
}

/// What Spinney copied into a workspace, where that matters. A base that does not ignore it leaves it untracked.
async fn load_copied(engine: &Engine, workspace: &Workspace, held: &Holdings) -> Brought {
    if held.untracked.is_empty() && held.ignored.is_empty() {
        return Brought::default();
    }
    let Ok(mut db) = engine.store.read().await else { return Brought::default() };
    db.brought(&workspace.id).await.ok().flatten().unwrap_or_default()
}

/// Repositories inside, but for submodules: those are asked for their commits where git keeps them.
fn judge_repositories(worktree: &Tree, held: Holdings, findings: &mut Findings) {
    let mut nested = held.repositories;
    nested.extend(held.git_dirs.iter().filter_map(|path| path.parent()).map(Path::to_owned));
    nested.extend(held.submodules.into_iter().filter(|path| !worktree.is_own_submodule(path)));
    nested.sort();
    nested.dedup();
    findings.count(ReasonCode::NestedRepository, shown(&nested));
}

/// Whether the files are those of HEAD, and nothing else is there, not even what is ignored. Without a proof of that,
/// nothing is known, and git is asked.
async fn is_proved_clean(context: &Context, worktree: &Tree) -> bool {
    let Ok(head) = worktree.load_head().await else { return false };
    let Some(commit) = head.commit() else { return false };
    let look = worktree.prove_clean(ObjectFormat::of(commit));
    let (proof, committed) = tokio::join!(look, context.load_tree(commit));
    matches!((proof, committed), (Some(proof), Ok(tree)) if proof.tree().to_string() == tree)
}

/// What git was about to do, judged by files alone: the tree need not be there.
pub(super) fn judge_operation(worktree: &Tree, findings: &mut Findings) {
    if let Some(operation) = worktree.load_operation_in_progress() {
        findings.add(ReasonCode::OperationInProgress, operation, Vec::new());
    }
    if worktree.has_index_lock() {
        let detail = "`index.lock` is there: a git command runs in it, or died";
        findings.add(ReasonCode::OperationInProgress, detail, Vec::new());
    }
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}
