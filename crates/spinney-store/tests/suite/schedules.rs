//! What schedules and claims can do.

use std::time::Duration;

use serde_json::json;
use spinney_core::config::{FileSource, GithubSource, WorkSourceConfig};
use spinney_core::{Claim, JobId, JobStatus, NodeId, Repository, Schedule, ScheduleKey, Timestamp};

use crate::backend::{Backend, on_both};
use crate::samples::one_repository;

const LEASE: Duration = Duration::from_secs(3600);

fn key(repository: &Repository, name: &str) -> ScheduleKey {
    ScheduleKey {
        account: "local".into(),
        node: repository.node.clone(),
        repository_id: Some(repository.id.clone()),
        agent: Some("coder".parse().unwrap()),
        name: name.parse().unwrap(),
    }
}

fn schedule(key: ScheduleKey) -> Schedule {
    Schedule {
        key,
        timing: "interval 5m jitter 0".into(),
        planned_at: Some(Timestamp::from_millisecond(1_700_000_000_000)),
        asked: false,
        paused: false,
        pause_reason: None,
        failures: 0,
        last_started_at: None,
        last_job_id: None,
        last_status: None,
        last_report: json!(null),
        updated_at: Timestamp::from_millisecond(1_600_000_000_000),
    }
}

fn claim(key: ScheduleKey, item: &str) -> Claim {
    Claim {
        source: "github https://api.github.com acme/app".into(),
        item: item.into(),
        schedule: key,
        job_id: JobId::generate(),
        work_source: WorkSourceConfig::Github(GithubSource::default()),
        since: Timestamp::from_millisecond(1_700_000_000_000),
    }
}

on_both! {
    async fn a_schedule_comes_back_as_it_went_in_and_as_it_was_changed(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut db = store.read().await.unwrap();
        let mut nightly = schedule(key(&repository, "nightly"));
        assert!(db.insert_schedule(&nightly).await.unwrap());
        assert!(!db.insert_schedule(&nightly).await.unwrap(), "it is there");
        let chore = schedule(ScheduleKey { repository_id: None, agent: None, ..key(&repository, "cleanup") });
        assert!(db.insert_schedule(&chore).await.unwrap());
        assert_eq!(db.schedule(&nightly.key).await.unwrap(), Some(nightly.clone()));
        assert_eq!(db.schedule(&key(&repository, "other")).await.unwrap(), None);

        nightly.planned_at = None;
        nightly.asked = true;
        (nightly.paused, nightly.pause_reason) = (true, Some("it keeps failing".into()));
        nightly.failures = 5;
        nightly.last_started_at = Some(Timestamp::from_millisecond(1_700_000_000_001));
        nightly.last_job_id = Some(JobId::generate());
        nightly.last_status = Some(JobStatus::TimedOut);
        nightly.last_report = json!({ "message": "größer 🎉" });
        assert!(db.update_schedule(&mut nightly).await.unwrap());
        assert_eq!(db.schedules("local", &repository.node).await.unwrap(), [chore, nightly]);
        assert_eq!(db.schedules("other", &repository.node).await.unwrap(), []);
        assert_eq!(db.schedules("local", &NodeId::generate()).await.unwrap(), []);
    }

    async fn of_many_who_change_the_same_version_one_does(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let nightly = schedule(key(&repository, "nightly"));
        store.read().await.unwrap().insert_schedule(&nightly).await.unwrap();
        let changing = (0..8).map(|_| {
            let (store, mut nightly) = (store.clone(), nightly.clone());
            tokio::spawn(async move {
                nightly.last_job_id = Some(JobId::generate());
                let mut db = store.write().await.unwrap();
                let changed = db.update_schedule(&mut nightly).await.unwrap();
                db.commit().await.unwrap();
                changed.then_some(nightly)
            })
        });
        let mut winners = Vec::new();
        for change in changing.collect::<Vec<_>>() {
            winners.extend(change.await.unwrap());
        }
        assert_eq!(winners.len(), 1);
        let found = store.read().await.unwrap().schedule(&nightly.key).await.unwrap();
        assert_eq!(found, winners.pop());
    }

    async fn an_item_has_one_holder(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mine = claim(key(&repository, "issues"), "42");
        let mut db = store.read().await.unwrap();
        assert!(db.insert_claim(&mine, LEASE).await.unwrap());
        let others = claim(key(&repository, "other"), "42");
        assert!(!db.insert_claim(&others, LEASE).await.unwrap());
        let mut file = claim(key(&repository, "files"), "42");
        file.source = "file /srv/tasks".into();
        file.work_source = WorkSourceConfig::File(FileSource { path: "/srv/tasks".into() });
        assert!(db.insert_claim(&file, LEASE).await.unwrap(), "the same name elsewhere is another item");
        assert_eq!(db.claim(&mine.source, "42").await.unwrap(), Some(mine.clone()));

        assert!(!db.delete_claim(&mine.source, "42", &others.job_id).await.unwrap(), "it is not that job's");
        assert!(db.delete_claim(&mine.source, "42", &mine.job_id).await.unwrap());
        assert!(db.insert_claim(&others, LEASE).await.unwrap());
    }

    async fn a_nodes_claims_are_others_to_settle_once_they_ran_out(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut db = store.read().await.unwrap();
        let lasting = claim(key(&repository, "issues"), "1");
        let run_out = claim(key(&repository, "issues"), "2");
        db.insert_claim(&lasting, LEASE).await.unwrap();
        db.insert_claim(&run_out, Duration::ZERO).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        let other = NodeId::generate();
        assert_eq!(db.claims_to_settle("local", &other).await.unwrap(), std::slice::from_ref(&run_out));
        assert_eq!(db.claims_to_settle("local", &repository.node).await.unwrap(), [lasting, run_out]);
        assert_eq!(db.claims_to_settle("other", &repository.node).await.unwrap(), []);
        db.renew_claims("local", &repository.node, LEASE).await.unwrap();
        assert_eq!(db.claims_to_settle("local", &other).await.unwrap(), []);
    }
}
