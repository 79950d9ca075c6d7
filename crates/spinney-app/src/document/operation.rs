//! Long work that a request began.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{LongOperationStatus, Timestamp};

/// Long work that a request began, to be asked for again until it is over.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Operation {
    pub id: String,
    /// As `cleanup` or `repository.add`.
    pub kind: String,
    pub status: LongOperationStatus,
    /// When it is done, what the request would have answered; when it failed, the error.
    #[schema(required)]
    pub result: Option<Value>,
    pub created_at: Timestamp,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

impl Operation {
    #[must_use]
    pub fn of(operation: &spinney_core::LongOperation) -> Self {
        Self {
            id: operation.id.to_string(),
            kind: operation.kind.clone(),
            status: operation.status.into(),
            result: operation.result.clone(),
            created_at: operation.created_at.into(),
            ended_at: operation.ended_at.map(Into::into),
        }
    }
}
