//! The archives of a home: what they take, and which of them are kept no longer by `cleanup.archive_for` and
//! `cleanup.archive_quota`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{Timestamp, Workspace, WorkspaceId};

use super::erasable::removed_at;
use crate::home::layout::Home;
use crate::{Engine, Error, Result};

const END: &str = ".tar.zst";
const RESTORED_END: &str = ".restored.tar.zst";
const PARTIAL_END: &str = ".tar.partial";

/// How many rows are asked for at once.
const AT_ONCE: usize = 500;

/// A workspace whose archive is kept no longer, and why.
#[derive(Debug, Clone)]
pub struct ExpiredArchive {
    pub workspace: Workspace,
    pub bytes: u64,
    pub why: Expiry,
}

/// Why an archive is kept no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Older than `cleanup.archive_for`.
    Age,
    /// All archives take more than `cleanup.archive_quota`.
    Quota,
}

/// What the archives of one workspace take.
#[derive(Debug, Clone, Copy, Default)]
struct Archived {
    bytes: u64,
    /// When the newest was written.
    at: Option<Timestamp>,
}

/// Where the archive of a workspace is, or would be.
pub(super) fn archive_file(home: &Home, id: &WorkspaceId) -> PathBuf {
    home.root().join("archives").join(format!("{id}{END}"))
}

/// Where the archive is of a workspace that came back since.
pub(super) fn restored_file(home: &Home, id: &WorkspaceId) -> PathBuf {
    home.root().join("archives").join(format!("{id}{RESTORED_END}"))
}

/// All files that hold something of a workspace and are there: the archive, one that was used already, one that is not whole.
pub(super) fn archive_files(home: &Home, id: &WorkspaceId) -> Vec<PathBuf> {
    let partial = home.root().join("archives").join(format!("{id}{PARTIAL_END}"));
    let mut files = vec![archive_file(home, id), restored_file(home, id), partial];
    files.retain(|file| file.symlink_metadata().is_ok());
    files
}

/// The workspace that a file among the archives is of.
fn workspace_of(file: &Path) -> Option<WorkspaceId> {
    let name = file.file_name()?.to_str()?;
    [RESTORED_END, END].iter().find_map(|end| name.strip_suffix(end))?.parse().ok()
}

impl Engine {
    /// Notes in the store what each archive of the home takes that the store does not know of.
    #[boxed]
    pub async fn note_archives(&self) -> Result<()> {
        let found = self.load_archived()?;
        let noted = self.store.read().await?.archive_sizes(self.home.node()).await?;
        let noted: BTreeMap<_, _> = noted.into_iter().collect();
        let changed = found.iter().filter(|(id, archived)| noted.get(*id) != Some(&archived.bytes));
        let mut news: Vec<_> = changed.map(|(id, archived)| (id, Some(archived.bytes))).collect();
        news.extend(noted.keys().filter(|id| !found.contains_key(*id)).map(|id| (id, None)));
        if news.is_empty() {
            return Ok(());
        }
        let mut db = self.store.write().await?;
        for (id, bytes) in news {
            db.record_archive(id, bytes).await?;
        }
        Ok(db.commit().await?)
    }

    /// The workspaces of this account whose archives are kept no longer, oldest first. Those that are live by now keep theirs
    /// until they are removed again.
    #[boxed]
    pub async fn expired_archives(&self) -> Result<Vec<ExpiredArchive>> {
        let cleanup = &self.config.cleanup;
        let (keep, quota) = (cleanup.archive_for.0, cleanup.archive_quota.0);
        if keep.is_zero() && quota == 0 {
            return Ok(Vec::new());
        }
        let found = self.load_archived()?;
        let mut rows = Vec::new();
        let ids: Vec<&WorkspaceId> = found.keys().collect();
        for ids in ids.chunks(AT_ONCE) {
            rows.extend(self.store.read().await?.workspaces_of_all(ids).await?);
        }
        rows.retain(|row| row.account == self.account && row.node == *self.home.node() && !row.status.is_live());
        let archived_at =
            |row: &Workspace| found.get(&row.id).and_then(|archived| archived.at).unwrap_or(removed_at(row));
        rows.sort_by_key(|row| (archived_at(row), row.id.clone()));
        let bytes_of = |row: &Workspace| found.get(&row.id).map_or(0, |archived| archived.bytes);
        let mut left: u64 = rows.iter().map(bytes_of).sum();
        let now = Timestamp::now();
        let mut due = Vec::new();
        for workspace in rows {
            let bytes = bytes_of(&workspace);
            let is_old = !keep.is_zero() && archived_at(&workspace).plus(keep) <= now;
            // What is in the trash was restored from its archive and removed again: only that older archive is over.
            let is_purged = workspace.status == spinney_core::WorkspaceStatus::Purged;
            if is_purged && (is_old || (quota > 0 && left > quota)) {
                left = left.saturating_sub(bytes);
                due.push(ExpiredArchive { workspace, bytes, why: if is_old { Expiry::Age } else { Expiry::Quota } });
            }
        }
        Ok(due)
    }

    /// What is in the home, by workspace. One that vanishes meanwhile counts no more.
    fn load_archived(&self) -> Result<BTreeMap<WorkspaceId, Archived>> {
        let mut found: BTreeMap<WorkspaceId, Archived> = BTreeMap::new();
        for file in self.archives()? {
            let Some(id) = workspace_of(&file) else { continue };
            let metadata = match fs::symlink_metadata(&file) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::files(&file, "inspected")(error)),
            };
            let archived = found.entry(id).or_default();
            archived.bytes += metadata.blocks() * 512;
            let at = Timestamp::from_millisecond(metadata.mtime().saturating_mul(1000));
            archived.at = archived.at.max(Some(at));
        }
        Ok(found)
    }

    /// What the archives of one workspace take; none where it has none.
    pub(super) fn archived_bytes(&self, workspace: &Workspace) -> Option<u64> {
        let files = archive_files(&self.home, &workspace.id);
        let size = |file: &PathBuf| fs::symlink_metadata(file).map_or(0, |found| found.blocks() * 512);
        (!files.is_empty()).then(|| files.iter().map(size).sum())
    }
}
