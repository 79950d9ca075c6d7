//! Which content of a file was read: whoever replaces or rewrites the file changes its stamp.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    /// None where there is no such file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|found| Self::from_metadata(&found))
    }

    pub(crate) fn from_metadata(found: &fs::Metadata) -> Self {
        Self { inode: found.ino(), size: found.size(), seconds: found.mtime(), nanoseconds: found.mtime_nsec() }
    }
}
