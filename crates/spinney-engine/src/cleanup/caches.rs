//! Reclaims what can be made again: ignored directories with a cache's name, in workspaces that nobody uses.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use spinney_core::config::Config;
use spinney_core::{Workspace, WorkspaceStatus};
use spinney_git::{StatusOptions, find_repositories};

use crate::home::disk;
use crate::repositories::context::Context;
use crate::trash::size_on_disk;
use crate::tree::{Opened, move_if_there, open, trash_place};
use crate::{Engine, Error, Result};

/// What was reclaimed of one workspace; with a dry run, what would be.
#[derive(Debug, Clone)]
pub struct CleanedCaches {
    pub workspace: Workspace,
    pub directories: Vec<PathBuf>,
    pub bytes: u64,
}

/// How the name of a cache begins that was moved aside to be deleted, before the id of its workspace.
pub(crate) const CACHE: &str = "cache-";

/// Whether an ignored path is itself a directory that can be made again: a real one, with a cache's name. What lies in a
/// directory of that name beside files that git has is work like any other.
pub(crate) fn is_cache(config: &Config, tree: &Path, path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| has_cache_name(config, name));
    named && tree.join(path).symlink_metadata().is_ok_and(|found| found.is_dir())
}

pub(super) fn has_cache_name(config: &Config, name: &OsStr) -> bool {
    config.cleanup.caches.iter().any(|cache| name == cache.as_str())
}

impl Engine {
    /// Drops the caches of one idle workspace; `None` when it has none or is in use.
    pub(super) async fn clean_caches(
        &self,
        context: &Context,
        workspace: &Workspace,
        dry_run: bool,
    ) -> Result<Option<CleanedCaches>> {
        let Opened::Whole(worktree) = open(context, workspace) else { return Ok(None) };
        let runs = self.store.read().await?.running_job_in(&workspace.id).await?.is_some();
        let idle = || self.executor(Some(workspace)).inside(&workspace.path).is_empty();
        if workspace.status != WorkspaceStatus::Active || runs || !idle() {
            return Ok(None);
        }
        let status = worktree.load_status(&StatusOptions { untracked: true, ignored: true }).await?;
        let mut cleaned = CleanedCaches { workspace: workspace.clone(), directories: Vec::new(), bytes: 0 };
        for path in status.ignored.into_iter().map(|entry| entry.path) {
            let whole = workspace.path.join(&path);
            if !self.is_droppable(&workspace.path, &path)? {
                continue;
            }
            cleaned.bytes += size_on_disk(&whole).map_err(Error::files(&whole, "measured"))?;
            if !dry_run {
                self.drop_cache(workspace, &whole, cleaned.directories.len())?;
            }
            cleaned.directories.push(path);
        }
        Ok((!cleaned.directories.is_empty()).then_some(cleaned))
    }

    /// Whether an ignored path is a cache by its own name, a real directory, and holds no repository and no mount.
    fn is_droppable(&self, tree: &Path, path: &Path) -> Result<bool> {
        let whole = tree.join(path);
        if !is_cache(&self.config, tree, path) {
            return Ok(false);
        }
        let nested = find_repositories(tree, path)?;
        let mounts = disk::mounts_inside(&whole).map_err(Error::files(&whole, "inspected"))?;
        Ok(nested.is_empty() && mounts.is_empty())
    }

    /// Renames a cache out of the tree, then deletes it: a build that starts meanwhile sees it whole or not at all.
    fn drop_cache(&self, workspace: &Workspace, directory: &Path, number: usize) -> Result<()> {
        let aside = trash_place(&self.home, &workspace.path, &format!("{CACHE}{}-{number}", workspace.id));
        disk::delete_moved_aside(&aside).map_err(Error::files(&aside, "deleted"))?;
        move_if_there(directory, &aside)?;
        disk::delete_moved_aside(&aside).map_err(Error::files(&aside, "deleted"))
    }
}
