//! What a person has to look at before a push: commits with a file that Spinney copied, and a branch that lost commits.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::{Brought, CommitId, Dropped, DroppedCommit, HeldFile, Workspace, path_text};
use spinney_engine::{Context, Copies, Engine, Tree, tip_ref};
use spinney_git::{Added, Head, ObjectFormat};

use super::shown;
use crate::Result;

/// How many files are named.
const MAX_TOLD: usize = 100;

/// Commits that are safe without the branch.
pub(crate) fn safe_commits(workspace: &Workspace) -> Vec<CommitId> {
    let pushed = workspace.metadata.pushed_commit.clone();
    [workspace.base_commit.clone()].into_iter().chain(pushed).collect()
}

/// Finds the files that Spinney copied into any workspace of the repository, in the commits that a push would bring to the
/// remote: by their paths, and by what was ever in them.
///
/// 1. Without a push, or where Spinney's own record says that the remote has the base, the commits above the base are
///    looked at. Nothing is found: that is the answer, and no network was needed.
/// 2. Else the remote is asked what it has, and all other commits are looked at, those below the base too.
///
/// What a person accepted is not looked at again.
pub(crate) async fn find_copied(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    commit: &CommitId,
    copies: &Copies,
    is_pushed: bool,
) -> Result<Vec<HeldFile>> {
    let base = &workspace.base_commit;
    if !copies.anywhere.has_copies() || commit == base {
        return Ok(Vec::new());
    }
    let mut known = context.load_commits_here(&copies.anywhere.accepted).await?;
    known.extend(workspace.metadata.pushed_commit.clone());
    let is_noted = !is_pushed || leads_to(context, &engine.fetched_tips(context).await?, base).await?;
    if is_noted || leads_to(context, &known, base).await? {
        known.push(base.clone());
        let found = find_beyond(context, commit, &known, &copies.beyond_base).await?;
        if found.is_empty() || !is_pushed {
            return Ok(told(found));
        }
    }
    known.extend(engine.remote_tips_with_base(context, workspace.base_branch.as_ref()).await?);
    let is_base_there = leads_to(context, &known, base).await?;
    let secrets = if is_base_there { &copies.beyond_base } else { &copies.anywhere };
    let found = find_beyond(context, commit, &known, secrets).await?;
    note_contents(engine, workspace, &found, &copies.anywhere).await?;
    Ok(told(found))
}

/// Notes what is in files that were found by their paths: from here on they are found under any other too.
async fn note_contents(engine: &Engine, workspace: &Workspace, found: &[Added], anywhere: &Brought) -> Result<()> {
    let empty = ObjectFormat::of(&workspace.base_commit).name_of_blob(b"");
    let files = found.iter().map(|added| (added.blob.clone(), path_text(&added.path)));
    let is_news = |(blob, path): &(String, String)| {
        *blob != empty && anywhere.copied.contains(path) && !anywhere.contents.contains_key(blob)
    };
    let contents: BTreeMap<_, _> = files.filter(is_news).collect();
    if !contents.is_empty() {
        engine.record_contents(workspace, contents).await?;
    }
    Ok(())
}

async fn leads_to(context: &Context, tips: &[CommitId], commit: &CommitId) -> Result<bool> {
    Ok(tips.contains(commit) || context.count_missing(commit, tips).await?.count == 0)
}

async fn find_beyond(
    context: &Context,
    commit: &CommitId,
    known: &[CommitId],
    secrets: &Brought,
) -> Result<Vec<Added>> {
    let mut added = context.load_added(commit, known).await?;
    added.retain(|file| secrets.has_copied(&path_text(&file.path)) || secrets.contents.contains_key(&file.blob));
    Ok(added)
}

fn told(found: Vec<Added>) -> Vec<HeldFile> {
    let mut files: Vec<HeldFile> = Vec::new();
    for Added { commit, path, .. } in found {
        let path = shown(&path);
        if files.len() < MAX_TOLD && !files.iter().any(|known| known.path == path) {
            files.push(HeldFile { commit, path });
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Commits of a branch that are not on it any more, and that no remote has, with the tips that had them.
pub(crate) async fn find_dropped(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    tree: &Tree,
    tips: BTreeSet<CommitId>,
) -> Result<Option<(Dropped, BTreeSet<CommitId>)>> {
    let head = tree.load_head().await?;
    let mut kept = safe_commits(workspace);
    kept.extend(head.commit().cloned());
    if matches!(head, Head::Detached { .. }) {
        kept.extend(tree.load_branch(&workspace.branch).await?);
    }
    let mut is_asked = false;
    let mut dropped = Dropped { refs: Vec::new(), count: 0, commits: Vec::new() };
    let mut from = BTreeSet::new();
    for tip in tips {
        let mut missing = context.count_missing(&tip, &kept).await?;
        if missing.count > 0 && !is_asked {
            is_asked = true;
            // A remote that gives no answer has nothing for sure.
            kept.extend(engine.remote_tips(context).await.unwrap_or_default());
            missing = context.count_missing(&tip, &kept).await?;
        }
        if missing.count == 0 {
            continue;
        }
        dropped.refs.push(tip_ref(workspace, &tip));
        dropped.count += missing.count;
        let commit = |(commit, subject)| DroppedCommit { commit, subject };
        dropped.commits.extend(missing.first.into_iter().map(commit));
        kept.push(tip.clone());
        from.insert(tip);
    }
    Ok((!from.is_empty()).then_some((dropped, from)))
}
