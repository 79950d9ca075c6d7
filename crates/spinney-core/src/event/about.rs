//! What events of one sort tell alike.

use serde::{Deserialize, Serialize};

use crate::{
    AccountName, Advice, AgentName, BranchName, CommitId, Job, Platform, Repository, RepositoryName, Schedule,
    ScheduleName, Scope, Token, TokenId, TokenKind, TokenName, Work, Workspace, WorkspaceId, WorkspaceName,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutWorkspace {
    pub name: WorkspaceName,
    pub branch: BranchName,
    pub work: Work,
    /// What is wrong with it, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl AboutWorkspace {
    #[must_use]
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            name: workspace.name.clone(),
            branch: workspace.branch.clone(),
            work: workspace.work.clone(),
            error: None,
        }
    }

    /// The same, with what is wrong with it.
    #[must_use]
    pub fn with_error(workspace: &Workspace) -> Self {
        Self { error: workspace.error.clone(), ..Self::of(workspace) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutRepository {
    pub name: RepositoryName,
}

impl AboutRepository {
    #[must_use]
    pub fn of(repository: &Repository) -> Self {
        Self { name: repository.name.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutAccount {
    pub name: AccountName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutToken {
    pub id: TokenId,
    pub kind: TokenKind,
    pub name: TokenName,
    pub scope: Scope,
}

impl AboutToken {
    #[must_use]
    pub fn of(token: &Token) -> Self {
        Self { id: token.id.clone(), kind: token.kind, name: token.name.clone(), scope: token.scope }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutJob {
    pub agent: String,
    pub work: Work,
}

impl AboutJob {
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self { agent: job.agent.clone(), work: job.work.clone() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutSchedule {
    /// None for a chore of the daemon.
    pub agent: Option<AgentName>,
    pub name: ScheduleName,
    /// Why it is paused.
    pub reason: Option<String>,
}

impl AboutSchedule {
    #[must_use]
    pub fn of(schedule: &Schedule) -> Self {
        Self {
            agent: schedule.key.agent.clone(),
            name: schedule.key.name.clone(),
            reason: schedule.pause_reason.clone(),
        }
    }
}

/// What a platform sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutMessage {
    pub platform: Platform,
    pub conversation: String,
    pub author: String,
    pub why: Option<String>,
}

/// A workspace that a sweep removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptAway {
    pub workspace_id: WorkspaceId,
    pub name: WorkspaceName,
    pub why: String,
}

/// A branch that a sweep deleted, of a workspace that had gone before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptBranch {
    pub workspace_id: WorkspaceId,
    pub branch: BranchName,
    pub commit: CommitId,
    pub why: String,
}

/// What a sweep could not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepFailure {
    pub name: String,
    pub error: String,
}

/// One thing that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub what: String,
    /// What was done about it; none when it was only seen.
    pub done: Option<String>,
    /// What somebody can do about it.
    #[serde(skip)]
    pub advice: Option<Advice>,
}
