//! What a person has to look at before a push: commits with a file that Spinney copied, and a branch that lost commits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use spinney_core::{Brought, CommitId, Dropped, DroppedCommit, HeldFile, Workspace, path_text, text_path};
use spinney_engine::{Context, Engine, Tree, tip_ref};
use spinney_git::{Head, ObjectFormat};

use super::shown;
use crate::Result;

/// How many files are named.
const MAX_TOLD: usize = 100;
/// Of a copied file that is larger, other line ends are not thought of.
const MAX_CONTENT_BYTES: u64 = 64 << 20;

/// What is known of the files that Spinney copied into a workspace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copies<'a> {
    pub brought: &'a Brought,
    /// Their contents by git's name for them.
    pub contents: &'a BTreeMap<String, String>,
}

/// Commits that are safe without the branch.
pub(crate) fn safe_commits(workspace: &Workspace) -> Vec<CommitId> {
    let pushed = workspace.metadata.pushed_commit.clone();
    [workspace.base_commit.clone()].into_iter().chain(pushed).collect()
}

/// Git's names for what was copied. What is empty, or what the base has too, tells nothing.
pub(crate) async fn contents_of(
    context: &Context,
    workspace: &Workspace,
    brought: &Brought,
) -> Result<BTreeMap<String, String>> {
    let format = ObjectFormat::of(&workspace.base_commit);
    let mut contents = BTreeMap::new();
    for path in &brought.copied {
        let file = workspace.path.join(text_path(path));
        let Ok(found) = fs::symlink_metadata(&file) else { continue };
        let names = match found.len() {
            0 => continue,
            _ if !found.is_file() => continue,
            bytes if bytes <= MAX_CONTENT_BYTES => {
                spinney_git::read_regular(&file, MAX_CONTENT_BYTES).map(|bytes| format.names_of_copy(&bytes))
            }
            _ => tokio::task::spawn_blocking(move || format.names_of_large_copy(&file))
                .await
                .unwrap_or_else(|error| Err(std::io::Error::other(error))),
        };
        contents.extend(names.into_iter().flatten().map(|name| (name, path.clone())));
    }
    if !contents.is_empty() {
        let known = context.load_blobs(&workspace.base_commit).await?;
        contents.retain(|content, _| !known.contains(content));
    }
    Ok(contents)
}

/// The copied files that commits have which the remote does not have: by their paths, and by what was in them.
pub(crate) async fn find_copied(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    commit: &CommitId,
    copies: Copies<'_>,
) -> Result<Vec<HeldFile>> {
    let mut known = safe_commits(workspace);
    let found = find_copied_beyond(context, commit, &known, copies).await?;
    if found.is_empty() {
        return Ok(found);
    }
    known.extend(engine.remote_tips(context).await?);
    find_copied_beyond(context, commit, &known, copies).await
}

async fn find_copied_beyond(
    context: &Context,
    commit: &CommitId,
    known: &[CommitId],
    copies: Copies<'_>,
) -> Result<Vec<HeldFile>> {
    let Copies { brought, contents } = copies;
    if contents.is_empty() && brought.copied.is_empty() && brought.directories.is_empty() {
        return Ok(Vec::new());
    }
    let mut found: Vec<HeldFile> = Vec::new();
    for added in context.load_added(commit, known).await? {
        let is_copied = brought.has_copied(&path_text(&added.path));
        let path = shown(&added.path);
        if (is_copied || contents.contains_key(&added.blob))
            && found.len() < MAX_TOLD
            && !found.iter().any(|known| known.path == path)
        {
            found.push(HeldFile { commit: added.commit, path });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
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
