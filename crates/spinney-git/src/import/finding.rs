//! What an import reports, and what it is told.

use std::path::PathBuf;

use spinney_core::CommitId;

/// Something in a box's commits that a person, or whoever uses the branch, has to know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Finding {
    /// `.gitmodules` is changed: no submodule of this branch is ever populated.
    Submodules,
    /// A URL in `.gitmodules` names a program.
    UrlOfProgram,
    /// A repository lies in the tree as if it were a file.
    Repository(PathBuf),
    /// Git reads attributes through a link.
    LinkedAttributes(PathBuf),
    /// A link leads out of the tree, or into a git dir.
    Link { path: PathBuf, target: Vec<u8>, leads: Leads },
    /// A name that steers a terminal, or means something else to a program that reads it.
    ControlCharacter(PathBuf),
    /// A ref of the box leads to something else than the branch; it stays in the private git dir.
    OtherRef(String),
    /// There are more than are listed.
    MoreOtherRefs(usize),
    /// The branch was at a commit that the new one does not have; its reflog keeps it.
    Rewritten(CommitId),
}

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leads {
    Absolute,
    Outside,
    IntoGitDir,
}

/// The bounds of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    pub pack_bytes: u64,
    /// All new objects together, as they are when they are read.
    pub unpacked_bytes: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self { pack_bytes: 1 << 30, unpacked_bytes: 4 << 30 }
    }
}

/// The outcome of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Where the branch was, and where it is.
    pub from: CommitId,
    pub to: CommitId,
    /// How many commits the branch has that the remote's branches have not.
    pub commits: u64,
    pub findings: Vec<Finding>,
    /// Changed paths that are protected: they are held for a person.
    pub held: Vec<PathBuf>,
}
