//! The audit log: in order, without a gap, whoever writes it.

use std::time::{Duration, Instant};

use spinney_core::{JobId, Timestamp};
use spinney_store::{Error, Event, EventFilter, Store};
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};
use crate::samples::one_workspace;

fn event(kind: &str) -> Event {
    Event {
        account: "local".into(),
        kind: kind.into(),
        workspace_id: None,
        repository_id: None,
        job_id: None,
        detail: serde_json::Value::Null,
        at: Timestamp::from_millisecond(5),
    }
}

async fn record(store: &Store, event: Event) {
    let mut connection = store.write().await.unwrap();
    connection.record_event(event).unwrap();
    connection.commit().await.unwrap();
}

/// Follows by the number seen last until so many events were seen, and gives their kinds.
async fn follow(store: Store, count: usize) -> Vec<String> {
    let (mut seen, mut last) = (Vec::new(), 0);
    let deadline = Instant::now() + Duration::from_secs(30);
    while seen.len() < count {
        assert!(Instant::now() < deadline, "only {seen:?}");
        for (id, event) in store.read().await.unwrap().events_after(last, 7).await.unwrap() {
            assert!(id > last);
            last = id;
            seen.push(event.kind);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    seen
}

on_both! {
    async fn events_are_read_on_from_where_one_stopped(backend: &Backend) {
        let store = backend.store().await;
        let (repository, workspace) = one_workspace(&store).await;
        let mut recorded = Vec::new();
        for number in 0..5 {
            let event = Event {
                workspace_id: (number > 0).then(|| workspace.id.clone()),
                repository_id: (number > 1).then(|| repository.id.clone()),
                job_id: (number > 2).then(JobId::generate),
                detail: serde_json::json!({ "number": number }),
                at: Timestamp::from_millisecond(number),
                ..event("workspace.created")
            };
            record(&store, event.clone()).await;
            recorded.push(event);
        }
        let mut connection = store.read().await.unwrap();
        let first = connection.events("local", 0, 2).await.unwrap();
        let rest = connection.events("local", first[1].0, 10).await.unwrap();
        let read: Vec<_> = first.iter().chain(&rest).map(|(_, event)| event.clone()).collect();
        assert_eq!(read, recorded);
        assert!(rest.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(connection.events_after(first[1].0, 10).await.unwrap(), rest);
        assert_eq!(connection.newest_event_id().await.unwrap(), rest[2].0);
        assert_eq!(connection.events("other", 0, 10).await.unwrap(), []);
    }

    async fn the_newest_come_first_page_by_page_and_by_what_they_are_about(backend: &Backend) {
        let store = backend.store().await;
        let (repository, workspace) = one_workspace(&store).await;
        let job = JobId::generate();
        assert_eq!(store.read().await.unwrap().newest_event_id().await.unwrap(), 0);
        for number in 0..6 {
            let (workspace_id, job_id) = ((number % 2 == 0).then(|| workspace.id.clone()), (number % 3 == 0).then(|| job.clone()));
            let repository_id = (number > 0).then(|| repository.id.clone());
            record(&store, Event { workspace_id, repository_id, job_id, ..event(&number.to_string()) }).await;
        }
        let mut connection = store.read().await.unwrap();
        let all = EventFilter::default();
        let kinds = |events: &[(i64, Event)]| events.iter().map(|(_, event)| event.kind.clone()).collect::<String>();
        let newest = connection.events_before("local", None, &all, 4).await.unwrap();
        let older = connection.events_before("local", Some(newest[3].0), &all, 4).await.unwrap();
        assert_eq!((kinds(&newest), kinds(&older)), ("5432".to_owned(), "10".to_owned()));
        let of_workspace = EventFilter { workspace: Some(workspace.id.clone()), ..all.clone() };
        assert_eq!(kinds(&connection.events_before("local", None, &of_workspace, 9).await.unwrap()), "420");
        let of_job = EventFilter { job: Some(job), ..all.clone() };
        assert_eq!(kinds(&connection.events_before("local", None, &of_job, 9).await.unwrap()), "30");
        let of_both = EventFilter { repository: Some(repository.id.clone()), ..of_job.clone() };
        assert_eq!(kinds(&connection.events_before("local", None, &of_both, 9).await.unwrap()), "3");
        assert_eq!(connection.events_before("other", None, &all, 9).await.unwrap(), []);
    }

    async fn an_event_belongs_to_a_transaction(backend: &Backend) {
        let store = backend.store().await;
        let outside = store.read().await.unwrap().record_event(event("outside")).unwrap_err();
        assert!(matches!(outside, Error::NoTransaction), "{outside:?}");
        let mut connection = store.write().await.unwrap();
        connection.record_event(event("given up")).unwrap();
        drop(connection);
        record(&store, event("committed")).await;
        assert_eq!(follow(store, 1).await, ["committed"]);
    }

    async fn a_number_is_never_used_twice(backend: &Backend) {
        let store = backend.store().await;
        for kind in ["one", "two", "three"] {
            record(&store, event(kind)).await;
        }
        let mut connection = store.read().await.unwrap();
        let newest = connection.newest_event_id().await.unwrap();
        assert_eq!(connection.delete_events_before(Timestamp::from_millisecond(5)).await.unwrap(), 0);
        assert_eq!(connection.delete_events_before(Timestamp::from_millisecond(6)).await.unwrap(), 2);
        assert_eq!(connection.newest_event_id().await.unwrap(), newest, "the newest stays");
        backend.run("DELETE FROM events").await;
        record(&store, event("four")).await;
        assert!(connection.newest_event_id().await.unwrap() > newest);
    }

    async fn who_follows_sees_every_event_of_many_writers_once(backend: &Backend) {
        let stores = [backend.store().await, backend.store().await];
        let reader = tokio::spawn(follow(backend.store().await, 80));
        let mut writers = JoinSet::new();
        for writer in 0..4 {
            let store = stores[writer % 2].clone();
            writers.spawn(async move {
                for number in 0..20 {
                    record(&store, event(&format!("{writer} {number:02}"))).await;
                }
            });
        }
        writers.join_all().await;
        let mut seen = reader.await.unwrap();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 80);
    }
}

/// PostgreSQL numbers a row when it is inserted: one whose commit comes late must not appear behind one that came after.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_shows_no_number_before_a_smaller_one() {
    let backend = Backend::postgres().await;
    let store = backend.store().await;
    backend
        .run(
            "CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF NEW.kind = 'slow' THEN PERFORM pg_sleep(0.5); END IF; RETURN NEW; END $$;
             CREATE TRIGGER dawdle AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION dawdle()",
        )
        .await;
    let reader = tokio::spawn(follow(store.clone(), 2));
    let slow = tokio::spawn({
        let store = store.clone();
        async move { record(&store, event("slow")).await }
    });
    let asleep = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
    while backend.number(asleep).await == 0 {
        assert!(!slow.is_finished(), "it has its number, and is not committed");
    }
    record(&store, event("quick")).await;
    assert_eq!(reader.await.unwrap(), ["slow", "quick"]);
}
