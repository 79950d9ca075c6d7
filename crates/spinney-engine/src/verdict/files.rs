//! Reasons that lie in a workspace's files.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::{ReasonCode, STATE_FILE, Workspace};
use spinney_git::{ObjectFormat, StatusOptions, Worktree};

use super::Findings;
use super::hold::Hold;
use crate::cleanup::is_cache;
use crate::context::Context;
use crate::error::mend_index;
use crate::prepare::copy::is_same_as_in_main_checkout;

pub(super) async fn judge_files(
    context: &Context,
    workspace: &Workspace,
    worktree: &Worktree,
    hold: &Hold,
    findings: &mut Findings,
) {
    judge_operation(worktree, findings);
    if is_proved_clean(context, worktree).await {
        return;
    }
    // Git would be found inside the tree.
    hold.load().await;
    let everything = StatusOptions { untracked: true, ignored: true };
    let (status, hidden, links) =
        tokio::join!(worktree.load_status(&everything), worktree.load_hidden_edits(), worktree.load_gitlinks());
    let status = match status {
        Ok(status) => status,
        Err(error @ spinney_git::Error::DamagedIndex { .. }) => {
            return findings.add(ReasonCode::Unverifiable, error.to_string(), vec![mend_index(&workspace.path)]);
        }
        Err(error) => return findings.unverifiable("what changed", error),
    };
    let mut dirty: Vec<PathBuf> = status.changes.into_iter().map(|change| change.path).collect();
    match hidden {
        Ok(hidden) => dirty.extend(hidden),
        Err(error) => findings.unverifiable("which edits are hidden from git", error),
    }
    dirty.sort();
    dirty.dedup();
    findings.count(ReasonCode::Dirty, "file", shown(&dirty));

    let paths = |entries: Vec<spinney_git::Entry>| entries.into_iter().map(|entry| entry.path);
    let (nested, untracked): (Vec<_>, Vec<_>) =
        paths(status.untracked).partition(|path| is_repository(&workspace.path.join(path)));
    let untracked: Vec<_> = untracked.into_iter().filter(|path| path != Path::new(STATE_FILE)).collect();
    findings.count(ReasonCode::Untracked, "file", shown(&untracked));

    let mut nested = nested;
    match links {
        // A submodule's repository lies in the admin dir, and is asked for its commits there.
        Ok(links) => nested.extend(links.into_iter().filter(|link| workspace.path.join(link).join(".git").is_dir())),
        Err(error) => findings.unverifiable("which repositories lie in it", error),
    }
    let mut precious = Vec::new();
    for path in paths(status.ignored) {
        let whole = workspace.path.join(&path);
        if whole.is_dir()
            && !whole.is_symlink()
            && let Err(error) = find_repositories(&workspace.path, &path, &mut nested)
        {
            findings.unverifiable(&format!("what lies in `{}`", path.display()), error);
        }
        let carried_over = || is_same_as_in_main_checkout(context, &workspace.path, &path);
        if path != Path::new(STATE_FILE) && !is_cache(context.config(), &workspace.path, &path) && !carried_over() {
            precious.push(path);
        }
    }
    findings.count(ReasonCode::PreciousIgnored, "file", shown(&precious));
    nested.sort();
    nested.dedup();
    let items = shown(&nested);
    if !items.is_empty() {
        let detail = if items.len() == 1 { "1 repository".to_owned() } else { format!("{} repositories", items.len()) };
        findings.add(ReasonCode::NestedRepository, detail, items);
    }
}

/// Whether the files are those of HEAD, and nothing else is there, not even what is ignored. Without a proof of that,
/// nothing is known, and git is asked.
async fn is_proved_clean(context: &Context, worktree: &Worktree) -> bool {
    let Ok(head) = worktree.load_head().await else { return false };
    let Some(commit) = head.commit() else { return false };
    let (tree, format) = (worktree.clone(), ObjectFormat::of(commit));
    let look = tokio::task::spawn_blocking(move || tree.prove_clean(format));
    let (proof, committed) = tokio::join!(look, context.git.load_tree(commit));
    matches!((proof, committed), (Ok(Some(proof)), Ok(tree)) if proof.tree().to_string() == tree)
}

/// What git was about to do, judged by files alone: the tree need not be there.
pub(super) fn judge_operation(worktree: &Worktree, findings: &mut Findings) {
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

fn is_repository(path: &Path) -> bool {
    path.is_dir() && path.join(".git").symlink_metadata().is_ok()
}

/// Walks an ignored directory, which `git status` does not enter, for repositories; follows no link.
pub(crate) fn find_repositories(tree: &Path, directory: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let whole = tree.join(directory);
    if is_repository(&whole) {
        found.push(directory.to_owned());
    }
    for entry in fs::read_dir(&whole)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != ".git" {
            find_repositories(tree, &directory.join(entry.file_name()), found)?;
        }
    }
    Ok(())
}
