//! One tracked path.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{FileStat, ObjectId};

// The kinds of files in a mode.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

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

    /// The last part of its path.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        let start = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        OsStr::from_bytes(&self.path[start..])
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
        FileStat::of(metadata).is_some_and(|stat| self.looks_like(metadata.mode(), &stat))
    }

    /// The same, by what `fstat` or `fstatat` tell.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn matches_stat(&self, found: &rustix::fs::Stat) -> bool {
        FileStat::of_stat(found).is_some_and(|stat| self.looks_like(found.st_mode, &stat))
    }

    /// Whether what `lstat` tells of a file is what git noted of it.
    pub(crate) fn looks_like(&self, mode: u32, stat: &FileStat) -> bool {
        let (kind, executable) = (mode & KIND, mode & 0o100 != 0);
        let as_wanted = match self.mode {
            IndexMode::File => kind == REGULAR && !executable,
            IndexMode::Executable => kind == REGULAR && executable,
            IndexMode::Link => kind == LINK,
            IndexMode::Submodule => false,
        };
        // Git writes the size 0 to say that it does not know.
        let unknown = self.stat.size == 0 && self.id != self.id.format().empty_blob();
        as_wanted && !unknown && self.stat.is_same_file(stat)
    }
}
