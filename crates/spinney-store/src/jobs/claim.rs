//! Which job holds which item of a work source.
//!
//! A claim is a lease: its node renews it, and once it has run out another may settle it. Its job's id is the fencing
//! token: nothing is done to a claim but by who knows it. Times are the database's.

use std::time::Duration;

use spinney_core::{Claim, JobId, NodeId, ScheduleKey};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

macro_rules! claims_sql {
    ($rest:literal) => {
        concat!(
            "SELECT item, source, account, node, repository_id, agent, schedule, job_id, work_source, since FROM claims ",
            $rest
        )
    };
}

fn claim(row: &AnyRow) -> Result<Claim, Error> {
    let mut row = Reader::new("claims", row);
    Ok(Claim {
        item: row.text()?,
        source: row.text()?,
        schedule: ScheduleKey {
            account: row.text()?,
            node: row.parsed()?,
            repository_id: row.parsed_unless_empty()?,
            agent: row.parsed_unless_empty()?,
            name: row.parsed()?,
        },
        job_id: row.parsed()?,
        work_source: row.json()?,
        since: row.time()?,
    })
}

impl Connection {
    /// Gives an item to a job for a time; `false` when somebody has it.
    pub async fn insert_claim(&mut self, claim: &Claim, lease: Duration) -> Result<bool, Error> {
        let sql = format!(
            "INSERT INTO claims
                 (source, item, account, node, repository_id, agent, schedule, job_id, work_source, since, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {} + $11) ON CONFLICT DO NOTHING",
            self.dialect().now_ms()
        );
        let key = &claim.schedule;
        let query = sqlx::query(AssertSqlSafe(sql))
            .bind(&claim.source)
            .bind(&claim.item)
            .bind(&key.account)
            .bind(key.node.as_str())
            .bind(key.repository_id.as_ref().map_or("", |id| id.as_str()))
            .bind(key.agent.as_ref().map_or("", |agent| agent.as_str()))
            .bind(key.name.as_str())
            .bind(claim.job_id.as_str())
            .bind(serde_json::json!(claim.work_source).to_string())
            .bind(claim.since.as_millisecond())
            .bind(milliseconds(lease));
        Ok(self.execute(query).await? > 0)
    }

    /// Gives up an item; `false` when that job does not have it.
    pub async fn delete_claim(&mut self, source: &str, item: &str, job: &JobId) -> Result<bool, Error> {
        let query = sqlx::query("DELETE FROM claims WHERE source = $1 AND item = $2 AND job_id = $3");
        Ok(self.execute(query.bind(source).bind(item).bind(job.as_str())).await? > 0)
    }

    /// Prolongs the claims of an account on a node.
    pub async fn renew_claims(&mut self, account: &str, node: &NodeId, lease: Duration) -> Result<(), Error> {
        let now = self.dialect().now_ms();
        let sql = format!("UPDATE claims SET expires_at = {now} + $3 WHERE account = $1 AND node = $2");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(account).bind(node.as_str()).bind(milliseconds(lease));
        self.execute(query).await.map(drop)
    }

    /// Loads an account's claims that a node may settle, oldest first: its own, and those of others that ran out.
    pub async fn claims_to_settle(&mut self, account: &str, node: &NodeId) -> Result<Vec<Claim>, Error> {
        let sql = format!(
            "{} OR expires_at < {}) ORDER BY since, item",
            claims_sql!("WHERE account = $1 AND (node = $2"),
            self.dialect().now_ms()
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(account).bind(node.as_str());
        self.fetch_all(query).await?.iter().map(claim).collect()
    }

    /// Loads the claim of an item.
    pub async fn claim(&mut self, source: &str, item: &str) -> Result<Option<Claim>, Error> {
        let query = sqlx::query(claims_sql!("WHERE source = $1 AND item = $2")).bind(source).bind(item);
        self.fetch_optional(query).await?.as_ref().map(claim).transpose()
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
