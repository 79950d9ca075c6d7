//! When somebody last did something in a workspace: the store's word, commits, and files.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use spinney_core::{Timestamp, Workspace};

use super::caches::has_cache_name;
use crate::context::Context;
use crate::tree::{Opened, open};
use crate::walk::{Step, walk};
use crate::{Engine, Result};

impl Engine {
    /// Whether nothing happened in a workspace since a point in time. Looks at files only when all else is quiet, and
    /// stops at the first that is newer.
    pub(super) async fn is_quiet_since(
        &self,
        context: &Context,
        workspace: &Workspace,
        since: Timestamp,
    ) -> Result<bool> {
        if workspace.last_activity_at > since {
            return Ok(false);
        }
        let Opened::Whole(worktree) = open(context, workspace) else { return Ok(true) };
        let since = to_system(since);
        // HEAD's log and the index move with every commit, checkout and add.
        for name in ["logs/HEAD", "index", "HEAD"] {
            if is_newer(&worktree.admin_dir().join(name), since) {
                return Ok(false);
            }
        }
        // A tree that can't be read is not known to be quiet.
        Ok(!self.has_newer_file(&workspace.path, since).unwrap_or(true))
    }

    fn has_newer_file(&self, directory: &Path, since: SystemTime) -> io::Result<bool> {
        let looked_at_all = walk(directory, |entry| {
            Ok(match entry.metadata()?.modified()? {
                modified if modified > since => Step::Stop,
                _ if has_cache_name(&self.config, &entry.file_name()) => Step::Pass,
                _ => Step::Enter,
            })
        })?;
        Ok(!looked_at_all)
    }
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    fs::metadata(path).and_then(|metadata| metadata.modified()).is_ok_and(|modified| modified > since)
}

fn to_system(at: Timestamp) -> SystemTime {
    let millis = u64::try_from(at.as_millisecond()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(millis)
}
