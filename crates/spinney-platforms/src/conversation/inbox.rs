//! What came is written down before anybody is answered: from here on no death loses it, and what comes twice counts once.

use std::sync::Arc;

use serde_json::{Value, json};
use spinney_app::words;
use spinney_core::{Delivery, DeliveryStatus, IgnoreReason, Platform, Timestamp};
use spinney_engine::Engine;
use tokio::sync::Notify;

use crate::{Ignored, Inbound, Result};

/// How much of what was ignored is kept of each platform.
const MOST_IGNORED: u32 = 1000;

/// Where adapters put what they understood. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Inbox {
    engine: Arc<Engine>,
    /// Told when something came.
    pub(crate) bell: Arc<Notify>,
}

impl Inbox {
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, bell: Arc::default() }
    }

    /// The same with another configuration.
    pub(crate) fn reconfigured(&self, engine: Arc<Engine>) -> Self {
        Self { engine, bell: Arc::clone(&self.bell) }
    }

    /// Writes down what came, in one transaction; tells how much of it is new.
    pub async fn accept(&self, inbound: &[Inbound]) -> Result<usize> {
        if inbound.is_empty() {
            return Ok(0);
        }
        let mut db = self.engine.store().write().await?;
        let mut fresh = 0;
        for inbound in inbound {
            let delivery = Delivery {
                platform: inbound.platform,
                id: inbound.delivery.clone(),
                account: self.engine.account().to_owned(),
                node: self.engine.home().node().clone(),
                conversation: inbound.conversation.clone(),
                subject: inbound.subject.clone(),
                author: inbound.author.id.clone(),
                event: json!(inbound),
                status: DeliveryStatus::Received,
                job_id: None,
                answer: Value::Null,
                received_at: Timestamp::now(),
                ended_at: None,
            };
            fresh += usize::from(db.insert_delivery(&delivery).await?);
        }
        db.commit().await?;
        self.bell.notify_one();
        Ok(fresh)
    }
}

impl Inbox {
    /// Writes down why nothing is done about something, in the log and in the store. Only what was verified comes here.
    pub async fn ignore(&self, ignored: &Ignored) -> Result<()> {
        let Ignored { platform, delivery, conversation, author, reason } = ignored;
        tell(*platform, delivery, reason);
        if !reason.is_kept() {
            return Ok(());
        }
        let now = Timestamp::now();
        let row = Delivery {
            platform: *platform,
            id: delivery.clone(),
            account: self.engine.account().to_owned(),
            node: self.engine.home().node().clone(),
            conversation: conversation.clone(),
            subject: None,
            author: author.clone(),
            event: Value::Null,
            status: DeliveryStatus::Ignored,
            job_id: None,
            answer: json!({ "reason": reason }),
            received_at: now,
            ended_at: Some(now),
        };
        let mut db = self.engine.store().write().await?;
        if db.insert_delivery(&row).await? {
            db.keep_ignored_deliveries(*platform, MOST_IGNORED).await?;
        }
        Ok(db.commit().await?)
    }
}

/// Says in the log why nothing is done.
pub(crate) fn tell(platform: Platform, delivery: &str, reason: &IgnoreReason) {
    let why = words::ignored(reason);
    match reason.is_kept() {
        true => tracing::info!(%platform, delivery, why, "message ignored"),
        false => tracing::debug!(%platform, delivery, why, "message ignored"),
    }
}
