//! Walks a tree that others fill: without recursion, without a link being followed, and not without end.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// More than a tree holds that anybody works in.
const MOST_ENTRIES: u64 = 50_000_000;

/// What a walk does at an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Goes on, into the entry if it is a directory.
    Enter,
    /// Goes on beside it.
    Pass,
    /// Ends the walk.
    Stop,
}

/// Shows every entry below a directory, in no order; gives whether it came to the end.
pub(crate) fn walk(top: &Path, mut see: impl FnMut(&DirEntry) -> io::Result<Step>) -> io::Result<bool> {
    let mut waiting: Vec<PathBuf> = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).map_err(|error| explain(error, &directory))? {
            let entry = entry?;
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(io::Error::other(format!("it holds more than {MOST_ENTRIES} files and directories")));
            }
            match see(&entry).map_err(|error| explain(error, &directory))? {
                Step::Enter if entry.file_type()?.is_dir() => waiting.push(entry.path()),
                Step::Enter | Step::Pass => {}
                Step::Stop => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// Says where a path becomes too long for the system.
fn explain(error: io::Error, directory: &Path) -> io::Error {
    if error.kind() != io::ErrorKind::InvalidFilename {
        return error;
    }
    let depth = directory.components().count();
    let shown = spinney_core::names::cut_for_message(&directory.to_string_lossy(), 200);
    io::Error::new(error.kind(), format!("its directories are nested too deep ({depth} at `{shown}`)"))
}
