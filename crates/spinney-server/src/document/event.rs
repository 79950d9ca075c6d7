//! An entry of the audit log.

use serde::Serialize;
use utoipa::ToSchema;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Event {
    /// Counts up; who has seen one has seen all before it.
    pub id: i64,
    /// What happened, as `job.started`.
    pub kind: String,
    #[schema(required)]
    pub workspace_id: Option<String>,
    #[schema(required)]
    pub repository_id: Option<String>,
    #[schema(required)]
    pub job_id: Option<String>,
    /// What else is to be said, by the kind.
    pub detail: serde_json::Value,
    #[schema(format = DateTime)]
    pub at: String,
}

impl Event {
    #[must_use]
    pub fn new(id: i64, event: &spinney_store::Event) -> Self {
        Self {
            id,
            kind: event.kind.clone(),
            workspace_id: event.workspace_id.as_ref().map(ToString::to_string),
            repository_id: event.repository_id.as_ref().map(ToString::to_string),
            job_id: event.job_id.as_ref().map(ToString::to_string),
            detail: event.detail.clone(),
            at: event.at.to_string(),
        }
    }
}
