//! What became of a schedule's last run, as it is kept and shown.

use serde::{Deserialize, Serialize};
use spinney_core::JobStatus;

/// What is kept of a message.
const MAX_MESSAGE_BYTES: usize = 2000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub outcome: RunOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The item of the work source that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// How often in a row it was postponed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It was taken, and its job is not there yet.
    Taken,
    /// Its job waits or runs.
    Started,
    /// Its work source has nothing that is ready.
    Idle,
    /// Somebody else is at it: its own last job, or who holds the items.
    Skipped,
    /// There was no job, for a reason that passes by itself.
    Postponed,
    Completed,
    Cancelled,
    Failed,
}

impl Report {
    pub(super) fn new(outcome: RunOutcome, message: Option<String>) -> Self {
        let cut = |mut text: String| {
            text.truncate(text.floor_char_boundary(MAX_MESSAGE_BYTES));
            text
        };
        Self { outcome, message: message.map(cut), item: None, postponed: 0 }
    }

    /// One more time after the last.
    pub(super) fn postponed(message: String, last: Option<&Self>) -> Self {
        let before = last.map_or(0, |last| last.postponed);
        Self { postponed: before.saturating_add(1), ..Self::new(RunOutcome::Postponed, Some(message)) }
    }

    pub(super) fn about(self, item: Option<String>) -> Self {
        Self { item, ..self }
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::json!(self)
    }

    /// What is kept in a row; none of another kind, or of none.
    #[must_use]
    pub fn read(value: &serde_json::Value) -> Option<Self> {
        serde_json::from_value(value.clone()).ok()
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl From<JobStatus> for RunOutcome {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Pending | JobStatus::Running => Self::Started,
            JobStatus::Completed => Self::Completed,
            JobStatus::Cancelled => Self::Cancelled,
            JobStatus::Failed | JobStatus::TimedOut | JobStatus::Interrupted => Self::Failed,
        }
    }
}
