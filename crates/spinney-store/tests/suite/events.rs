//! The audit log: in order, without a gap, whoever writes it.

use std::time::{Duration, Instant};

use spinney_core::event::AboutRepository;
use spinney_core::{Actor, Event, JobId, Recorded, Timestamp};
use spinney_store::{Error, EventFilter, Store, Subject};
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};
use crate::samples::one_workspace;

fn event(kind: &str) -> Event {
    Event::Other { kind: kind.into(), detail: serde_json::Value::Null }
}

async fn record(store: &Store, event: Event) {
    record_of(store, Subject::account("local"), event).await;
}

async fn record_of(store: &Store, subject: Subject, event: Event) {
    let mut connection = store.write().await.unwrap();
    connection.record(subject, event).unwrap();
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
            seen.push(event.event.kind());
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
            let subject = Subject {
                account: "local".into(),
                workspace_id: (number > 0).then(|| workspace.id.clone()),
                repository_id: (number > 1).then(|| repository.id.clone()),
                job_id: (number > 2).then(JobId::generate),
            };
            let about = AboutRepository { name: repository.name.clone() };
            let event = if number % 2 == 0 { Event::RepositoryAdded(about) } else { event("of a newer version") };
            record_of(&store, subject.clone(), event.clone()).await;
            recorded.push((subject, event));
        }
        let mut connection = store.read().await.unwrap();
        let first = connection.events("local", 0, 2).await.unwrap();
        let rest = connection.events("local", first[1].0, 10).await.unwrap();
        let read = first.iter().chain(&rest).map(|(_, read)| {
            let Recorded { account, workspace_id, repository_id, job_id, event, .. } = read.clone();
            (Subject { account, workspace_id, repository_id, job_id }, event)
        });
        assert_eq!(read.collect::<Vec<_>>(), recorded);
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
            let subject = Subject { account: "local".into(), workspace_id, repository_id, job_id };
            record_of(&store, subject, event(&number.to_string())).await;
        }
        let mut connection = store.read().await.unwrap();
        let all = EventFilter::default();
        let kinds = |events: &[(i64, Recorded)]| events.iter().map(|(_, event)| event.event.kind()).collect::<String>();
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

    async fn who_did_it_is_whoever_the_store_was_lent_to(backend: &Backend) {
        let store = backend.store().await;
        let job = Actor::Job { id: JobId::generate() };
        record(&store, event("nobody said")).await;
        record(&store.acting_as(job.clone()), event("the job")).await;
        let mut connection = store.acting_as(Actor::Stranger { address: None }).write().await.unwrap();
        connection.act_as(Actor::Daemon);
        connection.record(Subject::account("local"), event("found out later")).unwrap();
        connection.commit().await.unwrap();
        backend.run("UPDATE events SET actor = NULL WHERE kind = 'the job'").await;
        record(&store.acting_as(job.clone()), event("the job")).await;
        let events = store.read().await.unwrap().events("local", 0, 9).await.unwrap();
        let actors: Vec<_> = events.into_iter().map(|(_, event)| event.actor).collect();
        assert_eq!(actors, [Actor::Unknown, Actor::Unknown, Actor::Daemon, job], "an older version wrote none");
    }

    async fn a_reader_goes_on_where_it_stopped(backend: &Backend) {
        let store = backend.store().await;
        for number in 0..3 {
            record(&store, event(&number.to_string())).await;
        }
        let mut connection = store.read().await.unwrap();
        let mut one = connection.cursor::<Vec<String>>("test", "local").await.unwrap();
        let mut other = one.clone();
        let read = connection.read_on(&one).await.unwrap();
        one.state.extend(read.iter().map(|(_, event)| event.event.kind()));
        assert!(connection.advance(&mut one, read[2].0).await.unwrap());
        assert!(!connection.advance(&mut other, read[1].0).await.unwrap(), "somebody else read on");
        let mut again = connection.cursor::<Vec<String>>("test", "local").await.unwrap();
        assert_eq!(again.state, ["0", "1", "2"]);
        assert_eq!(connection.read_on(&again).await.unwrap(), []);
        record(&store, event("3")).await;
        let read = connection.read_on(&again).await.unwrap();
        assert_eq!(read.len(), 1);
        assert!(connection.advance(&mut again, read[0].0).await.unwrap());
        assert!(!connection.advance(&mut one, read[0].0).await.unwrap());
    }

    async fn an_event_belongs_to_a_transaction(backend: &Backend) {
        let store = backend.store().await;
        let outside = store.read().await.unwrap().record(Subject::account("local"), event("outside")).unwrap_err();
        assert!(matches!(outside, Error::NoTransaction), "{outside:?}");
        let mut connection = store.write().await.unwrap();
        connection.record(Subject::account("local"), event("given up")).unwrap();
        drop(connection);
        record(&store, event("committed")).await;
        assert_eq!(follow(store, 1).await, ["committed"]);
    }

    async fn a_number_is_never_used_twice(backend: &Backend) {
        let store = backend.store().await;
        let before = Timestamp::now();
        for kind in ["one", "two", "three"] {
            record(&store, event(kind)).await;
        }
        let after = Timestamp::now().plus(Duration::from_secs(1));
        let mut connection = store.read().await.unwrap();
        let newest = connection.newest_event_id().await.unwrap();
        assert_eq!(connection.delete_events_before(before).await.unwrap(), 0);
        assert_eq!(connection.delete_events_before(after).await.unwrap(), 2);
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
