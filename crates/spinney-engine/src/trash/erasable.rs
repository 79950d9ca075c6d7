//! What an erasure would delete, told before it does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{CommitId, Workspace, WorkspaceId};
use spinney_git::BUNDLE;

use super::archive;
use super::archives::archive_files;
use super::erase::require_erasable;
use super::purge::PurgeData;
use super::size::size_on_disk;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree;
use crate::{Engine, Result};

/// How many commits are named.
const NAMED: usize = 5;

/// What is left of a workspace, and would be gone for good.
#[derive(Debug, Clone)]
pub struct Erasable {
    pub workspace: Workspace,
    /// What git does not have, as paths in the tree; none where that can't be told, and all of it counts.
    pub files: Option<Vec<PathBuf>>,
    /// Those of them that are repositories of their own, submodules too: what they have committed would be gone, and is not
    /// counted.
    pub repositories: Vec<PathBuf>,
    /// How many commits no branch, tag or other ref leads to that stays.
    pub commits: u64,
    /// The newest of them, each with its subject.
    pub newest: Vec<(CommitId, String)>,
    /// Whether a bundle beside its files has its commits, and no ref in the repository any more.
    pub is_bundled: bool,
    /// What all of it takes on disk.
    pub bytes: u64,
    /// The archives that hold some of it.
    pub archives: Vec<PathBuf>,
    /// Whether its branch is there, which stays.
    pub has_branch: bool,
}

impl Engine {
    /// Looks at what is left of a workspace in the trash, or purged from it, if all of `erased` goes with it. Changes nothing.
    #[boxed]
    pub async fn load_erasable(
        &self,
        context: &Context,
        workspace: &Workspace,
        erased: &BTreeSet<WorkspaceId>,
    ) -> Result<Erasable> {
        require_erasable(workspace)?;
        self.require_trash_there(context, workspace)?;
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        let archives = archive_files(&self.home, &workspace.id);
        let size = |place: &PathBuf| size_on_disk(place).unwrap_or(0);
        let bytes = archives.iter().chain([&tree, &admin_dir]).map(size).sum();
        let (files, repositories, has_bundle) = if tree.exists() {
            let has_bundle = admin_dir.join(BUNDLE).exists();
            let data = PurgeData { tree, admin_dir };
            let files = match data.admin_dir.exists() {
                true => self.own_of(context, workspace, &data).await.ok().and_then(|own| own.in_part()),
                false => None,
            };
            let is_repository = |path: &&PathBuf| is_repository(|inner| data.tree.join(path).join(inner).exists());
            let repositories = files.iter().flatten().filter(is_repository).cloned().collect();
            (files, repositories, has_bundle)
        } else {
            let read = |place: &PathBuf| archive::verify(place).ok();
            let manifests: Vec<Option<_>> = archives.iter().map(read).collect();
            let has_bundle = manifests.iter().flatten().any(|manifest| manifest.has_of_admin_dir(BUNDLE));
            let files: BTreeSet<PathBuf> =
                manifests.iter().flatten().flat_map(archive::Manifest::contents_of_tree).collect();
            let roots: BTreeSet<&Path> = files.iter().flat_map(|path| path.ancestors().skip(1)).collect();
            let is_there = |path: &Path| files.contains(path) || roots.contains(path);
            let candidates =
                roots.iter().copied().filter(|root| !root.as_os_str().is_empty() && !root.ends_with(".git"));
            let repositories = candidates
                .filter(|root| is_repository(|inner| is_there(&root.join(inner))))
                .map(Path::to_owned)
                .collect();
            let is_told = manifests.iter().all(|manifest| manifest.as_ref().is_some_and(|manifest| !manifest.whole));
            (is_told.then(|| files.into_iter().collect()), repositories, has_bundle)
        };
        let spaces = tree::kept_refs(&workspace.id);
        let refs = context.load_refs_below(&spaces.each_ref().map(String::as_str)).await?;
        let others: Vec<String> = erased.iter().filter(|id| **id != workspace.id).flat_map(tree::kept_refs).collect();
        let go_too = match others.is_empty() {
            // Without a name all refs would be listed.
            true => Vec::new(),
            false => context.load_refs_below(&others.iter().map(String::as_str).collect::<Vec<_>>()).await?,
        };
        let only_here = context.load_only_in(&refs, &go_too, NAMED).await?;
        let has_branch = context.load_branch(&workspace.branch).await?.is_some();
        let (commits, newest) = (only_here.count, only_here.newest);
        let workspace = workspace.clone();
        let is_bundled = has_bundle && refs.is_empty();
        Ok(Erasable { workspace, files, repositories, commits, newest, is_bundled, bytes, archives, has_branch })
    }

    /// Lists what was removed before a time and is not erased yet, oldest first.
    #[boxed]
    pub async fn removed_before(
        &self,
        repository: Option<&spinney_core::RepositoryId>,
        before: spinney_core::Timestamp,
    ) -> Result<Vec<Workspace>> {
        let mut rows = self.workspaces(repository, Among::Removed).await?;
        rows.retain(|row| row.metadata.erased.is_none() && removed_at(row) < before);
        rows.sort_by_key(removed_at);
        Ok(rows)
    }
}

/// Whether a directory, by what is in it, is a repository or a submodule.
fn is_repository(has: impl Fn(&str) -> bool) -> bool {
    has(".git") || (has("HEAD") && has("objects") && has("refs"))
}

/// When it was removed; rows of older versions tell only when it was last used.
pub(super) fn removed_at(workspace: &Workspace) -> spinney_core::Timestamp {
    workspace.removed_at.unwrap_or(workspace.last_activity_at)
}
