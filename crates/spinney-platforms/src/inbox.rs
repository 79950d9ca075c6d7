//! What came is written down before anybody is answered: from here on no death loses it, and what comes twice counts once.

use std::sync::Arc;

use serde_json::{Value, json};
use spinney_core::{Delivery, DeliveryStatus, Timestamp};
use spinney_engine::Engine;
use tokio::sync::Notify;

use crate::{Inbound, Result};

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
