//! Which objects git's admin dir of a worktree names.
//!
//! Every file in it but the index and the submodules' repositories is searched for full object names, so that no state
//! file of any version of git has to be known: HEAD and its log, the other `*_HEAD`s, per-worktree refs, the state of a
//! rebase, cherry-pick or bisect, an autostash.

use std::collections::BTreeSet;
use std::path::Path;

use crate::disk::regular::read_regular;
use crate::refs::head::NOT_IN_A_FILE;
use crate::worktree::linked::read_pointer;
use crate::{Error, Result};

/// Files of state are small; a log may grow, a patch of `git am` too.
const MAX_FILE: u64 = 64 << 20;
/// What is searched by other means, or is no part of this repository.
const SKIPPED: [&str; 6] =
    ["index", "modules", "reftable", "spinney.json", crate::pin::lfs_objects::KEPT, crate::pin::bundle::BUNDLE];

/// Files whose names are commits, whatever else an admin dir holds.
const OF_COMMITS: [&str; 3] = ["HEAD", "ORIG_HEAD", "logs"];

/// Collects the names of objects that the admin dir's files hold. They may not exist, or be no commits.
pub(crate) fn load_named(admin_dir: &Path) -> Result<BTreeSet<String>> {
    let mut named = BTreeSet::new();
    search(admin_dir, &SKIPPED, &mut named)?;
    Ok(named)
}

/// Whether all that the files of an admin dir name are commits, by where they are named.
pub(crate) fn names_only_commits(admin_dir: &Path) -> Result<bool> {
    let mut others = BTreeSet::new();
    search(admin_dir, &[&SKIPPED[..], &OF_COMMITS[..]].concat(), &mut others)?;
    Ok(others.is_empty())
}

fn search(directory: &Path, skipped: &[&str], named: &mut BTreeSet<String>) -> Result<()> {
    let failed = |source| Error::io("read", directory, source);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if skipped.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let metadata = std::fs::symlink_metadata(&path).map_err(|source| Error::io("read", &path, source))?;
        if metadata.is_dir() {
            search(&path, &[], named)?;
        } else if metadata.is_file() && metadata.len() <= MAX_FILE {
            search_file(&path, named)?;
        }
    }
    Ok(())
}

/// What a HEAD that is a file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeadFile {
    /// The full name of the ref that it leads to.
    Ref(String),
    /// A commit, whose name [`load_named`] finds.
    Commit,
}

/// Reads a worktree's HEAD; none where only git can tell what it leads to.
pub(crate) fn head_in_file(admin_dir: &Path) -> Option<HeadFile> {
    let head = admin_dir.join("HEAD");
    // Long ago HEAD was a link.
    let text = read_pointer(&head).filter(|_| !head.is_symlink())?;
    match text.strip_prefix("ref: ") {
        Some(NOT_IN_A_FILE) => None,
        Some(name) => crate::refs::update::require_ref(name).ok().map(|name| HeadFile::Ref(name.to_owned())),
        None => object_names(text.as_bytes()).any(|name| name == text).then_some(HeadFile::Commit),
    }
}

/// Whether a worktree may have refs of its own: there is a file among them, or they are kept in another store.
pub(crate) fn may_have_own_refs(admin_dir: &Path) -> Result<bool> {
    Ok(admin_dir.join("reftable").exists() || has_file(&admin_dir.join("refs"))?)
}

fn has_file(directory: &Path) -> Result<bool> {
    let failed = |source| Error::io("read", directory, source);
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(failed(source)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_dir() || has_file(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// More than a log of a workspace's HEAD grows to.
const MOST_BYTES: u64 = 1 << 30;

/// Collects the names of objects in one file.
pub(crate) fn search_file(path: &Path, named: &mut BTreeSet<String>) -> Result<()> {
    let bytes = read_regular(path, MOST_BYTES).map_err(|source| Error::io("read", path, source))?;
    named.extend(object_names(&bytes));
    Ok(())
}

/// Finds full object names: runs of exactly 40 or 64 lowercase hex digits, but for the one that stands for none.
pub(crate) fn object_names(bytes: &[u8]) -> impl Iterator<Item = String> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    bytes
        .split(move |byte| !is_digit(byte))
        .filter(|run| matches!(run.len(), 40 | 64) && run.iter().any(|digit| *digit != b'0'))
        .map(|run| run.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn names_are_found_in_logs_and_todo_lists() {
        let (a, b, none) = ("a".repeat(40), "b".repeat(64), "0".repeat(40));
        let text = format!("{none} {a} X <x@y> 1 +0\tcommit: {}\npick {b} # words\nshort abc123\n", "c".repeat(41));
        let found: Vec<String> = object_names(text.as_bytes()).collect();
        assert_eq!(found, [a, b]);
    }

    proptest! {
        #[test]
        fn no_content_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = object_names(&bytes).count();
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], |stdout| {
            let _ = object_names(stdout).count();
        });
    }
}
