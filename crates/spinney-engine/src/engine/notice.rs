//! What the engine tells while it works. The library never prints: whoever calls it decides what becomes of this.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use spinney_core::quantity::Span;
use spinney_core::{Advice, BranchName, CommitId, WorkspaceName};

use crate::plural;

/// Something worth telling a person while a request is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A step that may take a while has begun.
    Phase(Phase),
    /// Things go on, but not as one would expect.
    Warning(Warning),
    /// A line that a set-up command printed.
    SetupOutput(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Fetching { remote: String },
    Cloning { url: String },
    Waiting { workspace: String },
    WaitingForPool,
    CheckingOut,
    CopyingFiles { count: usize },
    UpdatingSubmodules,
    PullingLfs,
    RunningSetup { line: String },
    MakingRoom,
    Sweeping { workspace: String },
    Finishing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The remote could not be asked; `age` is how old what is known is.
    FetchFailed { remote: String, cause: String, age: Option<Duration> },
    /// The repository's own `setup` was left out: nobody trusted it yet.
    SetupWithheld { lines: usize },
    /// No `setup` was run: it would run what a fork, or a pull request under review, made of it.
    ForeignSetupWithheld { lines: usize, flag: String, commit: String },
    /// A file that matched a `copy` pattern was left out.
    NotCopied { path: PathBuf, reason: &'static str },
    /// The workspace of the work was there already and stays as it is, though another start was named.
    Kept { workspace: WorkspaceName, kept: Kept },
    /// A workspace went to the trash to make room.
    MadeRoom { name: String, evidence: String },
    /// An operation that somebody left half done was finished or undone.
    Recovered { what: String },
    /// A step after the main thing failed, and nothing depends on it.
    Minor { what: String },
}

/// What a workspace that was there already keeps, though the request for it named another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Base { asked: BranchName, base: Option<BranchName>, commit: CommitId },
    Branch { asked: BranchName, branch: BranchName },
    Commit { asked: CommitId, branch: BranchName },
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base { asked, base: Some(base), commit } => {
                write!(f, "keeps its base `{base}` {}: `{asked}` counts for new work only", commit.short())
            }
            Self::Base { asked, base: None, commit } => {
                write!(f, "keeps its base {}: `{asked}` counts for new work only", commit.short())
            }
            Self::Branch { asked, branch } => {
                write!(f, "stays on `{branch}`: the branch `{asked}` counts for new work only")
            }
            Self::Commit { asked, branch } => {
                write!(f, "stays where it is: `{branch}` does not have commit {}", asked.short())
            }
        }
    }
}

impl Warning {
    /// What helps, where something does.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::SetupWithheld { .. } => Some(Advice::TrustSetup),
            Self::ForeignSetupWithheld { flag, commit, .. } => {
                Some(Advice::TrustForeignSetup { flag: flag.clone(), commit: commit.clone() })
            }
            _ => None,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FetchFailed { remote, cause, age } => {
                write!(f, "could not fetch from `{remote}` ({cause}); continuing with what ")?;
                match age {
                    Some(age) => write!(f, "was fetched {} ago", Span(*age)),
                    None => f.write_str("is in this clone, of unknown age"),
                }
            }
            Self::SetupWithheld { lines } => {
                let lines = plural(*lines, "setup line");
                write!(f, "{lines} of `spinney.toml` not run: the file is not trusted yet")
            }
            Self::ForeignSetupWithheld { lines, .. } => {
                let lines = plural(*lines, "setup line");
                write!(
                    f,
                    "{lines} not run: the work comes from a fork or a review, and `setup` would run files that a stranger wrote"
                )
            }
            Self::NotCopied { path, reason } => write!(f, "`{}` was not copied: {reason}", path.display()),
            Self::Kept { workspace, kept } => write!(f, "{workspace} {kept}"),
            Self::MadeRoom { name, evidence } => write!(f, "{name} went to the trash to make room ({evidence})"),
            Self::Recovered { what } | Self::Minor { what } => f.write_str(what),
        }
    }
}

/// Receives what the engine tells: any function that takes a notice.
pub trait Observer: Fn(Notice) + Send + Sync {}

impl<F: Fn(Notice) + Send + Sync> Observer for F {}
