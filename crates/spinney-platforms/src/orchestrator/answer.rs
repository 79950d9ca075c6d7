//! The one message that answers a delivery: said once, then changed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use spinney_app::words;
use spinney_core::event::AboutMessage;
use spinney_core::{Delivery, DeliveryStatus, Event, IgnoreReason, Timestamp};
use spinney_engine::fail;
use spinney_store::{Connection, Subject};

use super::Orchestrator;
use crate::conversation::inbox;
use crate::{Adapter, Inbound, Message, Result, Sent};

/// How an answer stands, in the delivery's row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Answered {
    pub sent: Option<Sent>,
    /// What it says now.
    pub said: Option<Message>,
    pub said_at_ms: i64,
    /// Whether it was begun to say it: what is found again then may say something older.
    pub posting: bool,
    /// Whether a command was begun.
    pub begun: bool,
    /// Why nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<IgnoreReason>,
}

impl Answered {
    pub fn of(delivery: &Delivery) -> Self {
        serde_json::from_value(delivery.answer.clone()).unwrap_or_default()
    }

    /// Whether the platform wants to be left alone with this message for now.
    pub fn is_fresh(&self, every: Duration) -> bool {
        let age = Timestamp::now().as_millisecond() - self.said_at_ms;
        self.sent.is_some() && age < i64::try_from(every.as_millis()).unwrap_or(i64::MAX)
    }
}

impl Orchestrator {
    /// Says a delivery's answer as it is now; nothing where it says that already.
    pub(super) async fn say(
        &self,
        delivery: &mut Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        message: Message,
    ) -> Result<()> {
        let mut standing = Answered::of(delivery);
        if standing.said.as_ref() == Some(&message) && standing.sent.is_some() {
            return Ok(());
        }
        let sent = match &standing.sent {
            Some(sent) => adapter.edit(&inbound.place, sent, &message).await?,
            None => {
                let again = std::mem::replace(&mut standing.posting, true);
                if !again {
                    self.note(delivery, &standing).await?;
                }
                fail::point("answer.posting")?;
                let mut sent = adapter.post(&inbound.place, &delivery.id, &message).await?;
                fail::point("answer.posted")?;
                if again {
                    sent = adapter.edit(&inbound.place, &sent, &message).await?;
                }
                sent
            }
        };
        (standing.sent, standing.said) = (Some(sent), Some(message));
        standing.said_at_ms = Timestamp::now().as_millisecond();
        self.note(delivery, &standing).await
    }

    /// Writes down how an answer stands.
    pub(super) async fn note(&self, delivery: &mut Delivery, standing: &Answered) -> Result<()> {
        delivery.answer = json!(standing);
        let mut db = self.engine().store().write().await?;
        db.update_delivery(delivery, delivery.status).await?;
        Ok(db.commit().await?)
    }

    /// Says the last of it, and ends the delivery.
    pub(super) async fn answer(
        &self,
        mut delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        message: Message,
        status: DeliveryStatus,
    ) -> Result<()> {
        self.say(&mut delivery, inbound, adapter, message).await?;
        fail::point("answer.said")?;
        self.end(delivery, status, None).await
    }

    /// Ends a delivery; with a reason, that is told in the audit log.
    pub(super) async fn end(&self, mut delivery: Delivery, status: DeliveryStatus, why: Option<&str>) -> Result<()> {
        let before = delivery.status;
        end(&mut delivery, status, None);
        let mut db = self.engine().store().write().await?;
        if db.update_delivery(&delivery, before).await?
            && let Some(why) = why
        {
            record(&mut db, &delivery, why)?;
        }
        Ok(db.commit().await?)
    }

    /// Ends a delivery that nothing is done about, and says why in the log; where somebody asked for something, in the audit
    /// log too.
    pub(super) async fn ignore(&self, mut delivery: Delivery, reason: IgnoreReason) -> Result<()> {
        let before = delivery.status;
        let is_audited = match reason {
            IgnoreReason::UnknownRepository { .. } => Some(DeliveryStatus::Ignored),
            IgnoreReason::NotListed { .. } | IgnoreReason::NoWriteAccess { .. } => Some(DeliveryStatus::Refused),
            _ => None,
        };
        inbox::tell(delivery.platform, &delivery.id, &reason);
        let why = words::ignored(&reason);
        end(&mut delivery, is_audited.unwrap_or(DeliveryStatus::Ignored), Some(reason));
        let mut db = self.engine().store().write().await?;
        if db.update_delivery(&delivery, before).await? && is_audited.is_some() {
            record(&mut db, &delivery, &why)?;
        }
        Ok(db.commit().await?)
    }
}

/// What was said with it is no longer needed, and not kept.
pub(super) fn end(delivery: &mut Delivery, status: DeliveryStatus, reason: Option<IgnoreReason>) {
    delivery.status = status;
    delivery.ended_at = Some(Timestamp::now());
    delivery.event = json!(null);
    let mut standing = Answered::of(delivery);
    (standing.said, standing.reason) = (None, reason);
    delivery.answer = json!(standing);
}

/// Writes into the audit log what became of a delivery that is over.
pub(super) fn record(db: &mut Connection, delivery: &Delivery, why: &str) -> Result<()> {
    let about = AboutMessage {
        platform: delivery.platform,
        conversation: delivery.conversation.clone(),
        author: delivery.author.clone(),
        why: Some(why.to_owned()),
    };
    let event = match delivery.status {
        DeliveryStatus::Received | DeliveryStatus::Working => return Ok(()),
        DeliveryStatus::Done => Event::MessageDone(about),
        DeliveryStatus::Ignored => Event::MessageIgnored(about),
        DeliveryStatus::Refused => Event::MessageRefused(about),
        DeliveryStatus::Failed => Event::MessageFailed(about),
    };
    let subject = Subject { job_id: delivery.job_id.clone(), ..Subject::account(&delivery.account) };
    Ok(db.record(subject, event)?)
}
