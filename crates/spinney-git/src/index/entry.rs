//! One tracked path.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{FileStat, ObjectId};

/// What git wants at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexMode {
    File,
    Executable,
    Link,
    Submodule,
}

impl IndexMode {
    pub(crate) fn read(mode: u32) -> Option<Self> {
        match mode {
            0o100_644 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            _ => None,
        }
    }
}

/// A path that the index has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// Relative to the tree; its parts are names, never `..` or `.git`.
    pub path: Box<[u8]>,
    pub id: ObjectId,
    pub mode: IndexMode,
    pub stat: FileStat,
    /// 0 unless there is a conflict.
    pub stage: u8,
    pub assume_valid: bool,
    pub skip_worktree: bool,
    pub intent_to_add: bool,
    /// Where its stat data begins in the index's bytes.
    pub stat_offset: usize,
}

impl IndexEntry {
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Whether it stands for exactly one content, which a file in the tree is to have.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let marked = self.assume_valid || self.skip_worktree || self.intent_to_add;
        self.stage == 0 && !marked && self.mode != IndexMode::Submodule
    }

    /// Whether a file, by its `lstat`, looks exactly as it did when git wrote this entry.
    #[must_use]
    pub fn matches(&self, metadata: &Metadata) -> bool {
        let kind = match self.mode {
            IndexMode::File => metadata.is_file() && metadata.permissions().mode() & 0o100 == 0,
            IndexMode::Executable => metadata.is_file() && metadata.permissions().mode() & 0o100 != 0,
            IndexMode::Link => metadata.is_symlink(),
            IndexMode::Submodule => false,
        };
        kind && FileStat::of(metadata).is_some_and(|stat| self.has_stat(&stat))
    }

    pub(crate) fn has_stat(&self, stat: &FileStat) -> bool {
        // Git writes the size 0 to say that it does not know.
        let unknown = self.stat.size == 0 && self.id != self.id.format().empty_blob();
        !unknown && self.stat.is_same_file(stat)
    }
}
