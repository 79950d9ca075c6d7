//! What platforms sent: the queue of what is to be answered, and the memory of what was.

use spinney_core::{Delivery, DeliveryStatus, NodeId, Platform, Timestamp};
use sqlx::any::AnyRow;

use crate::row::Reader;
use crate::{Connection, Error};

macro_rules! deliveries_sql {
    ($rest:literal) => {
        concat!(
            "SELECT id, platform, account, node, conversation, subject, author, event, status, job_id, answer, received_at,
                 ended_at
             FROM deliveries ",
            $rest
        )
    };
}

fn delivery(row: &AnyRow) -> Result<Delivery, Error> {
    let mut row = Reader::new("deliveries", row);
    Ok(Delivery {
        id: row.text()?,
        platform: row.parsed()?,
        account: row.text()?,
        node: row.parsed()?,
        conversation: row.text()?,
        subject: row.optional_text()?,
        author: row.text()?,
        event: row.json()?,
        status: row.parsed()?,
        job_id: row.optional_parsed()?,
        answer: row.json()?,
        received_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}

impl Connection {
    /// Writes down what came; `false` when it came before.
    pub async fn insert_delivery(&mut self, delivery: &Delivery) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO deliveries
                 (platform, id, account, node, conversation, subject, author, event, status, job_id, answer, received_at,
                 ended_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (platform, id) DO NOTHING",
        )
        .bind(delivery.platform.as_str())
        .bind(&delivery.id)
        .bind(&delivery.account)
        .bind(delivery.node.as_str())
        .bind(&delivery.conversation)
        .bind(delivery.subject.as_deref())
        .bind(&delivery.author)
        .bind(delivery.event.to_string())
        .bind(delivery.status.as_str())
        .bind(delivery.job_id.as_ref().map(|id| id.as_str().to_owned()))
        .bind(delivery.answer.to_string())
        .bind(delivery.received_at.as_millisecond())
        .bind(delivery.ended_at.map(Timestamp::as_millisecond));
        Ok(self.execute(query).await? > 0)
    }

    /// Writes how far an answer has come; `false` when it has come elsewhere meanwhile.
    pub async fn update_delivery(&mut self, delivery: &Delivery, expected: DeliveryStatus) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE deliveries SET event = $3, status = $4, job_id = $5, answer = $6, ended_at = $7
             WHERE platform = $1 AND id = $2 AND status = $8",
        )
        .bind(delivery.platform.as_str())
        .bind(&delivery.id)
        .bind(delivery.event.to_string())
        .bind(delivery.status.as_str())
        .bind(delivery.job_id.as_ref().map(|id| id.as_str().to_owned()))
        .bind(delivery.answer.to_string())
        .bind(delivery.ended_at.map(Timestamp::as_millisecond))
        .bind(expected.as_str());
        Ok(self.execute(query).await? > 0)
    }

    /// Loads what a node has not answered yet, in the order in which it came.
    pub async fn open_deliveries(&mut self, node: &NodeId) -> Result<Vec<Delivery>, Error> {
        let query = sqlx::query(deliveries_sql!("WHERE node = $1 AND ended_at IS NULL ORDER BY number"));
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(delivery).collect()
    }

    pub async fn delivery(&mut self, platform: Platform, id: &str) -> Result<Option<Delivery>, Error> {
        let query = sqlx::query(deliveries_sql!("WHERE platform = $1 AND id = $2"));
        let row = self.fetch_optional(query.bind(platform.as_str()).bind(id)).await?;
        row.as_ref().map(delivery).transpose()
    }

    /// Loads what came about one message, oldest first.
    pub async fn deliveries_about(
        &mut self,
        platform: Platform,
        conversation: &str,
        subject: &str,
    ) -> Result<Vec<Delivery>, Error> {
        let query =
            sqlx::query(deliveries_sql!("WHERE platform = $1 AND conversation = $2 AND subject = $3 ORDER BY number"));
        let query = query.bind(platform.as_str()).bind(conversation).bind(subject);
        self.fetch_all(query).await?.iter().map(delivery).collect()
    }

    /// Whether somebody was refused in a conversation before.
    pub async fn was_refused(&mut self, platform: Platform, conversation: &str, author: &str) -> Result<bool, Error> {
        let query = sqlx::query(
            "SELECT id FROM deliveries WHERE platform = $1 AND conversation = $2 AND author = $3 AND status = $4 LIMIT 1",
        );
        let query = query.bind(platform.as_str()).bind(conversation).bind(author);
        Ok(self.fetch_optional(query.bind(DeliveryStatus::Refused.as_str())).await?.is_some())
    }

    /// Forgets what was answered before a time.
    pub async fn delete_deliveries_before(&mut self, time: Timestamp) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM deliveries WHERE ended_at < $1").bind(time.as_millisecond());
        self.execute(query).await.map(drop)
    }
}
