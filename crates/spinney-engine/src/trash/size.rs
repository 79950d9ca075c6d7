//! How much a directory takes on disk.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use crate::home::walk::{Step, walk};

/// How many entries are measured between two looks at the clock.
const LOOK_EVERY: u64 = 64;

/// Bytes that a directory and all below it take; follows no link, and stays on one file system.
pub(crate) fn size_on_disk(directory: &Path) -> io::Result<u64> {
    Ok(size_on_disk_until(directory, None)?.unwrap_or_default())
}

/// The same, but none when it is not done by the deadline.
pub(crate) fn size_on_disk_until(directory: &Path, deadline: Option<Instant>) -> io::Result<Option<u64>> {
    let top = fs::symlink_metadata(directory)?;
    let mut bytes = top.blocks() * 512;
    if !top.is_dir() {
        return Ok(Some(bytes));
    }
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    if is_late() {
        return Ok(None);
    }
    let mut seen = 0_u64;
    let whole = walk(directory, |entry| {
        seen += 1;
        if seen.is_multiple_of(LOOK_EVERY) && is_late() {
            return Ok(Step::Stop);
        }
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Step::Pass),
            Err(error) => return Err(error),
        };
        bytes += metadata.blocks() * 512;
        Ok(if metadata.dev() == top.dev() { Step::Enter } else { Step::Pass })
    })?;
    Ok(whole.then_some(bytes))
}
