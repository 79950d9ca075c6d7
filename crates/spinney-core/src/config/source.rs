//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

/// The layer that set a value, weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Default,
    /// The person's own file, or the operator's.
    File(PathBuf),
    /// The repository's file: a path, or `<commit>:spinney.toml`.
    Repository(String),
    /// The variable's name.
    Environment(String),
    /// The flag, as `--base`.
    Flag(String),
}

impl Source {
    /// The layer in one word, for JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File(_) => "file",
            Self::Repository(_) => "repository",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }

    /// Its place in the order of layers: the higher one wins.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File(_) => 1,
            Self::Repository(_) => 2,
            Self::Environment(_) => 3,
            Self::Flag(_) => 4,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => path.display().fmt(f),
            Self::Repository(text) | Self::Environment(text) | Self::Flag(text) => f.write_str(text),
        }
    }
}
