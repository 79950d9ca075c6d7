//! What a job warns of: it goes on, but not as one would expect.

use std::time::Duration;

use spinney_core::{BranchName, Dropped, JobPhase, LeftOutReason, WorkspaceName};
use spinney_git::{Head, Unsigned};

use super::{Failure, HookFault, TurnFailure};

/// An error that something else goes on after.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What a job warns of.
#[derive(Debug)]
pub enum Warning {
    /// As the engine tells it.
    Engine(spinney_engine::notice::Warning),
    Error(Cause),
    /// Something failed within a turn that goes on.
    Turn(TurnFailure),
    /// What the agent prints from here on is not kept.
    LogFull,
    /// The environment of whoever asked for the job is not known any more, and another one is used.
    OtherEnvironment,
    CheckoutUnwatched(Cause),
    /// The main checkout changed while the agent worked elsewhere.
    CheckoutChanged {
        paths: Vec<String>,
    },
    /// What the job read in could not be looked at.
    ReadingUnseen(Cause),
    /// What the job read in changed meanwhile, and goes to the trash under this name.
    ReadingChanged {
        paths: Vec<String>,
        workspace: WorkspaceName,
    },
    ReadingStays(Cause),
    PoolUnfilled(Cause),
    TrashUnseen(Cause),
    /// The workspace could not be let go.
    Stays {
        workspace: WorkspaceName,
        error: Cause,
    },
    /// How long the workspace is to be kept could not be written.
    KeepUnnoted {
        workspace: WorkspaceName,
        error: Cause,
    },
    NotPushed(Cause),
    PushesAgain {
        after: Duration,
        error: Cause,
    },
    /// The conversation of the session before is gone.
    StartsFresh,
    /// The context is full, and there is no hand-off note.
    NoNote(NoNote),
    /// Commits have files that Spinney copied from the main checkout, and nothing is pushed anywhere.
    Copied {
        workspace: WorkspaceName,
        paths: Vec<String>,
    },
    Dropped(Dropped),
    /// Its commit has no signature although the configuration asks for one.
    Unsigned(Unsigned),
    /// Files that are not in the job's commit.
    LeftOut {
        reason: LeftOutReason,
        paths: Vec<String>,
    },
    /// Files in the job's commits that were uncommitted before its agent began.
    Shared {
        paths: Vec<String>,
    },
    /// What the agent left could not be written down.
    LeftUnnoted(Failure),
    BackOnBranch {
        from: Head,
        branch: BranchName,
    },
    BranchRenamed {
        from: BranchName,
        to: BranchName,
    },
    Hook {
        phase: JobPhase,
        line: String,
        fault: HookFault,
    },
}

/// Why there is no hand-off note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoNote {
    /// The runtime told no name to go on with.
    Nameless,
    ConversationGone,
    Unwritten,
}
