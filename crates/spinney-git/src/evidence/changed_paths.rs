//! Which files one commit changed against another, to tell whether two lines of work can get in each other's way.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::Result;
use crate::repository::opened::Repository;

/// Changed paths; a renamed file is there by both of its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    paths: HashSet<PathBuf>,
    adds: bool,
    deletes: bool,
}

impl ChangedPaths {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether a merge of both could conflict. False only where it certainly can't:
    ///
    /// - a path that both changed, or one that lies below another, is in the way by itself;
    /// - files that one side deleted may be a directory that moved, and git moves what the other side added after them.
    #[must_use]
    pub fn may_conflict_with(&self, other: &Self) -> bool {
        (self.deletes && other.adds)
            || (self.adds && other.deletes)
            || self.reaches_into(other)
            || other.reaches_into(self)
    }

    /// Whether a path of ours, or a directory that it lies in, is a path of theirs.
    fn reaches_into(&self, other: &Self) -> bool {
        self.paths.iter().any(|path| path.ancestors().any(|place| other.paths.contains(place)))
    }
}

impl Repository {
    /// The files that differ between two commits.
    pub async fn load_changed_paths(&self, from: &CommitId, to: &CommitId) -> Result<ChangedPaths> {
        let command = self.command().args(["diff-tree", "-r", "-z", "--no-renames", "--name-status"]);
        Ok(parse_changed_paths(&command.args([from.as_str(), to.as_str()]).run().await?.stdout))
    }
}

/// Reads `<status>\0<path>\0`.
fn parse_changed_paths(stdout: &[u8]) -> ChangedPaths {
    let mut changes = ChangedPaths::default();
    let mut fields = stdout.split(|byte| *byte == 0);
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        changes.adds |= status == b"A";
        changes.deletes |= status == b"D";
        changes.paths.insert(Path::new(OsStr::from_bytes(path)).to_owned());
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(text: &str) -> ChangedPaths {
        parse_changed_paths(text.replace(' ', "\0").as_bytes())
    }

    fn may_conflict(a: &str, b: &str) -> bool {
        let (a, b) = (changes(a), changes(b));
        assert_eq!(a.may_conflict_with(&b), b.may_conflict_with(&a));
        a.may_conflict_with(&b)
    }

    #[test]
    fn only_what_certainly_stays_apart_is_let_go() {
        assert!(!may_conflict("M a A b ", "M c A d/a "));
        assert!(!may_conflict("M a/b ", "M a/bc "));
        assert!(may_conflict("M a M b ", "A c M b "));
        assert!(may_conflict("A d ", "M d/e/f "));
        assert!(may_conflict("D d/a A e/a ", "A d/new "));
        assert!(!may_conflict("D d/a ", "M d/new "));
        assert!(!may_conflict("", "M a D b "));
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_changed_paths(&stdout);
        }
    }
}
