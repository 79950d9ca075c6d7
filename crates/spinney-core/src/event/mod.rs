//! What happened: one variant for every kind of entry in the audit log, with what is told of it.
//!
//! In the store, in JSON and in a stream an event is its kind, as `job.started`, and its detail, an object.

mod about;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Actor, Cancel, CommitId, JobId, JobStatus, Platform, Push, RepositoryId, Scope, SessionId, SessionStatus,
    Timestamp, TokenId, TokenName, WaitsFor, WorkspaceId,
};

pub use self::about::{
    AboutAccount, AboutJob, AboutMessage, AboutRepository, AboutSchedule, AboutToken, AboutWorkspace, Finding,
    SweepFailure, SweptAway, SweptBranch,
};

/// An entry of the audit log. It stays when what it tells of is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub account: String,
    pub actor: Actor,
    pub workspace_id: Option<WorkspaceId>,
    pub repository_id: Option<RepositoryId>,
    pub job_id: Option<JobId>,
    pub event: Event,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail")]
pub enum Event {
    #[serde(rename = "workspace.created")]
    WorkspaceCreated {
        #[serde(flatten)]
        about: AboutWorkspace,
        platform: Platform,
        /// Whether it came from the pool; nothing where no pool was asked.
        warm: Option<bool>,
    },
    #[serde(rename = "workspace.delivered")]
    WorkspaceDelivered {
        #[serde(flatten)]
        about: AboutWorkspace,
        pushed: Option<CommitId>,
        pull_request: Option<String>,
    },
    #[serde(rename = "workspace.undone")]
    WorkspaceUndone(AboutWorkspace),
    #[serde(rename = "workspace.adopted")]
    WorkspaceAdopted(AboutWorkspace),
    #[serde(rename = "workspace.pinned")]
    WorkspacePinned(AboutWorkspace),
    #[serde(rename = "workspace.unpinned")]
    WorkspaceUnpinned(AboutWorkspace),
    #[serde(rename = "workspace.found")]
    WorkspaceFound(AboutWorkspace),
    #[serde(rename = "workspace.lost")]
    WorkspaceLost(AboutWorkspace),
    #[serde(rename = "workspace.broken")]
    WorkspaceBroken(AboutWorkspace),
    #[serde(rename = "workspace.removed")]
    WorkspaceRemoved(AboutWorkspace),
    #[serde(rename = "workspace.restored")]
    WorkspaceRestored(AboutWorkspace),
    #[serde(rename = "workspace.purged")]
    WorkspacePurged(AboutWorkspace),
    /// What the trash or an archive still had of it is gone for good.
    #[serde(rename = "workspace.erased")]
    WorkspaceErased(AboutWorkspace),
    /// The branch that Spinney had made for a workspace is gone; the commit is what it was at.
    #[serde(rename = "branch.deleted")]
    BranchDeleted {
        #[serde(flatten)]
        about: AboutWorkspace,
        commit: CommitId,
        why: String,
    },

    #[serde(rename = "repository.added")]
    RepositoryAdded(AboutRepository),
    #[serde(rename = "repository.moved")]
    RepositoryMoved(AboutRepository),
    #[serde(rename = "repository.removed")]
    RepositoryRemoved(AboutRepository),

    #[serde(rename = "account.added")]
    AccountAdded(AboutAccount),
    #[serde(rename = "token.created")]
    TokenCreated(AboutToken),
    #[serde(rename = "token.revoked")]
    TokenRevoked(AboutToken),
    #[serde(rename = "session.begun")]
    SessionBegun { id: TokenId, name: TokenName, scope: Scope, from: Option<String> },
    #[serde(rename = "session.ended")]
    SessionEnded { id: TokenId },
    #[serde(rename = "login.failed")]
    LoginFailed { from: Option<String> },

    #[serde(rename = "cleanup.swept")]
    Swept {
        merged: bool,
        stale: bool,
        orphans: bool,
        caches: bool,
        removed: Vec<SweptAway>,
        /// Branches of workspaces that had gone before.
        #[serde(default)]
        branches: Vec<SweptBranch>,
        kept: usize,
        failed: Vec<SweepFailure>,
        findings: Vec<Finding>,
        freed_bytes: u64,
    },

