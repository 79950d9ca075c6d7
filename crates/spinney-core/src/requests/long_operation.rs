//! Long work that a request to the daemon began.

use crate::workspace::words;
use crate::{AccountName, NodeId, OperationId, Timestamp};

words!(
    /// How long work goes.
    LongOperationStatus {
        Running = "running",
        Done = "done",
        Failed = "failed",
        /// The daemon died over it. What it changed is whole: the journal's operations were finished or undone.
        Interrupted = "interrupted",
    }
);

/// One row of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct LongOperation {
    pub id: OperationId,
    pub account: AccountName,
    pub node: NodeId,
    /// As `cleanup` or `repository.add`.
    pub kind: String,
    pub status: LongOperationStatus,
    /// What came of it, or why it failed.
    pub result: Option<serde_json::Value>,
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
