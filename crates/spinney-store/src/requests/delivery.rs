//! What platforms sent: the queue of what is to be answered, and the memory of what was.

use spinney_core::{Delivery, DeliveryStatus, NodeId, Platform, Timestamp};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

macro_rules! deliveries_sql {
    ($rest:literal) => {
        concat!(
            "SELECT id, platform, account, node, conversation, subject, author, event, status, job_id, answer, received_at,
                 ended_at, number
             FROM deliveries ",
            $rest
        )
    };
}

fn delivery(row: &AnyRow) -> Result<Delivery, Error> {
    numbered(row).map(|(_, delivery)| delivery)
}

fn numbered(row: &AnyRow) -> Result<(i64, Delivery), Error> {
    let mut row = Reader::new("deliveries", row);
    let delivery = Delivery {
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
    };
    Ok((row.number()?, delivery))
}

impl Connection {
    /// Writes down what came; `false` when it came before. What came before and was ignored counts as new: who sends it again
    /// has changed what was in its way. What was said about it, as a refusal, stays known.
    pub async fn insert_delivery(&mut self, delivery: &Delivery) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO deliveries
                 (platform, id, account, node, conversation, subject, author, event, status, job_id, answer, received_at,
                 ended_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             ON CONFLICT (platform, id) DO UPDATE
             SET node = excluded.node, conversation = excluded.conversation, subject = excluded.subject,
                 author = excluded.author, event = excluded.event, status = excluded.status,
                 answer = CASE WHEN excluded.answer = 'null' THEN deliveries.answer ELSE excluded.answer END,
                 received_at = excluded.received_at, ended_at = excluded.ended_at
             WHERE deliveries.account = excluded.account AND deliveries.job_id IS NULL
                   AND deliveries.status IN ('ignored', 'refused')",
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

    /// Loads what came, newest first, before a number: all, or what nothing was done about; each with its number.
    pub async fn deliveries_before(
        &mut self,
        account: &str,
        before: Option<i64>,
        only_ignored: bool,
        limit: u32,
    ) -> Result<Vec<(i64, Delivery)>, Error> {
        let mut sql = deliveries_sql!("WHERE account = $1 AND number < $2").to_owned();
        if only_ignored {
            sql.push_str(" AND status IN ('ignored', 'refused')");
        }
        sql.push_str(&format!(" ORDER BY number DESC LIMIT {limit}"));
        let query = sqlx::query(AssertSqlSafe(sql)).bind(account).bind(before.unwrap_or(i64::MAX));
        self.fetch_all(query).await?.iter().map(numbered).collect()
    }

    /// Forgets all but the newest of what was ignored on a platform.
    pub async fn keep_ignored_deliveries(&mut self, platform: Platform, most: u32) -> Result<(), Error> {
        let query = sqlx::query(
            "DELETE FROM deliveries
             WHERE platform = $1 AND status IN ('ignored', 'refused') AND number <= (
                 SELECT number FROM deliveries WHERE platform = $1 AND status IN ('ignored', 'refused')
                 ORDER BY number DESC LIMIT 1 OFFSET $2)",
        );
        self.execute(query.bind(platform.as_str()).bind(i64::from(most))).await.map(drop)
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
