//! What monitors are told of an account's audit log: counted on from where it was counted last, so that a count never goes
//! down, whichever daemon counts and however old the events are that were forgotten.

use serde::{Deserialize, Serialize};
use spinney_core::Event;
use spinney_store::Store;

use crate::error::Result;

/// What the reader of the log is called in the store.
const CURSOR: &str = "metrics";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tally {
    /// New workspaces that came from a pool.
    pub hits: u64,
    /// New workspaces for which no pool had one.
    pub misses: u64,
    /// What the last sweep for orphans found; none before the first.
    pub findings: Option<usize>,
}

impl Tally {
    /// Counts what is new, and tells what that makes.
    pub(crate) async fn count(store: &Store, account: &str) -> Result<Self> {
        loop {
            let mut db = store.read().await?;
            let mut cursor = db.cursor::<Self>(CURSOR, account).await?;
            let events = db.read_on(&cursor).await?;
            let Some((last, _)) = events.last() else { return Ok(cursor.state) };
            for (_, recorded) in &events {
                cursor.state.add(&recorded.event);
            }
            // Where somebody else counted the same, theirs counts.
            db.advance(&mut cursor, *last).await?;
        }
    }

    fn add(&mut self, event: &Event) {
        match event {
            Event::WorkspaceCreated { warm: Some(true), .. } => self.hits += 1,
            Event::WorkspaceCreated { warm: Some(false), .. } => self.misses += 1,
            Event::Swept { orphans: true, findings, .. } => self.findings = Some(findings.len()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::event::AboutWorkspace;
    use spinney_core::{AccountName, Platform, Timestamp, Work};
    use spinney_store::{StoreUrl, Subject};

    use super::*;

    async fn create(store: &Store, warm: bool) {
        let work = Work::issue(1);
        let branch = "spinney/issue-1".parse().unwrap();
        let about = AboutWorkspace { name: work.workspace_name(), branch, work, error: None };
        let mut db = store.write().await.unwrap();
        let event = Event::WorkspaceCreated { about, platform: Platform::Cli, warm: Some(warm) };
        db.record(Subject::account("local"), event).unwrap();
        db.commit().await.unwrap();
    }

    #[tokio::test]
    async fn a_count_outlives_the_events_and_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let url = StoreUrl::Sqlite(directory.path().join("spinney.db"));
        let (store, account) = (Store::open(&url).await.unwrap(), AccountName::local());
        for warm in [true, false, true] {
            create(&store, warm).await;
        }
        let counted = Tally::count(&store, account.as_str()).await.unwrap();
        assert_eq!((counted.hits, counted.misses), (2, 1));
        let later = Timestamp::now().plus(std::time::Duration::from_secs(60));
        assert!(store.read().await.unwrap().delete_events_before(later).await.unwrap() > 0);
        let again = Store::open(&url).await.unwrap();
        assert_eq!(Tally::count(&again, account.as_str()).await.unwrap(), counted);
        create(&store, false).await;
        let counted = Tally::count(&again, account.as_str()).await.unwrap();
        assert_eq!((counted.hits, counted.misses), (2, 2));
    }

    #[tokio::test]
    async fn two_who_count_at_once_count_once() {
        let directory = tempfile::tempdir().unwrap();
        let url = StoreUrl::Sqlite(directory.path().join("spinney.db"));
        let store = Store::open(&url).await.unwrap();
        for _ in 0..20 {
            create(&store, true).await;
            let (one, two) = tokio::join!(Tally::count(&store, "local"), Tally::count(&store, "local"));
            assert_eq!(one.unwrap(), two.unwrap());
        }
        assert_eq!(Tally::count(&store, "local").await.unwrap().hits, 20);
    }
}
