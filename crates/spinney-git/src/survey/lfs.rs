//! Files that git keeps by a pointer, whose content git-lfs has.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::compare::{each_piece, open};
use crate::index::{BlobHasher, IndexEntry};

/// Where git-lfs keeps contents, unless it is told otherwise.
pub(super) fn objects_of(common_dir: &Path) -> Option<PathBuf> {
    let objects = common_dir.join("lfs").join("objects");
    objects.is_dir().then_some(objects)
}

/// Whether an entry is the pointer to a file's very content, and git-lfs has that content.
pub(super) fn is_kept(path: &Path, bytes: u64, entry: &IndexEntry, objects: Option<&Path>) -> io::Result<bool> {
    let Some(objects) = objects else { return Ok(false) };
    let mut content = Sha256::new();
    each_piece(&mut open(path)?, |piece| {
        content.update(piece);
        Ok(())
    })?;
    let id: String = content.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    // As git-lfs writes it; a pointer in another form is compared as any other file.
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {bytes}\n");
    let mut hasher = BlobHasher::new(entry.id.format(), pointer.len() as u64);
    hasher.update(pointer.as_bytes());
    let kept = objects.join(&id[..2]).join(&id[2..4]).join(&id);
    Ok(hasher.finish() == entry.id && std::fs::symlink_metadata(kept).is_ok_and(|found| found.len() == bytes))
}
