//! How much a directory takes on disk.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

/// Bytes that a directory and all below it take; follows no link, and stays on one file system.
pub(crate) fn size_on_disk(directory: &Path) -> io::Result<u64> {
    Ok(size_on_disk_until(directory, None)?.unwrap_or_default())
}

/// The same, but none when it is not done by the deadline.
pub(crate) fn size_on_disk_until(directory: &Path, deadline: Option<Instant>) -> io::Result<Option<u64>> {
    let top = fs::symlink_metadata(directory)?;
    if !top.is_dir() {
        return Ok(Some(top.blocks() * 512));
    }
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Ok(None);
    }
    let mut bytes = top.blocks() * 512;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if metadata.is_dir() && metadata.dev() == top.dev() {
            match size_on_disk_until(&entry.path(), deadline)? {
                Some(below) => bytes += below,
                None => return Ok(None),
            }
        } else {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(Some(bytes))
}
