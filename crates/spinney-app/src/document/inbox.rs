//! What platforms sent.

use serde::Serialize;
use spinney_core::Delivery;
use utoipa::ToSchema;

use super::{DeliveryStatus, Platform, Timestamp};
use crate::words;

/// A part of what platforms sent, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InboxPage {
    pub messages: Vec<InboxMessage>,
    /// The `cursor` of the next part; none: that was all.
    #[schema(required)]
    pub next: Option<String>,
}

/// One message or event of a platform. What was written is not in it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InboxMessage {
    pub platform: Platform,
    /// The platform's own id of this sending.
    pub id: String,
    /// As `acme/app#42`, or a channel; empty where it is not known.
    pub conversation: String,
    /// The platform's own id of who wrote it; empty where it is not known.
    pub author: String,
    pub status: DeliveryStatus,
    /// Why nothing was done about it: a word, as `not_listed` or `no_mention`.
    #[schema(required)]
    pub reason: Option<String>,
    /// The field of the payload, or the key of the configuration, that decided.
    #[schema(required)]
    pub decided_by: Option<String>,
    /// The reason as a sentence.
    #[schema(required)]
    pub why: Option<String>,
    /// The job that it became.
    #[schema(required)]
    pub job: Option<String>,
    pub received_at: Timestamp,
    /// None while it is open.
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

impl InboxMessage {
    #[must_use]
    pub fn of(delivery: &Delivery) -> Self {
        let reason = delivery.reason().filter(|_| spinney_core::DeliveryStatus::IGNORED.contains(&delivery.status));
        Self {
            platform: delivery.platform.into(),
            id: delivery.id.clone(),
            conversation: delivery.conversation.clone(),
            author: delivery.author.clone(),
            status: delivery.status.into(),
            reason: reason.as_ref().map(|reason| reason.code().to_owned()),
            decided_by: reason.as_ref().and_then(|reason| reason.decided_by().map(ToOwned::to_owned)),
            why: reason.as_ref().map(words::ignored),
            job: delivery.job_id.as_ref().map(ToString::to_string),
            received_at: delivery.received_at.into(),
            ended_at: delivery.ended_at.map(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use spinney_core::{IgnoreReason, JobId, NodeId};

    use super::*;
    use crate::document::described::assert_described;

    #[test]
    fn a_message_is_what_its_schema_says() {
        let now = spinney_core::Timestamp::from_millisecond(0);
        let reason = IgnoreReason::NotListed { user: "7".to_owned(), key: "platforms.github.allowed_users".to_owned() };
        let refused = Delivery {
            platform: spinney_core::Platform::on("github"),
            id: "1".to_owned(),
            account: "local".to_owned(),
            node: NodeId::generate(),
            conversation: "acme/app#42".to_owned(),
            subject: None,
            author: "7".to_owned(),
            event: Value::Null,
            status: spinney_core::DeliveryStatus::Refused,
            job_id: Some(JobId::generate()),
            answer: json!({ "reason": reason }),
            received_at: now,
            ended_at: Some(now),
        };
        let full = InboxMessage::of(&refused);
        assert_eq!(full.decided_by.as_deref(), Some("platforms.github.allowed_users"));
        let open = Delivery {
            status: spinney_core::DeliveryStatus::Received,
            job_id: None,
            ended_at: None,
            answer: Value::Null,
            ..refused
        };
        assert_described(&full, &InboxMessage::of(&open));
        let page = |messages, next| InboxPage { messages, next };
        assert_described(&page(vec![full], Some("1".to_owned())), &page(vec![], None));
    }
}
