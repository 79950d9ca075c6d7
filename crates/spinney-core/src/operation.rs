//! Journaled operations: a multi-step change whose intent is durable before its first side effect.

use crate::workspace::words;
use crate::{NodeId, OperationId, RepositoryId, Timestamp, WorkspaceId};

words!(
    OperationKind {
        Create = "create",
        Remove = "remove",
        Restore = "restore",
        Purge = "purge",
        /// A workspace of the pool is made, refreshed or retired.
        Warm = "warm",
        /// A workspace of the pool becomes somebody's.
        Claim = "claim",
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

/// One row of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub id: OperationId,
    pub node: NodeId,
    pub kind: OperationKind,
    pub repository_id: RepositoryId,
    pub workspace_id: WorkspaceId,
    pub status: OperationStatus,
    /// The last step whose intent was recorded; a word that the operation's own code defines.
    pub step: String,
    /// What the steps need to be finished or undone by somebody else; the operation's own JSON.
    pub data: serde_json::Value,
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
