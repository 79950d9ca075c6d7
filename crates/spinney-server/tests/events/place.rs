//! A database with two accounts, and events to write into it.

use spinney_core::Timestamp;
use spinney_store::migrate::{MIGRATIONS, Migration};
use spinney_store::{Event, Store, StoreUrl};
use spinney_testkit::{PostgresDatabase, postgres_database};
use tempfile::TempDir;

/// A database of one test.
pub struct Place {
    url: StoreUrl,
    _directory: Option<TempDir>,
    _database: Option<PostgresDatabase>,
}

impl Place {
    pub fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = StoreUrl::Sqlite(directory.path().join("spinney.db"));
        Self { url, _directory: Some(directory), _database: None }
    }

    pub fn postgres() -> Self {
        let database = postgres_database();
        Self { url: StoreUrl::parse(database.url()).unwrap(), _directory: None, _database: Some(database) }
    }

    /// Opens it as one more process would.
    pub async fn store(&self) -> Store {
        let version = MIGRATIONS.last().unwrap().version + 1;
        let other = Migration { version, name: "other", sql: "INSERT INTO accounts (name) VALUES ('other')" };
        Store::open_with(&self.url, &[MIGRATIONS, &[other]].concat()).await.unwrap()
    }
}

pub fn event(account: &str, kind: &str) -> Event {
    Event {
        account: account.into(),
        kind: kind.into(),
        workspace_id: None,
        repository_id: None,
        job_id: None,
        detail: serde_json::json!({ "text": "two\nlines" }),
        at: Timestamp::from_millisecond(1_700_000_000_000),
    }
}

/// Writes events in one transaction.
pub async fn write(store: &Store, events: impl IntoIterator<Item = Event>) {
    let mut db = store.write().await.unwrap();
    for event in events {
        db.record_event(event).unwrap();
    }
    db.commit().await.unwrap();
}
