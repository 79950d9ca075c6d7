//! Git's index file, read without git: which files a worktree tracks, and what each looked like when git last knew it.
//!
//! An agent can write an index. So nothing in it is believed for its size or order, a path that could lead out of the
//! tree is refused, and so is whatever this code does not fully understand: the caller asks git then.

mod directories;
mod entry;
mod object;
mod parse;
mod patch;
mod stat;
pub(crate) mod tree;

use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

pub use directories::IndexDirectory;
pub use entry::{IndexEntry, IndexMode};
pub(crate) use object::BlobHasher;
pub use object::{ObjectFormat, ObjectId};
pub use stat::{FileStat, FileTime};

use crate::{Error, Result};

/// Some five million files.
pub(crate) const MAX_BYTES: u64 = 512 << 20;

/// Why bytes are no index that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidIndex(pub(crate) &'static str);

/// An index as it stood in its file.
#[derive(Debug, Clone)]
pub struct Index {
    bytes: Vec<u8>,
    format: ObjectFormat,
    version: u32,
    entries: Vec<IndexEntry>,
    /// Where the last entry ends.
    entries_end: usize,
    /// Extensions that stay true in a copy of the tree.
    portable: Vec<Range<usize>>,
    root_tree: Option<ObjectId>,
    modified: Option<FileTime>,
}

impl Index {
    /// Reads an index file, and when it was written.
    pub fn load(path: &Path, format: ObjectFormat) -> Result<Self> {
        let failed = |source| Error::io("read", path, source);
        // A pipe in its place must not make us wait.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let mut options = std::fs::File::options();
        let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let invalid = |reason| Error::InvalidIndex { path: path.to_owned(), source: reason };
        if !metadata.is_file() {
            return Err(invalid(InvalidIndex("it is no file")));
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        let index = Self::parse(bytes, format).map_err(invalid)?;
        Ok(Self { modified: Some(FileTime::new(metadata.mtime(), metadata.mtime_nsec())), ..index })
    }

    /// Reads the bytes of an index. When it was written is not known then, so that none of its entries is settled.
    pub fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Result<Self, InvalidIndex> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(InvalidIndex("it is too large"));
        }
        parse::parse(bytes, format)
    }

    /// The index of a tree of which git tracks nothing.
    #[must_use]
    pub(crate) fn empty(format: ObjectFormat) -> Self {
        let (bytes, entries, portable) = (Vec::new(), Vec::new(), Vec::new());
        Self { bytes, format, version: 2, entries, entries_end: 0, portable, root_tree: None, modified: None }
    }

    /// When an index file was written.
    pub(crate) fn load_time(path: &Path) -> Result<FileTime> {
        let found = std::fs::symlink_metadata(path).map_err(|source| Error::io("read", path, source))?;
        Ok(FileTime::new(found.mtime(), found.mtime_nsec()))
    }

    /// The same, as if its file had been written at another time.
    #[must_use]
    pub(crate) fn written_at(self, modified: FileTime) -> Self {
        Self { modified: Some(modified), ..self }
    }

    /// Where an entry stands among the others.
    pub(crate) fn position(&self, entry: &IndexEntry) -> usize {
        self.entries.partition_point(|other| (&other.path, other.stage) < (&entry.path, entry.stage))
    }

    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// In the order of their paths' bytes, each path once a stage.
    #[must_use]
    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// The tree that the whole index stands for, where git has noted it and nothing was staged since.
    #[must_use]
    pub fn root_tree(&self) -> Option<ObjectId> {
        self.root_tree
    }

    /// When its file was written.
    #[must_use]
    pub fn modified(&self) -> Option<FileTime> {
        self.modified
    }

    /// Whether a file that still looks as its entry says has still the content that git saw. One that was changed in
    /// the very moment in which the index was written may look the same.
    #[must_use]
    pub fn is_settled(&self, entry: &IndexEntry) -> bool {
        self.modified.is_some_and(|modified| entry.stat.is_settled(modified))
    }
}
