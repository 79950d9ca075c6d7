//! Whose the files of a workspace are: what Spinney brought, what was there when a job began, what its agent left.
//!
//! Paths are text as [`path_text`] makes it. An identity is what tells whether a file is still the same: its mode and the
//! name that git would give to its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{CommitId, JobId};

/// Paths with what tells whether they are still the same.
pub type Identities = BTreeMap<String, String>;

/// What a workspace holds that Spinney put there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brought {
    /// Files that were copied from the main checkout.
    pub copied: BTreeSet<String>,
    /// Digests of their contents when they were copied. Those that older versions copied have none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// Directories that were carried over whole.
    pub directories: BTreeSet<String>,
    /// Files that git does not ignore and that differed from HEAD when `setup` had run.
    pub made: Identities,
    /// What was ever in copied files, by git's name for it, with the path of each: it is known under any other path, and
    /// when the file and its source have long changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
    /// Commits with copied files that a person accepted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub accepted: BTreeSet<CommitId>,
}

impl Brought {
    /// Whether a path was copied, or lies in a directory that was.
    #[must_use]
    pub fn has_copied(&self, path: &str) -> bool {
        let is_below = |directory: &String| {
            path.strip_prefix(directory.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.copied.contains(path) || self.directories.iter().any(is_below)
    }

    pub fn add(&mut self, other: Self) {
        self.copied.extend(other.copied);
        self.digests.extend(other.digests);
        self.directories.extend(other.directories);
        self.made.extend(other.made);
        self.contents.extend(other.contents);
        self.accepted.extend(other.accepted);
    }

    /// Whether anything was ever copied.
    #[must_use]
    pub fn has_copies(&self) -> bool {
        !(self.copied.is_empty() && self.directories.is_empty() && self.contents.is_empty())
    }
}

/// What was there when a job's session began: written before it begins, and kept until the next job begins there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    pub job: JobId,
    /// Nanoseconds since the Unix epoch. What was written later has a later time.
    pub at_ns: i64,
    /// Uncommitted and untracked files that are no agent's.
    pub found: Identities,
    /// Paths that an agent and somebody else changed.
    #[serde(default)]
    pub shared: BTreeSet<String>,
    /// What git ignored. A directory that is ignored as a whole has no identity.
    pub ignored: BTreeMap<String, Option<String>>,
    /// The contents of copied files, as older versions noted them; now in [`Brought::contents`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
    #[serde(default)]
    pub head: Option<CommitId>,
    /// Where the branch stood: its commits are to be on it when the job is over.
    #[serde(default)]
    pub tips: BTreeSet<CommitId>,
    /// None while a session may run, and after the death of its process.
    #[serde(default)]
    pub left: Option<Left>,
}

/// What an agent's job left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Uncommitted files that its agent made or changed.
    pub files: Identities,
    pub head: Option<CommitId>,
    /// Commits that were on the branch before the job, and that nobody has brought back or given up.
    #[serde(default)]
    pub dropped: BTreeSet<CommitId>,
    /// Whether the job delivered: run again, it begins anew.
    #[serde(default)]
    pub completed: bool,
}

/// A path as text, whatever bytes it has: `%` and bytes that are not UTF-8 become `%xx`.
#[must_use]
pub fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

/// Undoes [`path_text`].
#[must_use]
pub fn text_path(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = (byte == b'%').then(|| tail.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        for bytes in [&b"a/b"[..], b"100%25", b"\xff\xfe/x", "größe".as_bytes()] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(text_path(&path_text(path)), path);
        }
    }

    #[test]
    fn what_lies_in_a_copied_directory_was_copied() {
        let text = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let brought = Brought { copied: text(&[".env"]), directories: text(&["target"]), ..Brought::default() };
        for (path, copied) in
            [(".env", true), (".env2", false), ("target/a", true), ("targets", false), ("a/.env", false)]
        {
            assert_eq!(brought.has_copied(path), copied, "{path}");
        }
    }
}
