//! A database with two accounts, and events to write into it.

use spinney_core::Event;
use spinney_store::migrate::{MIGRATIONS, Migration};
use spinney_store::{Store, StoreUrl, Subject};
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

pub fn event(account: &str, kind: &str) -> (Subject, Event) {
    let detail = serde_json::json!({ "text": "two\nlines" });
    (Subject::account(account), Event::Other { kind: kind.into(), detail })
}

/// Writes events in one transaction.
pub async fn write(store: &Store, events: impl IntoIterator<Item = (Subject, Event)>) {
    let mut db = store.write().await.unwrap();
    for (subject, event) in events {
        db.record(subject, event).unwrap();
    }
    db.commit().await.unwrap();
}
