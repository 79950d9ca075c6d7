//! One account's events, from a number on: first what the store has, then what is told as it happens.
//!
//! Each batch says what it follows. Whoever is not that far, because it has only begun, or was too slow for the batches
//! before, reads the store instead; so there is neither a gap nor a duplicate at any seam.

use std::collections::VecDeque;
use std::sync::Arc;

use spinney_core::Recorded;
use spinney_store::{Error, Store};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::broadcast::{Batch, PAGE};
use super::stopped;

/// An account's events as they happen.
#[derive(Debug)]
pub struct Subscription {
    store: Store,
    account: String,
    receiver: broadcast::Receiver<Arc<Batch>>,
    stopping: watch::Receiver<bool>,
    /// All events of the account up to here were handed out, or are ready.
    position: i64,
    /// The store has to be read, at least up to here.
    behind: Option<i64>,
    ready: VecDeque<(i64, Arc<Recorded>)>,
}

impl Subscription {
    /// Begins after the event seen last. One that the store does not know yet is of another time: the store was restored
    /// from a backup, and what is newest now counts.
    pub(super) async fn begin(
        store: Store,
        account: &str,
        last: Option<i64>,
        receiver: broadcast::Receiver<Arc<Batch>>,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        let newest = store.read().await?.newest_event_id().await?;
        let position = last.map_or(newest, |last| last.min(newest));
        let behind = (position < newest).then_some(newest);
        let account = account.to_owned();
        Ok(Self { store, account, receiver, stopping, position, behind, ready: VecDeque::new() })
    }

    /// Up to where there is nothing left to hand out but what is still to come.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Waits for the next event; none when the server stops.
    pub async fn next(&mut self) -> Result<Option<(i64, Arc<Recorded>)>, Error> {
        loop {
            if *self.stopping.borrow() {
                return Ok(None);
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if let Some(up_to) = self.behind {
                self.read_page(up_to).await?;
                continue;
            }
            tokio::select! {
                () = stopped(&mut self.stopping) => return Ok(None),
                batch = self.receiver.recv() => match batch {
                    Ok(batch) => self.take(&batch),
                    // The next one says what it follows.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return Ok(None),
                },
            }
        }
    }

    fn take(&mut self, batch: &Batch) {
        if batch.after > self.position {
            self.behind = Some(batch.up_to);
            return;
        }
        let is_meant = |(id, event): &&(i64, Arc<Recorded>)| *id > self.position && event.account == self.account;
        self.ready.extend(batch.events.iter().filter(is_meant).cloned());
        self.position = self.position.max(batch.up_to);
    }

    /// Reads on. A page that is not full was the last: whatever is told is in the store before.
    async fn read_page(&mut self, up_to: i64) -> Result<(), Error> {
        let page = self.store.read().await?.events(&self.account, self.position, PAGE).await?;
        if let Some((last, _)) = page.last() {
            self.position = *last;
        }
        if page.len() < PAGE as usize {
            self.position = self.position.max(up_to);
            self.behind = None;
        }
        self.ready.extend(page.into_iter().map(|(id, event)| (id, Arc::new(event))));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::{Actor, Event, Timestamp};
    use spinney_store::{StoreUrl, Subject};

    use super::*;

    fn event(kind: i64) -> Event {
        Event::Other { kind: kind.to_string(), detail: serde_json::Value::Null }
    }

    fn recorded(kind: i64) -> Recorded {
        Recorded {
            account: "local".into(),
            actor: Actor::Unknown,
            workspace_id: None,
            repository_id: None,
            job_id: None,
            event: event(kind),
            at: Timestamp::from_millisecond(0),
        }
    }

    fn batch(after: i64, ids: std::ops::RangeInclusive<i64>) -> Arc<Batch> {
        let up_to = *ids.end();
        Arc::new(Batch { after, up_to, events: ids.map(|id| (id, Arc::new(recorded(id)))).collect() })
    }

    #[tokio::test]
    async fn seams_have_neither_gap_nor_duplicate() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        let write = async |ids: std::ops::RangeInclusive<i64>| {
            let mut db = store.write().await.unwrap();
            ids.for_each(|id| db.record(Subject::account("local"), event(id)).unwrap());
            db.commit().await.unwrap();
        };
        let (sender, receiver) = broadcast::channel(4);
        let (_stop, stopping) = watch::channel(false);
        write(1..=3).await;
        let begun = Subscription::begin(store.clone(), "local", Some(1), receiver, stopping).await;
        let mut subscription = begun.unwrap();
        let mut expect = async |ids: std::ops::RangeInclusive<i64>| {
            for expected in ids {
                let (id, event) = subscription.next().await.unwrap().unwrap();
                assert_eq!((id, event.event.kind()), (expected, expected.to_string()));
            }
        };
        // Told, and in what the store has.
        sender.send(batch(1, 2..=3)).unwrap();
        expect(2..=3).await;
        // Not told: whoever tells began to look only after it.
        write(4..=6).await;
        sender.send(batch(5, 6..=6)).unwrap();
        expect(4..=6).await;
        // Told, but more than waits for a slow one.
        write(7..=15).await;
        for id in 7..=15 {
            sender.send(batch(id - 1, id..=id)).unwrap();
        }
        expect(7..=15).await;
        write(16..=16).await;
        sender.send(batch(15, 16..=16)).unwrap();
        expect(16..=16).await;
    }
}
