//! The audit log: what happened, to whom it belongs, in order.
//!
//! Whoever has seen a number has seen every smaller one: numbers become visible in their order, and none is used twice.

use spinney_core::{JobId, RepositoryId, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::row::Reader;
use crate::{Connection, Error};

macro_rules! events_sql {
    ($rest:literal) => {
        concat!("SELECT id, account, kind, workspace_id, repository_id, job_id, detail, at FROM events ", $rest)
    };
}

/// Something that happened. It stays when what it tells about is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub account: String,
    pub kind: String,
    pub workspace_id: Option<WorkspaceId>,
    pub repository_id: Option<RepositoryId>,
    pub job_id: Option<JobId>,
    pub detail: serde_json::Value,
    pub at: Timestamp,
}

/// Which events are meant: those of all that is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub workspace: Option<WorkspaceId>,
    pub repository: Option<RepositoryId>,
    pub job: Option<JobId>,
}

/// New workspaces, by whether they came from a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Claims {
    pub hits: u64,
    pub misses: u64,
    /// The number of the last event that was counted.
    pub up_to: i64,
}

fn event(row: &AnyRow) -> Result<(i64, Event), Error> {
    let mut row = Reader::new("events", row);
    let id = row.number()?;
    let event = Event {
        account: row.text()?,
        kind: row.text()?,
        workspace_id: row.optional_parsed()?,
        repository_id: row.optional_parsed()?,
        job_id: row.optional_parsed()?,
        detail: row.json()?,
        at: row.time()?,
    };
    Ok((id, event))
}

impl Connection {
    /// Adds an event to the log, as the last thing that the transaction does: it is numbered by the commit.
    pub fn record_event(&mut self, event: Event) -> Result<(), Error> {
        self.require_transaction()?;
        self.events.push(event);
        Ok(())
    }

    /// Writes what was recorded. Who numbers events holds others up that do, so nothing but the commit may follow.
    pub(crate) async fn write_events(&mut self) -> Result<(), Error> {
        let events = std::mem::take(&mut self.events);
        if let Some(lock) = self.dialect().lock_events().filter(|_| !events.is_empty()) {
            self.run(lock).await?;
        }
        for event in events {
            let query = sqlx::query(
                "INSERT INTO events (account, kind, workspace_id, repository_id, job_id, detail, at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(event.account)
            .bind(event.kind)
            .bind(event.workspace_id.as_ref().map(WorkspaceId::as_str))
            .bind(event.repository_id.as_ref().map(RepositoryId::as_str))
            .bind(event.job_id.as_ref().map(JobId::as_str))
            .bind(event.detail.to_string())
            .bind(event.at.as_millisecond());
            self.execute(query).await?;
        }
        Ok(())
    }

    /// Loads an account's events after a number, oldest first, each with its own number.
    pub async fn events(&mut self, account: &str, after: i64, limit: u32) -> Result<Vec<(i64, Event)>, Error> {
        let query = sqlx::query(events_sql!("WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3"));
        let query = query.bind(account).bind(after).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(event).collect()
    }

    /// Loads the events of all accounts after a number, oldest first.
    pub async fn events_after(&mut self, after: i64, limit: u32) -> Result<Vec<(i64, Event)>, Error> {
        let query = sqlx::query(events_sql!("WHERE id > $1 ORDER BY id LIMIT $2"));
        let query = query.bind(after).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(event).collect()
    }

    /// Loads an account's events before a number, or the newest ones, newest first.
    pub async fn events_before(
        &mut self,
        account: &str,
        before: Option<i64>,
        filter: &EventFilter,
        limit: u32,
    ) -> Result<Vec<(i64, Event)>, Error> {
        let named = [
            ("workspace_id", filter.workspace.as_ref().map(WorkspaceId::as_str)),
            ("repository_id", filter.repository.as_ref().map(RepositoryId::as_str)),
            ("job_id", filter.job.as_ref().map(JobId::as_str)),
        ];
        let mut sql = events_sql!("WHERE account = $1 AND id < $2").to_owned();
        let mut values = Vec::new();
        for (column, value) in named {
            if let Some(value) = value {
                values.push(value);
                sql.push_str(&format!(" AND {column} = ${}", values.len() + 2));
            }
        }
        sql.push_str(&format!(" ORDER BY id DESC LIMIT {limit}"));
        let query = sqlx::query(AssertSqlSafe(sql)).bind(account).bind(before.unwrap_or(i64::MAX));
        let query = values.into_iter().fold(query, sqlx::query::Query::bind);
        self.fetch_all(query).await?.iter().map(event).collect()
    }

    /// Counts an account's new workspaces after an event by whether they came from the pool; tells up to which it looked.
    pub async fn count_claims(&mut self, account: &str, after: i64) -> Result<Claims, Error> {
        let query = sqlx::query(
            "SELECT COUNT(CASE WHEN detail LIKE '%\"warm\":true%' THEN 1 END),
                    COUNT(CASE WHEN detail LIKE '%\"warm\":false%' THEN 1 END),
                    COALESCE(MAX(id), $2)
             FROM events WHERE account = $1 AND id > $2 AND kind = 'workspace.created'",
        );
        let row = self.fetch_optional(query.bind(account).bind(after)).await?;
        let Some(row) = row else { return Ok(Claims { up_to: after, ..Claims::default() }) };
        let mut row = Reader::new("events", &row);
        Ok(Claims { hits: row.unsigned()?, misses: row.unsigned()?, up_to: row.number()? })
    }

    /// Loads what an account's last sweep for orphans told.
    pub async fn newest_sweep_of_orphans(&mut self, account: &str) -> Result<Option<Event>, Error> {
        let query = sqlx::query(events_sql!(
            "WHERE account = $1 AND kind = 'cleanup.swept' AND detail LIKE '%\"orphans\":true%'
             ORDER BY id DESC LIMIT 1"
        ));
        let row = self.fetch_optional(query.bind(account)).await?;
        Ok(row.as_ref().map(event).transpose()?.map(|(_, event)| event))
    }

    /// The number of the newest event of any account; zero when there is none.
    pub async fn newest_event_id(&mut self) -> Result<i64, Error> {
        let newest = self.fetch_optional(sqlx::query("SELECT COALESCE(MAX(id), 0) FROM events")).await?;
        newest.map_or(Ok(0), |row| Reader::new("events", &row).number())
    }

    /// Forgets events from before a time, and tells how many. The newest stays: it says how far the numbers are.
    pub async fn delete_events_before(&mut self, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query("DELETE FROM events WHERE at < $1 AND id < (SELECT MAX(id) FROM events)");
        self.execute(query.bind(before.as_millisecond())).await
    }
}
