//! Journaled operations: a multi-step change whose intent is durable before its first side effect.

use crate::workspace::{UnknownWord, words};
use crate::{NodeId, OperationId, RepositoryId, Timestamp, WorkspaceId};

words!(
    OperationKind {
        Create = "create",
        Remove = "remove",
        Restore = "restore",
        Purge = "purge",
        /// What the trash or an archive still has of a workspace is deleted for good.
        Erase = "erase",
        /// A workspace of the pool is made, refreshed or retired.
        Warm = "warm",
        /// A workspace of the pool becomes somebody's.
        Claim = "claim",
        /// What a workspace holds goes to its remote, as somebody asked.
        Deliver = "deliver",
    }
);

words!(
    OperationStatus {
        /// Under way, or left behind by an owner that died; its file lock tells which.
        Open = "open",
        Done = "done",
        /// Undone after a failure.
        Undone = "undone",
        /// Neither finished nor undone: a person must look.
        Failed = "failed",
    }
);

words!(
    CreateStep {
        Adding = "adding",
        /// What was made is taken away again.
        Retiring = "retiring",
    }
);

words!(
    RemoveStep {
        Pinning = "pinning",
        Moving = "moving",
    }
);

words!(
    RestoreStep {
        Moving = "moving",
    }
);

words!(
    PurgeStep {
        Archiving = "archiving",
        Moving = "moving",
        Deleting = "deleting",
    }
);

words!(
    EraseStep {
        Moving = "moving",
        Deleting = "deleting",
    }
);

words!(
    WarmStep {
        Making = "making",
        Refreshing = "refreshing",
        Retiring = "retiring",
    }
);

words!(
    ClaimStep {
        Claiming = "claiming",
    }
);

words!(
    DeliverStep {
        Delivering = "delivering",
    }
);

/// What an operation was about to do when it last wrote that down; with it goes which operation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Create(CreateStep),
    Remove(RemoveStep),
    Restore(RestoreStep),
    Purge(PurgeStep),
    Erase(EraseStep),
    Warm(WarmStep),
    Claim(ClaimStep),
    Deliver(DeliverStep),
}

impl Step {
    #[must_use]
    pub fn kind(self) -> OperationKind {
        match self {
            Self::Create(_) => OperationKind::Create,
            Self::Remove(_) => OperationKind::Remove,
            Self::Restore(_) => OperationKind::Restore,
            Self::Purge(_) => OperationKind::Purge,
            Self::Erase(_) => OperationKind::Erase,
            Self::Warm(_) => OperationKind::Warm,
            Self::Claim(_) => OperationKind::Claim,
            Self::Deliver(_) => OperationKind::Deliver,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create(step) => step.as_str(),
            Self::Remove(step) => step.as_str(),
            Self::Restore(step) => step.as_str(),
            Self::Purge(step) => step.as_str(),
            Self::Erase(step) => step.as_str(),
            Self::Warm(step) => step.as_str(),
            Self::Claim(step) => step.as_str(),
            Self::Deliver(step) => step.as_str(),
        }
    }

    /// The step of an operation that has this name.
    pub fn parse(kind: OperationKind, text: &str) -> Result<Self, UnknownWord> {
        Ok(match kind {
            OperationKind::Create => Self::Create(text.parse()?),
            OperationKind::Remove => Self::Remove(text.parse()?),
            OperationKind::Restore => Self::Restore(text.parse()?),
            OperationKind::Purge => Self::Purge(text.parse()?),
            OperationKind::Erase => Self::Erase(text.parse()?),
            OperationKind::Warm => Self::Warm(text.parse()?),
            OperationKind::Claim => Self::Claim(text.parse()?),
            OperationKind::Deliver => Self::Deliver(text.parse()?),
        })
    }
}

/// One row of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub id: OperationId,
    pub node: NodeId,
    pub repository_id: RepositoryId,
    pub workspace_id: WorkspaceId,
    pub status: OperationStatus,
    /// The last step whose intent was recorded.
    pub step: Step,
    /// What the steps need to be finished or undone by somebody else; the operation's own JSON.
    pub data: serde_json::Value,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Operation {
    #[must_use]
    pub fn kind(&self) -> OperationKind {
        self.step.kind()
    }
}
