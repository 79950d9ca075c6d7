//! Follows the audit log for all who subscribe.
//!
//! One task asks the store, for most of what happens is written by others: the processes of jobs, the CLI, other nodes.
//! It asks only while somebody subscribes.

use std::sync::Arc;
use std::time::Duration;

use spinney_core::Recorded;
use spinney_store::{Error, Store};
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::sleep;

use super::{Subscription, stopped};

/// How often the store is asked, which takes it a fraction of a millisecond.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long to wait after the store gave no answer.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How many events are read at once.
pub(super) const PAGE: u32 = 100;
/// How many batches wait for a slow subscriber; one who is slower reads the store.
const WAITING_BATCHES: usize = 32;

/// Events of all accounts that follow each other without a gap.
#[derive(Debug)]
pub(super) struct Batch {
    /// What comes before was told by earlier batches, or before there was any.
    pub after: i64,
    pub up_to: i64,
    pub events: Vec<(i64, Arc<Recorded>)>,
}

/// Hands new events to subscribers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Broadcaster {
    store: Store,
    sender: broadcast::Sender<Arc<Batch>>,
    /// Told when somebody subscribes.
    wanted: Arc<Notify>,
    stopping: watch::Receiver<bool>,
}

impl Broadcaster {
    /// Starts to follow a store, until the server stops.
    #[must_use]
    pub fn start(store: Store, stopping: watch::Receiver<bool>) -> Self {
        let broadcaster = Self::new(store, stopping);
        let (follower, mut stopping) = (broadcaster.clone(), broadcaster.stopping.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = follower.follow() => {}
                () = stopped(&mut stopping) => {}
            }
        });
        broadcaster
    }

    fn new(store: Store, stopping: watch::Receiver<bool>) -> Self {
        let (sender, _) = broadcast::channel(WAITING_BATCHES);
        Self { store, sender, wanted: Arc::default(), stopping }
    }

    /// Subscribes to an account's events after the one seen last; without one, to those from now on.
    pub async fn subscribe(&self, account: &str, last: Option<i64>) -> Result<Subscription, Error> {
        self.subscribe_until(account, last, self.stopping.clone()).await
    }

    /// The same, until it is told to end, as the server tells all.
    pub async fn subscribe_until(
        &self,
        account: &str,
        last: Option<i64>,
        stopping: watch::Receiver<bool>,
    ) -> Result<Subscription, Error> {
        // Before the store is read: what happens from here on is told.
        let receiver = self.sender.subscribe();
        self.wanted.notify_one();
        Subscription::begin(self.store.clone(), account, last, receiver, stopping).await
    }

    async fn follow(&self) {
        let mut position = None;
        loop {
            if self.sender.receiver_count() == 0 {
                position = None;
                self.wanted.notified().await;
                continue;
            }
            let pause = match self.look(position).await {
                Ok((up_to, true)) => {
                    position = Some(up_to);
                    continue;
                }
                Ok((up_to, false)) => {
                    position = Some(up_to);
                    LOOK_EVERY
                }
                Err(error) => {
                    tracing::warn!("the audit log can't be followed: {}", spinney_core::in_full(&error));
                    TRY_AGAIN_AFTER
                }
            };
            sleep(pause).await;
        }
    }

    /// Tells what is new, how far that goes, and whether there may be more at once. The first look tells only where it is:
    /// who subscribed shortly before, and is not that far, reads the store.
    async fn look(&self, position: Option<i64>) -> Result<(i64, bool), Error> {
        let mut db = self.store.read().await?;
        let Some(after) = position else {
            let newest = db.newest_event_id().await?;
            self.tell(Batch { after: newest, up_to: newest, events: Vec::new() });
            return Ok((newest, false));
        };
        let page = db.events_after(after, PAGE).await?;
        let Some((up_to, _)) = page.last() else { return Ok((after, false)) };
        let (up_to, more) = (*up_to, page.len() == PAGE as usize);
        let events = page.into_iter().map(|(id, event)| (id, Arc::new(event))).collect();
        self.tell(Batch { after, up_to, events });
        Ok((up_to, more))
    }

    fn tell(&self, batch: Batch) {
        // An error says that nobody is there to be told.
        let _ = self.sender.send(Arc::new(batch));
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::Event;
    use spinney_store::{StoreUrl, Subject};

    use super::*;

    #[tokio::test]
    async fn what_happens_before_the_first_look_is_told_by_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        let (_stop, stopping) = watch::channel(false);
        let broadcaster = Broadcaster::new(store.clone(), stopping);
        let mut subscription = broadcaster.subscribe("local", None).await.unwrap();
        let event = Event::Other { kind: "between".into(), detail: serde_json::Value::Null };
        let mut db = store.write().await.unwrap();
        db.record(Subject::account("local"), event).unwrap();
        db.commit().await.unwrap();
        assert_eq!(broadcaster.look(None).await.unwrap(), (1, false));
        let seen = tokio::time::timeout(Duration::from_secs(5), subscription.next()).await;
        assert_eq!(seen.unwrap().unwrap().unwrap().1.event.kind(), "between");
    }
}
