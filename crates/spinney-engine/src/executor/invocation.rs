//! What is to be started.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Tag;

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// Where it starts, as this machine names it.
    pub directory: PathBuf,
    /// All that it sees, but for its tag. Of a name that comes twice the last counts.
    pub environment: Vec<(OsString, OsString)>,
    /// What it is started for; nobody but the caller looks after a program without one.
    pub tag: Option<Tag>,
    pub input: Input,
}

/// What a program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// What the caller writes.
    Piped,
    Nothing,
}

impl Invocation {
    /// A program that is given its input, without arguments, environment and tag.
    #[must_use]
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.into(),
            environment: Vec::new(),
            tag: None,
            input: Input::Piped,
        }
    }

    /// A line of shell.
    #[must_use]
    pub fn shell(line: &str, directory: impl Into<PathBuf>) -> Self {
        Self { arguments: vec!["-c".into(), line.into()], ..Self::new("sh", directory) }
    }
}
