//! What kind of files a private git dir consists of, before git reads any: it would wait for a pipe and follow a link.

use std::fs;
use std::io;
use std::path::Path;

use crate::jail::answer::{Unverifiable, unverifiable};
use crate::{Error, Result};

const QUESTION: &str = "what a box's git dir holds";

/// Files that git opens by itself, whatever it is asked.
const FILES: [&str; 17] = [
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/commit-graph",
    "objects/info/packs",
    "objects/pack/multi-pack-index",
    "packed-refs",
    "refs/stash",
    "shallow",
    "FETCH_HEAD",
    "ORIG_HEAD",
];
const DIRECTORIES: [&str; 7] = ["", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads"];

/// What no git dir has that stands for itself; git reads it even where it is told the common dir.
const COMMON_DIR: &str = "commondir";

/// Fails where one of them is something else than it has to be. What is deeper down meets the jail's time limit.
pub(crate) fn require_plain(git_dir: &Path) -> Result<()> {
    let places = DIRECTORIES.iter().map(|name| (name, true)).chain(FILES.iter().map(|name| (name, false)));
    for (name, is_directory) in places {
        // Directories come first, so that no link leads to a file.
        let path = git_dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() == is_directory && found.is_file() != is_directory => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && !name.is_empty() => {}
            Err(source) => return Err(Error::io("open", &path, source)),
            Ok(_) => return Err(unverifiable(QUESTION, Unverifiable::NotAFile(Path::new(name).to_owned()))),
        }
    }
    if is_there(git_dir, COMMON_DIR) {
        return Err(unverifiable(QUESTION, Unverifiable::LeadsElsewhere(COMMON_DIR.into())));
    }
    Ok(())
}

/// Whether something lies at a path of a private git dir; only what it is called is looked at.
pub(crate) fn is_there(git_dir: &Path, name: &str) -> bool {
    fs::symlink_metadata(git_dir.join(name)).is_ok()
}
