//! Many follow, several write: everybody sees everything of their account once, in order.

use std::time::Duration;

use spinney_server::events::{Broadcaster, Subscription};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::events::place::{Place, event, write};

const SUBSCRIBERS: usize = 20;
const WRITES: usize = 40;
const PATIENCE: Duration = Duration::from_secs(30);

async fn next(subscription: &mut Subscription) -> Option<(i64, String)> {
    let event = timeout(PATIENCE, subscription.next()).await.expect("an event").unwrap();
    event.map(|(id, event)| (id, event.event.kind()))
}

/// Follows until all events of an account were seen; some leave now and then, and come back with what they saw last.
async fn follow(broadcaster: Broadcaster, account: &'static str, number: usize) -> Vec<String> {
    let (mut last, mut seen) = (0, Vec::new());
    let mut subscription = broadcaster.subscribe(account, Some(last)).await.unwrap();
    while seen.len() < 2 * WRITES {
        let (id, kind) = next(&mut subscription).await.expect("the server runs");
        assert!(id > last, "{id} after {last}");
        last = id;
        seen.push(kind);
        if number % 2 == 1 && seen.len() % (number + 2) == 0 {
            subscription = broadcaster.subscribe(account, Some(last)).await.unwrap();
        }
    }
    seen
}

async fn everybody_sees_everything_once(place: Place) {
    let (_stop, stopping) = watch::channel(false);
    let broadcaster = Broadcaster::start(place.store().await, stopping);
    let mut followers = JoinSet::new();
    for number in 0..SUBSCRIBERS {
        let account = if number % 4 == 0 { "other" } else { "local" };
        followers.spawn(follow(broadcaster.clone(), account, number));
    }
    let mut writers = JoinSet::new();
    for writer in 0..2 {
        let store = place.store().await;
        writers.spawn(async move {
            for number in 0..WRITES {
                let kind = format!("{writer} {number:03}");
                write(&store, [event("local", &kind), event("other", &kind)]).await;
            }
        });
    }
    writers.join_all().await;
    for seen in followers.join_all().await {
        for writer in ["0", "1"] {
            let of_writer: Vec<_> = seen.iter().filter(|kind| kind.starts_with(writer)).collect();
            assert_eq!(of_writer.len(), WRITES, "each once");
            assert!(of_writer.is_sorted(), "{of_writer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_everybody_sees_everything_once() {
    everybody_sees_everything_once(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_everybody_sees_everything_once() {
    everybody_sees_everything_once(Place::postgres()).await;
}

#[tokio::test]
async fn who_is_too_slow_reads_the_store() {
    let place = Place::sqlite();
    let store = place.store().await;
    let (_stop, stopping) = watch::channel(false);
    let broadcaster = Broadcaster::start(place.store().await, stopping);
    let mut slow = broadcaster.subscribe("local", None).await.unwrap();
    let mut quick = broadcaster.subscribe("local", None).await.unwrap();
    write(&store, [event("local", "first")]).await;
    assert_eq!(next(&mut quick).await.unwrap().1, "first");
    let many = 4000;
    write(&store, (0..many).map(|number| event("local", &format!("{number:04}")))).await;
    for number in 0..many {
        assert_eq!(next(&mut quick).await.unwrap().1, format!("{number:04}"));
    }
    assert_eq!(next(&mut slow).await.unwrap().1, "first");
    for number in 0..many {
        assert_eq!(next(&mut slow).await.unwrap().1, format!("{number:04}"));
    }
    write(&store, [event("local", "last")]).await;
    assert_eq!(next(&mut slow).await.unwrap().1, "last");
}

#[tokio::test]
async fn a_number_of_another_time_is_the_newest() {
    let place = Place::sqlite();
    let store = place.store().await;
    let (_stop, stopping) = watch::channel(false);
    let broadcaster = Broadcaster::start(place.store().await, stopping);
    write(&store, [event("local", "old")]).await;
    let mut lost = broadcaster.subscribe("local", Some(1 << 40)).await.unwrap();
    let mut new = broadcaster.subscribe("local", None).await.unwrap();
    let mut all = broadcaster.subscribe("local", Some(-5)).await.unwrap();
    assert_eq!((lost.position(), new.position()), (1, 1));
    write(&store, [event("other", "hidden"), event("local", "new")]).await;
    assert_eq!(next(&mut lost).await, Some((3, "new".to_owned())));
    assert_eq!(next(&mut new).await, Some((3, "new".to_owned())));
    assert_eq!(next(&mut all).await, Some((1, "old".to_owned())));
    assert_eq!(next(&mut all).await, Some((3, "new".to_owned())));
}

#[tokio::test]
async fn a_subscription_ends_when_the_server_stops() {
    let place = Place::sqlite();
    let store = place.store().await;
    let (stop, stopping) = watch::channel(false);
    let broadcaster = Broadcaster::start(store.clone(), stopping);
    write(&store, (0..300).map(|_| event("local", "old"))).await;
    let mut waiting = broadcaster.subscribe("local", None).await.unwrap();
    let mut reading = broadcaster.subscribe("local", Some(0)).await.unwrap();
    assert!(next(&mut reading).await.is_some());
    let stopped = tokio::spawn(async move { next(&mut waiting).await });
    stop.send(true).unwrap();
    assert_eq!(stopped.await.unwrap(), None);
    assert_eq!(next(&mut reading).await, None, "although there is more to read");
}
