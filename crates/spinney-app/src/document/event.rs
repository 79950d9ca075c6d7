//! An entry of the audit log.

use serde::Serialize;
use spinney_core::Recorded;
use utoipa::ToSchema;

use super::Actor;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Event {
    /// Counts up; who has seen one has seen all before it.
    pub id: i64,
    /// Who did it.
    pub actor: Actor,
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
    pub fn new(id: i64, recorded: &Recorded) -> Self {
        let (kind, detail) = recorded.event.parts();
        Self {
            id,
            actor: Actor::of(&recorded.actor),
            kind,
            workspace_id: recorded.workspace_id.as_ref().map(ToString::to_string),
            repository_id: recorded.repository_id.as_ref().map(ToString::to_string),
            job_id: recorded.job_id.as_ref().map(ToString::to_string),
            detail,
            at: recorded.at.to_string(),
        }
    }
}
