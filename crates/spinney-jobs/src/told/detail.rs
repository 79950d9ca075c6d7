//! What a phase of a job is about.

use std::path::PathBuf;

use spinney_core::{BranchName, CommitId, Method, Reason, WaitsFor, WorkspaceName};

/// What a phase is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// A name, an address or a hook's line, as it is.
    Plain(String),
    WaitsFor(WaitsFor),
    /// It makes the clone that it works on.
    Clones {
        url: String,
    },
    /// It reads in a checkout that others read in too.
    Reads {
        base: Option<BranchName>,
        commit: CommitId,
    },
    /// It works in a directory as it is.
    Directory(PathBuf),
    /// It has its workspace.
    Placed {
        workspace: WorkspaceName,
        method: Method,
        branch: BranchName,
        base: Option<BranchName>,
        base_commit: CommitId,
        /// Where it was made from, if not from its base: how people call that, and its commit.
        start: Option<(String, CommitId)>,
        /// Whether it came from the pool.
        is_warm: bool,
    },
    /// Somebody delivers its workspace, and it waits until that is over.
    Delivered {
        workspace: WorkspaceName,
    },
    /// Its context is full, and it is asked for a hand-off note.
    AsksForNote,
    /// Nothing changed since the base.
    NothingChanged,
    Pushed {
        branch: BranchName,
    },
    NoRemote,
    /// Its workspace went to the trash.
    Trashed {
        workspace: WorkspaceName,
    },
    Stays {
        workspace: WorkspaceName,
        reasons: Vec<Reason>,
    },
}
