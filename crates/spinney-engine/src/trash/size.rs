//! How much a directory takes on disk.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that a directory and all below it take; follows no link, and stays on one file system.
pub(crate) fn size_on_disk(directory: &Path) -> io::Result<u64> {
    let top = fs::symlink_metadata(directory)?;
    if !top.is_dir() {
        return Ok(top.blocks() * 512);
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
            bytes += size_on_disk(&entry.path())?;
        } else {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}
