//! Small files of the home that belong to nothing any more: each is made for something that has a row, or is locked by somebody,
//! and a death between the two leaves it behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use async_recursion::async_recursion as boxed;
use spinney_core::{OperationId, OperationStatus, RepositoryId};
use spinney_store::Ownable;

use crate::{Engine, Result};

/// Younger ones may still be somebody's.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

impl Engine {
    /// Deletes what belongs to nothing: locks of operations, records of pools and repositories, and links that lead nowhere.
    /// Tells how many files went.
    #[boxed]
    pub async fn sweep_leftovers_of_home(&self) -> Result<u64> {
        let root = self.home.root();
        let mut gone = 0;
        for file in old_files(&self.home.operations()) {
            gone += u64::from(self.drop_lock_of_operation(&file).await?);
        }
        for file in old_files(&root.join("pools")).into_iter().chain(old_files(&root.join("settings"))) {
            let Some(id) = name(&file).and_then(|name| name.split('.').next()?.parse::<RepositoryId>().ok()) else {
                continue;
            };
            if self.store.read().await?.repository(self.home.node(), &id).await?.is_none() {
                gone += u64::from(fs::remove_file(&file).is_ok());
            }
        }
        for link in links_below(&root.join("links"), 3) {
            let Ok(target) = fs::read_link(&link) else { continue };
            let is_known = self.store.read().await?.workspace_at(self.home.node(), &target).await?.is_some();
            if !is_known && target.symlink_metadata().is_err() {
                gone += u64::from(fs::remove_file(&link).is_ok());
            }
        }
        Ok(gone)
    }

    async fn drop_lock_of_operation(&self, file: &Path) -> Result<bool> {
        let Some(id) = name(file) else { return Ok(false) };
        // One that did not get its name yet is its maker's, who is dead: it lives for a moment.
        if let Some(id) = id.strip_prefix('.') {
            return Ok(id.parse::<OperationId>().is_ok() && fs::remove_file(file).is_ok());
        }
        let Ok(id) = id.parse::<OperationId>() else { return Ok(false) };
        let Some(owned) = self.ownership.take(Ownable::Operation(id.clone()))? else { return Ok(false) };
        let row = self.store.read().await?.operation(&id).await?;
        if row.is_some_and(|row| row.status == OperationStatus::Open) {
            return Ok(false);
        }
        owned.discard();
        Ok(true)
    }
}

/// The files of a directory that are old enough to be judged.
#[must_use]
pub fn old_files(directory: &Path) -> Vec<PathBuf> {
    let is_old = |entry: &fs::DirEntry| {
        let modified = entry.metadata().ok().filter(fs::Metadata::is_file).and_then(|found| found.modified().ok());
        modified.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > OLD)
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(is_old).map(|entry| entry.path()).collect()
}

fn name(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()
}

/// The links so many directories below a place.
fn links_below(place: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() && depth == 0 {
            found.push(entry.path());
        } else if kind.is_dir() && depth > 0 {
            found.extend(links_below(&entry.path(), depth - 1));
        }
    }
    found
}
