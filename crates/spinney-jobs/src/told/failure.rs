//! Why a job does not complete.

use std::io;
use std::path::PathBuf;

use spinney_core::{AgentName, BranchName, CommitId, Dropped, InvalidBranchName, WorkspaceName};
use spinney_git::Head;

use super::{HookFault, McpFault, TurnFailure};
use crate::Error;

/// Why a job does not complete.
#[derive(Debug)]
pub enum Failure {
    Error(Error),
    /// The agent of another job asked for it, and its workspace is neither that job's nor made for one that it asked for.
    NotOfParent {
        workspace: WorkspaceName,
    },
    /// There is no room for its workspace, as the engine says.
    NoRoom(String),
    TimedOut,
    /// Its process was told to end.
    Terminated,
    Cancelled,
    /// The same, after it had ended for another reason, which was told already.
    CancelledAfter(String),
    /// Its process died, with these last words.
    Died {
        said: Option<String>,
        has_run: bool,
    },
    /// Its row says that it does not wait, although it does.
    NotWaiting,
    /// Its row says that it does not run, although it does.
    NotRunning,
    /// A file that only shows the file system's time can't be written.
    TimeUnknown {
        path: PathBuf,
        error: io::Error,
    },
    PromptUnwritten(io::Error),
    ProgramUnstarted {
        program: String,
        agent: AgentName,
        error: io::Error,
    },
    /// Its agent can't be given an MCP server.
    McpServer {
        name: String,
        fault: McpFault,
    },
    /// The program runs, and can't be waited for.
    ProgramUnwatched {
        program: String,
        error: io::Error,
    },
    /// A line of `before_run` failed.
    BeforeRun {
        line: String,
        fault: HookFault,
    },
    HookUnstarted {
        line: String,
        error: io::Error,
    },
    /// The directory that it was to work in as it is does not exist.
    NoDirectory(PathBuf),
    /// `branch_pattern` gives no branch.
    NoBranch(InvalidBranchName),
    /// Its last turn failed.
    Turn(TurnFailure),
    /// Its context is full, and the turn for the hand-off note failed.
    HandOff(TurnFailure),
    /// A person has to look before its commit is pushed: at what Spinney copied, or at what its branch lost.
    Held {
        copied: Option<Copied>,
        dropped: Option<Dropped>,
    },
    /// Somebody changed where a push goes.
    PushesElsewhere {
        now: Option<String>,
        before: Option<String>,
    },
    /// A pull request is wanted, and the remote is on no forge.
    NoForge,
    /// A pull request is wanted, and no base branch is known.
    NoBase,
    /// HEAD was left on no branch, and lacks commits of the branch.
    LacksCommits {
        at: CommitId,
        branch: BranchName,
    },
    /// The workspace has somebody's uncommitted work, and `on_dirty` refuses that.
    Dirty {
        workspace: WorkspaceName,
        paths: Vec<String>,
    },
    /// HEAD of the workspace was left where nothing leads back to its branch without a loss.
    LeftElsewhere {
        workspace: WorkspaceName,
        head: Head,
        branch: BranchName,
        with: LeftWith,
    },
    /// The agent went to a branch that is not its own.
    NotOwnBranch {
        branch: BranchName,
        owner: BranchOwner,
    },
}

/// What would be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftWith {
    UncommittedChanges,
    CommitsOnNoBranch,
}

/// Whose a branch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOwner {
    /// It is the base.
    Base,
    CheckedOutAt(PathBuf),
    Workspace(WorkspaceName),
    Remote(String),
}

/// Files in commits of a workspace that Spinney copied from the main checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub workspace: WorkspaceName,
    pub paths: Vec<String>,
    /// The first commit that has one.
    pub first: CommitId,
}
