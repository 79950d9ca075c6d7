//! Moving index and files from one commit to another without a look at those that do not differ: `git switch` looks at
//! every file first, which in a large tree takes longer than all else it does.
//!
//! `git read-tree` refuses where `git switch` does: a file that differs was edited, staged or deleted, or one that git did
//! not have is in the way. But an ignored one it overwrites. So every path that is added must be free, and whatever is
//! unusual is left to `git switch`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::settings::executing::Runs;
use crate::worktree::checkout::{with_lfs, writing_few};
use crate::worktree::linked::Worktree;
use crate::{Error, Result};

/// With more of them, looking at every file costs little beside writing them.
const MAX_CHANGES: usize = 5000;
const GITLINK: &[u8] = b"160000";

/// What one commit has otherwise than another.
#[derive(Debug, Default, PartialEq, Eq)]
struct Changes {
    count: usize,
    added: Vec<PathBuf>,
    /// Whether one of them is another repository.
    gitlinks: bool,
}

impl Worktree {
    /// Whether [`Self::move_files`] is as safe as `git switch` here: nothing is under way, all is files of one repository,
    /// and nothing, ignored or not, is where a file will be added.
    pub(crate) async fn is_plain_move(&self, from: &CommitId, to: &CommitId) -> Result<bool> {
        // Without an index git takes a file that it had for one that it did not have.
        let has_index = std::fs::symlink_metadata(self.admin_dir().join("index")).is_ok_and(|found| found.is_file());
        let is_sparse = !is_missing(&self.admin_dir().join("info/sparse-checkout"));
        if !has_index || is_sparse || self.has_submodules() || self.load_operation_in_progress().is_some() {
            return Ok(false);
        }
        let command = self.command().args(["diff-tree", "-r", "-z", "--no-renames", "--raw"]);
        let changes = parse_changes(&command.args([from.as_str(), to.as_str()]).run().await?.stdout);
        Ok(changes.count <= MAX_CHANGES && !changes.gitlinks && are_free(self.path(), &changes.added))
    }

    /// Moves index and files, not HEAD, from HEAD's commit to another; LFS pointers stay as they are. False where git
    /// refuses; then nothing was touched.
    pub(crate) async fn move_files(&self, from: &CommitId, to: &CommitId) -> Result<bool> {
        let command = writing_few(with_lfs(self.command(), false)).running(Runs::FILES);
        let command = command.args(["read-tree", "-m", "-u", "--no-recurse-submodules", from.as_str(), to.as_str()]);
        match command.run().await {
            Ok(_) => Ok(true),
            // It refuses also where only a file's time is another one; `git switch` looks closer.
            Err(Error::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is nothing at any of these paths below a directory, and nothing but directories on the way there.
fn are_free(root: &Path, paths: &[PathBuf]) -> bool {
    let mut directories = HashSet::new();
    paths.iter().all(|path| {
        let above = path.ancestors().skip(1).filter(|place| !place.as_os_str().is_empty());
        is_missing(&root.join(path))
            && above.into_iter().all(|place| {
                directories.contains(place)
                    || match std::fs::symlink_metadata(root.join(place)) {
                        Ok(found) => found.is_dir() && directories.insert(place),
                        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
                    }
            })
    })
}

fn is_missing(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Reads `:<mode> <mode> <object> <object> <status>\0<path>\0`.
fn parse_changes(stdout: &[u8]) -> Changes {
    let mut changes = Changes::default();
    let mut fields = stdout.split(|byte| *byte == 0);
    while let (Some(change), Some(path)) = (fields.next(), fields.next()) {
        changes.count += 1;
        changes.gitlinks |= change.split(|byte| matches!(byte, b':' | b' ')).any(|word| word == GITLINK);
        if change.ends_with(b" A") {
            changes.added.push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_added_and_what_is_no_file_is_told() {
        let (a, none) = ("a".repeat(40), "0".repeat(40));
        let edited = format!(":100644 100755 {a} {a} M\0A\0");
        let changes = parse_changes(format!("{edited}:000000 100644 {none} {a} A\0d/ü b\0").as_bytes());
        assert_eq!(changes, Changes { count: 2, added: vec![PathBuf::from("d/ü b")], gitlinks: false });
        assert!(parse_changes(format!("{edited}:160000 000000 {a} {none} D\0sub\0").as_bytes()).gitlinks);
        assert!(parse_changes(format!(":100644 160000 {a} {a} T\0sub\0").as_bytes()).gitlinks);
        assert_eq!(parse_changes(b""), Changes::default());
    }

    #[test]
    fn only_a_path_with_nothing_at_it_and_directories_above_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("d", root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("broken")).unwrap();
        let free = |path: &str| are_free(root, &[PathBuf::from("d/before"), PathBuf::from(path)]);
        for path in ["new", "d/new", "d/e/new", "other/e/new"] {
            assert!(free(path), "{path}");
        }
        for path in ["d", "d/e", "file", "file/new", "link", "link/new", "link/e/new", "broken", "broken/new"] {
            assert!(!free(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_changes(&stdout);
        }
    }
}
