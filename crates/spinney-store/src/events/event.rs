//! The audit log: what happened, to whom it belongs, in order.
//!
//! Whoever has seen a number has seen every smaller one: numbers become visible in their order, and none is used twice.

use serde_json::json;
use spinney_core::{Actor, Event, Job, JobId, Recorded, Repository, RepositoryId, Timestamp, Workspace, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

macro_rules! events_sql {
    ($rest:literal) => {
        concat!("SELECT id, account, actor, kind, workspace_id, repository_id, job_id, detail, at FROM events ", $rest)
    };
}

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    pub account: String,
    pub workspace_id: Option<WorkspaceId>,
    pub repository_id: Option<RepositoryId>,
    pub job_id: Option<JobId>,
}

impl Subject {
    /// Nothing but an account.
    #[must_use]
    pub fn account(name: &str) -> Self {
        Self { account: name.to_owned(), ..Self::default() }
    }

    #[must_use]
    pub fn workspace(workspace: &Workspace) -> Self {
        Self {
            account: workspace.account.clone(),
            workspace_id: Some(workspace.id.clone()),
            repository_id: Some(workspace.repository_id.clone()),
            job_id: None,
        }
    }

    #[must_use]
    pub fn repository(repository: &Repository) -> Self {
        Self { repository_id: Some(repository.id.clone()), ..Self::account(&repository.account) }
    }

    #[must_use]
    pub fn job(job: &Job) -> Self {
        Self {
            account: job.account.clone(),
            workspace_id: job.workspace_id.clone(),
            repository_id: Some(job.repository_id.clone()),
            job_id: Some(job.id.clone()),
        }
    }
}

/// Which events are meant: those of all that is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub workspace: Option<WorkspaceId>,
    pub repository: Option<RepositoryId>,
    pub job: Option<JobId>,
}

fn event(row: &AnyRow) -> Result<(i64, Recorded), Error> {
    let mut row = Reader::new("events", row);
    let id = row.number()?;
    let account = row.text()?;
    // Whoever a newer version names, or an older one did not name, is not known.
    let actor = row.optional_text()?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Actor::Unknown);
    let kind = row.text()?;
    let (workspace_id, repository_id, job_id) =
        (row.optional_parsed()?, row.optional_parsed()?, row.optional_parsed()?);
    let event = Event::of_parts(kind, row.json()?);
    Ok((id, Recorded { account, actor, workspace_id, repository_id, job_id, event, at: row.time()? }))
}

impl Connection {
    /// Adds an event to the log, as the last thing that the transaction does: it is numbered by the commit. Who did it is
    /// whoever the store was opened for ([`crate::Store::acting_as`]).
    pub fn record(&mut self, about: Subject, event: Event) -> Result<(), Error> {
        self.require_transaction()?;
        let Subject { account, workspace_id, repository_id, job_id } = about;
        let actor = Actor::clone(self.actor());
        let at = Timestamp::now();
        self.events.push(Recorded { account, actor, workspace_id, repository_id, job_id, event, at });
        Ok(())
    }

    /// Writes what was recorded. Who numbers events holds others up that do, so nothing but the commit may follow.
    pub(crate) async fn write_events(&mut self) -> Result<(), Error> {
        let events = std::mem::take(&mut self.events);
        if let Some(lock) = self.dialect().lock_events().filter(|_| !events.is_empty()) {
            self.run(lock).await?;
        }
        for recorded in events {
            let (kind, detail) = recorded.event.parts();
            let query = sqlx::query(
                "INSERT INTO events (account, actor, kind, workspace_id, repository_id, job_id, detail, at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(recorded.account)
            .bind(json!(recorded.actor).to_string())
            .bind(kind)
            .bind(recorded.workspace_id.as_ref().map(WorkspaceId::as_str))
            .bind(recorded.repository_id.as_ref().map(RepositoryId::as_str))
            .bind(recorded.job_id.as_ref().map(JobId::as_str))
            .bind(detail.to_string())
            .bind(recorded.at.as_millisecond());
            self.execute(query).await?;
        }
        Ok(())
    }

    /// Loads an account's events after a number, oldest first, each with its own number.
    pub async fn events(&mut self, account: &str, after: i64, limit: u32) -> Result<Vec<(i64, Recorded)>, Error> {
        let query = sqlx::query(events_sql!("WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3"));
        let query = query.bind(account).bind(after).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(event).collect()
    }

    /// Loads the events of all accounts after a number, oldest first.
    pub async fn events_after(&mut self, after: i64, limit: u32) -> Result<Vec<(i64, Recorded)>, Error> {
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
    ) -> Result<Vec<(i64, Recorded)>, Error> {
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
