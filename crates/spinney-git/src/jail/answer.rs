//! What a process in the jail answers, or why there is no answer.
//!
//! Whoever wrote what it looks at decides what it says: its words are never classified, and each value is checked by the
//! grammar that it must have before it is used.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::command::Output;
use crate::worktree::status::unreadable;
use crate::{Command, Error, Result};

/// More than any path that a file system takes.
const LONGEST_PATH: usize = 4096;

/// Why a question about a boxed tree has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverifiable {
    #[error("git did not answer within {}s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("git answered with more than {0} bytes")]
    TooMuch(usize),
    /// What git said is shown for a person; nothing is decided by it.
    #[error("git ended with status {status}: {detail}")]
    Failed { status: i32, detail: String },
    #[error("git answered with {what} that can't be: `{value}`")]
    Garbage { what: &'static str, value: String },
    /// Git could not look everywhere, and only warned of it.
    #[error("git could not read all of it: {0}")]
    Unreadable(String),
    /// Git would read it, follow it or wait for it.
    #[error("`{}` is no regular file", .0.display())]
    NotAFile(PathBuf),
    /// A file that only a linked worktree has: with it, git takes another git dir for this one.
    #[error("`{}` leads to another git dir", .0.display())]
    LeadsElsewhere(PathBuf),
}

impl Unverifiable {
    pub(crate) fn garbage(what: &'static str, value: &[u8]) -> Self {
        Self::Garbage { what, value: spinney_core::names::for_message(&String::from_utf8_lossy(value)) }
    }
}

/// Runs a process in the jail. What can't be answered is [`Error::Unverifiable`]; that the jail itself can't be had is another
/// error.
pub(crate) async fn ask(question: &'static str, command: Command) -> Result<Output> {
    command.run().await.map_err(|error| unanswered(question, error))
}

/// The same of a question about all files of a tree.
pub(crate) async fn ask_about_files(question: &'static str, command: Command) -> Result<Output> {
    let output = ask(question, command).await?;
    match unreadable(&output.stderr) {
        Some(line) => {
            let line = spinney_core::names::cut_for_message(line, 200);
            Err(unverifiable(question, Unverifiable::Unreadable(line)))
        }
        None => Ok(output),
    }
}

/// What a failure in the jail says about the question.
pub(crate) fn unanswered(question: &'static str, error: Error) -> Error {
    let why = match error {
        Error::Timeout { after, .. } => Unverifiable::TimedOut(after),
        Error::OutputTooLarge { limit, .. } => Unverifiable::TooMuch(limit),
        Error::Failed { status, stderr, .. } => {
            let detail = spinney_core::names::cut_for_message(crate::error::last_line(&stderr), 200);
            Unverifiable::Failed { status, detail }
        }
        error => return error,
    };
    unverifiable(question, why)
}

pub(crate) fn unverifiable(question: &'static str, why: Unverifiable) -> Error {
    Error::Unverifiable { question, why: Box::new(why) }
}

/// A path inside of a tree, as git names it: its parts are names, never `..` or `.git`.
pub(crate) fn require_path(bytes: &[u8]) -> Result<PathBuf, Unverifiable> {
    let is_name = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git");
    if bytes.len() > LONGEST_PATH || bytes.contains(&0) || !bytes.split(|byte| *byte == b'/').all(is_name) {
        return Err(Unverifiable::garbage("a path", bytes));
    }
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// The same of a path that was read before.
pub(crate) fn require_inside(path: &Path) -> Result<(), Unverifiable> {
    require_path(path.as_os_str().as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_leads_nowhere_else() {
        for path in ["", "/etc/passwd", "a//b", "../x", "a/../../x", ".", ".git/config", "a/.GIT/x", "a/", "a\0b"] {
            assert!(require_path(path.as_bytes()).is_err(), "{path:?}");
        }
        assert!(require_path(&b"a".repeat(LONGEST_PATH + 1)).is_err());
        for path in ["a", "a/b.git", ".gitmodules", "größe/..x", "\u{1b}[31m"] {
            assert_eq!(require_path(path.as_bytes()).unwrap(), Path::new(path));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = require_path(&bytes);
        }
    }
}
