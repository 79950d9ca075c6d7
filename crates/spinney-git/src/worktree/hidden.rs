//! Edits that `status` was told not to see: files marked assume-unchanged or skip-worktree.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::disk::regular::open_regular;
use crate::disk::scratch;
use crate::worktree::linked::Worktree;
use crate::worktree::status_parse::parse_status;
use crate::{Error, Result};

impl Worktree {
    /// Lists the hidden files that are there and differ from the index. One that a sparse checkout left out is no edit.
    ///
    /// The marks are taken off in a copy of the index; the real one is not touched.
    pub async fn load_hidden_edits(&self) -> Result<Vec<PathBuf>> {
        let listed = self.command().args(["ls-files", "-v", "-z"]).run().await?.stdout;
        let hidden: BTreeSet<PathBuf> = parse_hidden(&listed)
            .into_iter()
            .filter(|path| std::fs::symlink_metadata(self.path().join(path)).is_ok())
            .collect();
        if hidden.is_empty() {
            return Ok(Vec::new());
        }
        let copy = self.copy_index()?;
        let index = copy.path().join("index");
        let paths: Vec<u8> = hidden.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        for mark in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let command = self.command().env("GIT_INDEX_FILE", &index).config("core.splitIndex", "false");
            command.args(["update-index", mark, "-z", "--stdin"]).stdin_bytes(paths.clone()).run().await?;
        }
        let command = self.status_command().env("GIT_INDEX_FILE", &index).args(["--untracked-files=no"]);
        // Of no interest here, and out of reach where the tree was moved.
        let command = command.args(["--ignore-submodules=all"]);
        let changes = parse_status(&command.run().await?.stdout).changes;
        Ok(changes
            .into_iter()
            .filter(|change| change.unstaged && hidden.contains(&change.path))
            .map(|change| change.path)
            .collect())
    }

    /// A copy of the index in a directory of its own, gone when dropped.
    fn copy_index(&self) -> Result<tempfile::TempDir> {
        copy_index(self.admin_dir(), &self.repository().require_state_dir()?)
    }
}

pub(crate) fn copy_index(admin_dir: &std::path::Path, state_dir: &std::path::Path) -> Result<tempfile::TempDir> {
    let directory = scratch::directory(state_dir, scratch::INDEX)?;
    let index = admin_dir.join("index");
    match copy_with_time(&index, &directory.path().join("index")) {
        // A worktree without an index has nothing staged.
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::io("copy", &index, source)),
        _ => Ok(directory),
    }
}

/// Copies an index together with its time: a file that changed in the very moment in which it was added looks unchanged
/// to git, unless the index is as old as the file.
pub fn copy_with_time(from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
    let mut from = open_regular(from)?;
    let found = from.metadata()?;
    let mut to = std::fs::File::create(to)?;
    std::io::copy(&mut from, &mut to)?;
    to.set_permissions(found.permissions())?;
    to.set_modified(found.modified()?)
}

/// Reads `<tag> <path>\0`: a lowercase tag is assume-unchanged, an `S` is skip-worktree.
fn parse_hidden(stdout: &[u8]) -> Vec<PathBuf> {
    let entry = |entry: &[u8]| match entry {
        [tag, b' ', path @ ..] if tag.is_ascii_lowercase() || *tag == b'S' => {
            Some(PathBuf::from(OsStr::from_bytes(path)))
        }
        _ => None,
    };
    stdout.split(|byte| *byte == 0).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_marked_files_are_hidden() {
        assert_eq!(parse_hidden(b"H a\0h b c\0S d\0s e\0M f\0"), ["b c", "d", "e"].map(PathBuf::from));
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_hidden(&stdout);
        }
    }
}