    #[serde(rename = "job.created")]
    JobCreated {
        #[serde(flatten)]
        about: AboutJob,
        trigger: Platform,
        title: Option<String>,
    },
    #[serde(rename = "job.retried")]
    JobRetried {
        #[serde(flatten)]
        about: AboutJob,
        before: JobStatus,
    },
    /// What it waits for is known, or something else by now.
    #[serde(rename = "job.waiting")]
    JobWaiting {
        #[serde(flatten)]
        about: AboutJob,
        /// In words.
        waits_for: Option<String>,
        #[serde(default)]
        on: Option<WaitsFor>,
    },
    #[serde(rename = "job.started")]
    JobStarted {
        #[serde(flatten)]
        about: AboutJob,
        attempt: u32,
    },
    /// It has its workspace.
    #[serde(rename = "job.placed")]
    JobPlaced {
        #[serde(flatten)]
        about: AboutJob,
        branch: Option<String>,
    },
    /// A session began or ended, as its status says.
    #[serde(rename = "job.session")]
    JobSession {
        #[serde(flatten)]
        about: AboutJob,
        session: SessionId,
        runtime: String,
        resumed: bool,
        status: SessionStatus,
    },
    /// Its work is in the branch, and pushed or not as the policy says.
    #[serde(rename = "job.delivered")]
    JobDelivered {
        #[serde(flatten)]
        about: AboutJob,
        branch: Option<String>,
        commit: Option<CommitId>,
        push: Option<Push>,
        pull_request: Option<String>,
    },
    /// Somebody wants it to end.
    #[serde(rename = "job.cancelling")]
    JobCancelling {
        #[serde(flatten)]
        about: AboutJob,
        cancel: Cancel,
    },
    #[serde(rename = "job.ended")]
    JobEnded {
        #[serde(flatten)]
        about: AboutJob,
        status: JobStatus,
        attempt: u32,
        error: Option<String>,
    },

    #[serde(rename = "schedule.asked")]
    ScheduleAsked(AboutSchedule),
    #[serde(rename = "schedule.paused")]
    SchedulePaused(AboutSchedule),
    #[serde(rename = "schedule.resumed")]
    ScheduleResumed(AboutSchedule),

    /// What a platform sent was answered, and there is something to say about it.
    #[serde(rename = "delivery.done")]
    MessageDone(AboutMessage),
    #[serde(rename = "delivery.ignored")]
    MessageIgnored(AboutMessage),
    #[serde(rename = "delivery.refused")]
    MessageRefused(AboutMessage),
    #[serde(rename = "delivery.failed")]
    MessageFailed(AboutMessage),

    /// What another version wrote, as it wrote it.
    #[serde(untagged)]
    Other { kind: String, detail: Value },
}

impl Event {
    /// `job.started`.
    #[must_use]
    pub fn kind(&self) -> String {
        self.parts().0
    }

    /// What is told of it, as an object.
    #[must_use]
    pub fn detail(&self) -> Value {
        self.parts().1
    }

    /// Its kind and its detail.
    #[must_use]
    pub fn parts(&self) -> (String, Value) {
        if let Self::Other { kind, detail } = self {
            return (kind.clone(), detail.clone());
        }
        // All of its parts are words, numbers and texts.
        let mut whole = serde_json::to_value(self).unwrap_or_default();
        let kind = whole["kind"].as_str().unwrap_or_default().to_owned();
        (kind, whole["detail"].take())
    }

    /// The event that has these parts. What this version can't read, it keeps as it is.
    #[must_use]
    pub fn of_parts(kind: String, detail: Value) -> Self {
        let whole = serde_json::json!({ "kind": kind, "detail": detail });
        match serde_json::from_value(whole) {
            Ok(event) => event,
            Err(_) => Self::Other { kind, detail },
        }
    }
}

#[cfg(test)]
mod tests;
