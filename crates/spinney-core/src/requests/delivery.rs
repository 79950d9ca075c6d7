//! What a platform sent, and how far the answer has come.

use serde_json::Value;

use crate::workspace::words;
use crate::{IgnoreReason, JobId, NodeId, Platform, Timestamp};

/// Where an answer holds the reason why there is none.
const REASON: &str = "reason";

words!(
    DeliveryStatus {
        /// Written down; nothing was done yet.
        Received = "received",
        /// A job is at it; its end is to be told.
        Working = "working",
        /// Answered.
        Done = "done",
        /// It asked for nothing.
        Ignored = "ignored",
        /// Its author may not ask.
        Refused = "refused",
        /// It could not be answered, for what its last event in the audit log says.
        Failed = "failed",
    }
);

impl DeliveryStatus {
    /// Those of what nothing was done about.
    pub const IGNORED: &'static [Self] = &[Self::Ignored, Self::Refused];

    /// Whether nothing more happens to it.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Received | Self::Working)
    }
}

impl Delivery {
    /// Why nothing was done about it.
    #[must_use]
    pub fn reason(&self) -> Option<IgnoreReason> {
        serde_json::from_value(self.answer[REASON].clone()).ok()
    }
}

/// One row of the store. Its id is the platform's own, so that what is sent twice counts once.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub platform: Platform,
    pub id: String,
    pub account: String,
    /// The one that received it answers it.
    pub node: NodeId,
    pub conversation: String,
    /// The message that it is about, by the platform's own id.
    pub subject: Option<String>,
    /// The platform's own id of who wrote it.
    pub author: String,
    /// What was understood of it; emptied once it is answered.
    pub event: Value,
    pub status: DeliveryStatus,
    /// Chosen before the job is asked for, so that it is asked for once.
    pub job_id: Option<JobId>,
    /// Where the answer stands, as its platform tells it, written around each sending; or why there is none.
    pub answer: Value,
    pub received_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
