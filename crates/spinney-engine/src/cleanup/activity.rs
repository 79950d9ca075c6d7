//! When somebody last did something in a workspace: the store's word, commits, and files.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::{Timestamp, Workspace};

use super::caches::has_cache_name;
use crate::home::walk::{Step, walk};
use crate::repositories::context::Context;
use crate::tree::{Opened, open};
use crate::{Engine, Result};

/// Whether what happens in directories that can be made again counts as activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    Count,
    DoNotCount,
}

impl Engine {
    /// Whether nothing happened in a workspace since a point in time.
    #[boxed]
    pub async fn is_quiet_since(
        &self,
        context: &Context,
        workspace: &Workspace,
        since: Timestamp,
        caches: Caches,
    ) -> Result<bool> {
        Ok(self.activity_since(context, workspace, since, caches)?.is_none())
    }

    /// When something happened in a workspace after a point in time: by the store, or by what its files and git's record say
    /// of their content and of themselves (mtime and ctime). Looks at files only when all else is quiet, and stops at the
    /// first that is newer: there may be newer ones. A tree that can't be read is not known to be quiet.
    pub(crate) fn activity_since(
        &self,
        context: &Context,
        workspace: &Workspace,
        since: Timestamp,
        caches: Caches,
    ) -> Result<Option<Timestamp>> {
        if workspace.last_activity_at > since {
            return Ok(Some(workspace.last_activity_at));
        }
        let Opened::Whole(worktree) = open(context, workspace) else { return Ok(None) };
        // HEAD's log and the index move with every commit, checkout and add.
        for name in ["logs/HEAD", "index", "HEAD"] {
            let file = worktree.admin_dir().join(name);
            let changed = fs::metadata(&file).ok().map(|metadata| changed_at(&metadata));
            if let Some(changed) = changed.filter(|changed| *changed > since) {
                return Ok(Some(changed));
            }
        }
        Ok(self.find_newer(&workspace.path, since, caches).unwrap_or_else(|_| Some(Timestamp::now())))
    }

    fn find_newer(&self, directory: &Path, since: Timestamp, caches: Caches) -> io::Result<Option<Timestamp>> {
        let is_passed = |name: &OsStr| caches == Caches::DoNotCount && has_cache_name(&self.config, name);
        // A cache that is reclaimed is taken out of the directory itself.
        let mut newer =
            Some(changed_at(&fs::symlink_metadata(directory)?)).filter(|at| caches == Caches::Count && *at > since);
        if newer.is_none() {
            walk(directory, |entry| {
                let changed = changed_at(&entry.metadata()?);
                if changed > since {
                    newer = Some(changed);
                    return Ok(Step::Stop);
                }
                Ok(if is_passed(&entry.file_name()) { Step::Pass } else { Step::Enter })
            })?;
        }
        Ok(newer)
    }
}

/// When a file's content changed, or what the file system notes of it, rounded up.
fn changed_at(metadata: &Metadata) -> Timestamp {
    let at = (metadata.mtime(), metadata.mtime_nsec()).max((metadata.ctime(), metadata.ctime_nsec()));
    Timestamp::from_millisecond(at.0.saturating_mul(1000).saturating_add((at.1 + 999_999) / 1_000_000))
}
