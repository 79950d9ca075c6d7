//! The audit log: what happened, to whom it belongs, in order.

use spinney_core::{RepositoryId, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

use crate::row::Reader;
use crate::{Connection, Error};

/// Something that happened. It stays when what it tells about is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub account: String,
    pub kind: String,
    pub workspace_id: Option<WorkspaceId>,
    pub repository_id: Option<RepositoryId>,
    pub detail: serde_json::Value,
    pub at: Timestamp,
}

fn event(row: &AnyRow) -> Result<(i64, Event), Error> {
    let mut row = Reader::new("events", row);
    let id = row.number()?;
    let event = Event {
        account: row.text()?,
        kind: row.text()?,
        workspace_id: row.optional_parsed()?,
        repository_id: row.optional_parsed()?,
        detail: row.json()?,
        at: row.time()?,
    };
    Ok((id, event))
}

impl Connection {
    /// Adds an event to the log.
    pub async fn record_event(&mut self, event: &Event) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO events (account, kind, workspace_id, repository_id, detail, at) VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(&event.account)
        .bind(&event.kind)
        .bind(event.workspace_id.as_ref().map(WorkspaceId::as_str))
        .bind(event.repository_id.as_ref().map(RepositoryId::as_str))
        .bind(event.detail.to_string())
        .bind(event.at.as_millisecond());
        self.execute(query).await.map(drop)
    }

    /// Loads an account's events after a number, oldest first, each with its own number.
    pub async fn events(&mut self, account: &str, after: i64, limit: u32) -> Result<Vec<(i64, Event)>, Error> {
        let query = sqlx::query(
            "SELECT id, account, kind, workspace_id, repository_id, detail, at FROM events
             WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3",
        );
        let query = query.bind(account).bind(after).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(event).collect()
    }
}
