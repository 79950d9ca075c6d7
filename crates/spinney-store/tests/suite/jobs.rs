//! What jobs and their sessions can do.

use std::time::Duration;

use spinney_core::{
    Cancel, Job, JobId, JobRequest, JobStatus, NodeId, Outcome, Platform, Push, Repository, Session, SessionId,
    SessionStatus, Timestamp, Usage, WaitsFor, Work, WorkspaceId,
};
use spinney_store::{Error, JobFilter};

use crate::backend::{Backend, on_both};
use crate::samples::one_repository;

fn job(repository: &Repository, work: Work, at: i64) -> Job {
    Job {
        id: JobId::generate(),
        account: "local".into(),
        node: repository.node.clone(),
        repository_id: repository.id.clone(),
        repository: repository.name.clone(),
        agent: "coder".into(),
        work,
        title: Some("größer 🎉".into()),
        prompt: "fix 'it'\nplease".into(),
        trigger: Platform::Cli,
        status: JobStatus::Pending,
        waits_for: Some(WaitsFor::Worker { busy: 2, limit: 2 }),
        cancel: Cancel::No,
        attempt: 0,
        place: None,
        workspace_id: None,
        parent: None,
        awaits_until: None,
        request: JobRequest {
            base: Some("develop".parse().unwrap()),
            links: vec![Work::pr(9)],
            ..JobRequest::default()
        },
        outcome: Outcome::default(),
        created_at: Timestamp::from_millisecond(at),
        started_at: None,
        ended_at: None,
    }
}

fn session(job: &Job, at: i64) -> Session {
    Session {
        id: SessionId::generate(),
        job_id: job.id.clone(),
        workspace_id: job.workspace_id.clone(),
        agent: job.agent.clone(),
        work: job.work.clone(),
        runtime: "claude".into(),
        conversation: Some(format!("conversation-{at}")),
        resumed: false,
        status: SessionStatus::Running,
        usage: Usage { input_tokens: 7, cost_micros: Some(1_200_000), ..Usage::default() },
        context_tokens: Some(1000),
        context_window: Some(200_000),
        started_at: Timestamp::from_millisecond(at),
        ended_at: None,
    }
}

fn all() -> JobFilter {
    JobFilter { account: "local".into(), node: None, repository: None, statuses: JobStatus::ALL.to_vec() }
}

on_both! {
    async fn each_start_of_a_job_has_a_higher_fence(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        let pending = job(&repository, Work::issue(42), 5);
        connection.insert_job(&pending).await.unwrap();
        let mut last = connection.fence_of_job(&pending.id).await.unwrap();
        assert!(last.is_some());
        let running = Job { status: JobStatus::Running, ..pending.clone() };
        for _ in 0..2 {
            assert!(connection.update_job(&running, JobStatus::Pending).await.unwrap());
            let fence = connection.fence_of_job(&pending.id).await.unwrap();
            assert!(fence > last);
            // What it writes while it runs, and its going back to those who wait, is no start.
            assert!(connection.update_job(&running, JobStatus::Running).await.unwrap());
            assert!(connection.update_job(&pending, JobStatus::Running).await.unwrap());
            last = connection.fence_of_job(&pending.id).await.unwrap();
            assert_eq!(last, fence);
        }
        assert_eq!(connection.fence_of_job(&JobId::generate()).await.unwrap(), None);
    }

    async fn a_job_comes_back_as_it_went_in_and_as_it_was_changed(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        let mut row = job(&repository, Work::issue(42), 5);
        connection.insert_job(&row).await.unwrap();
        assert_eq!(connection.job(&row.id).await.unwrap().as_ref(), Some(&row));

        row.status = JobStatus::Running;
        row.waits_for = None;
        row.attempt = 1;
        row.place = Some("here".into());
        row.workspace_id = Some(WorkspaceId::generate());
        row.started_at = Some(Timestamp::from_millisecond(6));
        row.outcome = Outcome { push: Some(Push::Pushed), escaped: vec!["a\nb".into()], ..Outcome::default() };
        assert!(!connection.update_job(&row, JobStatus::Running).await.unwrap(), "it was not running");
        assert!(connection.update_job(&row, JobStatus::Pending).await.unwrap());
        assert_eq!(connection.job(&row.id).await.unwrap().as_ref(), Some(&row));
        let found = connection.running_job_in(row.workspace_id.as_ref().unwrap()).await.unwrap();
        assert_eq!(found.as_ref(), Some(&row));

        assert!(connection.request_cancel(&row.id, Cancel::AtOnce).await.unwrap());
        assert!(connection.request_cancel(&row.id, Cancel::Asked).await.unwrap());
        row.status = JobStatus::Cancelled;
        assert!(connection.update_job(&row, JobStatus::Running).await.unwrap());
        let read = connection.job(&row.id).await.unwrap().unwrap();
        assert_eq!((read.cancel, read.status), (Cancel::AtOnce, JobStatus::Cancelled), "a wish is not overwritten");
        assert!(!connection.request_cancel(&row.id, Cancel::Asked).await.unwrap(), "it has ended");

        assert!(connection.reopen_job(&row.id).await.unwrap());
        assert!(!connection.reopen_job(&row.id).await.unwrap());
        let read = connection.job(&row.id).await.unwrap().unwrap();
        assert_eq!((read.cancel, read.status, read.attempt), (Cancel::No, JobStatus::Pending, 1));
    }

    async fn a_job_has_its_children_and_says_until_when_it_waits_for_them(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        let parent = job(&repository, Work::issue(1), 1);
        let child = |number, at| Job { parent: Some(parent.id.clone()), ..job(&repository, Work::issue(number), at) };
        let children = [child(2, 2), child(3, 3)];
        for row in std::iter::once(&parent).chain(children.iter().rev()) {
            connection.insert_job(row).await.unwrap();
        }
        assert_eq!(connection.children_of(&parent.id).await.unwrap(), children);
        assert_eq!(connection.children_of(&children[0].id).await.unwrap(), []);

        let until = Timestamp::from_millisecond(9);
        connection.await_children(&parent.id, Some(until)).await.unwrap();
        assert_eq!(connection.job(&parent.id).await.unwrap().unwrap().awaits_until, None, "it does not run");
        let running = Job { status: JobStatus::Running, ..parent.clone() };
        assert!(connection.update_job(&running, JobStatus::Pending).await.unwrap());
        connection.await_children(&parent.id, Some(until)).await.unwrap();
        // Its own process writes its row, and knows nothing of that.
        assert!(connection.update_job(&running, JobStatus::Running).await.unwrap());
        let read = connection.job(&parent.id).await.unwrap().unwrap();
        assert!(read.awaits_children(Timestamp::from_millisecond(8)) && !read.awaits_children(until));
        connection.await_children(&parent.id, None).await.unwrap();
        assert_eq!(connection.job(&parent.id).await.unwrap().unwrap().awaits_until, None);
    }

    async fn two_jobs_never_run_in_one_place(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut rows = [job(&repository, Work::issue(1), 1), job(&repository, Work::issue(2), 2)];
        let mut connection = store.read().await.unwrap();
        for row in &mut rows {
            connection.insert_job(row).await.unwrap();
            row.status = JobStatus::Running;
            row.place = Some("here".into());
        }
        assert!(connection.update_job(&rows[0], JobStatus::Pending).await.unwrap());
        let error = connection.update_job(&rows[1], JobStatus::Pending).await.unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
        let ended = Job { status: JobStatus::Failed, ..rows[0].clone() };
        assert!(connection.update_job(&ended, JobStatus::Running).await.unwrap());
        assert!(connection.update_job(&rows[1], JobStatus::Pending).await.unwrap());
    }

    async fn jobs_are_listed_found_and_forgotten(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.write().await.unwrap();
        let mut rows = Vec::new();
        for at in 1..=3_i64 {
            let mut row = job(&repository, Work::issue(at.unsigned_abs()), at);
            row.id = format!("abc000000{at}").parse().unwrap();
            connection.insert_job(&row).await.unwrap();
            connection.put_session(&session(&row, at)).await.unwrap();
            rows.push(row);
        }
        let ended = Job { status: JobStatus::Completed, ended_at: Some(Timestamp::from_millisecond(10)), ..rows[0].clone() };
        assert!(connection.update_job(&ended, JobStatus::Pending).await.unwrap());
        connection.lock_queue(&repository.node).await.unwrap();
        connection.commit().await.unwrap();

        let mut connection = store.write().await.unwrap();
        let ids = |rows: Vec<Job>| rows.into_iter().map(|row| row.created_at.as_millisecond()).collect::<Vec<_>>();
        assert_eq!(ids(connection.jobs(&all(), 10).await.unwrap()), [3, 2, 1]);
        assert_eq!(ids(connection.jobs(&all(), 1).await.unwrap()), [3]);
        assert_eq!(ids(connection.unfinished_jobs(&repository.node).await.unwrap()), [2, 3]);
        assert_eq!(connection.unfinished_jobs(&NodeId::generate()).await.unwrap(), []);
        assert_eq!(ids(connection.find_jobs("local", "abc").await.unwrap()), [3, 2, 1]);
        assert_eq!(ids(connection.find_jobs("local", "abc0000002").await.unwrap()), [2]);
        assert_eq!(connection.find_jobs("local", "ab").await.unwrap(), []);
        assert_eq!(connection.find_jobs("other", "abc").await.unwrap(), []);

        let before = Timestamp::from_millisecond(10);
        assert_eq!(connection.delete_jobs_before(&repository.node, before).await.unwrap(), []);
        let after = Timestamp::from_millisecond(11);
        assert_eq!(connection.delete_jobs_before(&repository.node, after).await.unwrap(), std::slice::from_ref(&ended.id));
        assert_eq!(connection.sessions_of(&ended.id).await.unwrap(), []);
        assert_eq!(connection.sessions_of(&rows[1].id).await.unwrap().len(), 1);
        connection.commit().await.unwrap();
    }

    async fn the_newest_session_of_the_same_agent_work_and_workspace_is_gone_on_with(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        let here = WorkspaceId::generate();
        let row = Job { workspace_id: Some(here.clone()), ..job(&repository, Work::issue(42), 1) };
        connection.insert_job(&row).await.unwrap();
        let (old, new) = (session(&row, 1), session(&row, 2));
        let mute = Session { conversation: None, ..session(&row, 3) };
        let other = Session { agent: "reviewer".into(), ..session(&row, 4) };
        for session in [&old, &new, &mute, &other] {
            connection.put_session(session).await.unwrap();
        }
        let latest = connection.latest_session(&here, "coder", Some(&row.work)).await.unwrap();
        assert_eq!(latest.as_ref(), Some(&new));
        assert_eq!(connection.latest_session(&here, "coder", Some(&Work::issue(43))).await.unwrap(), None);
        assert_eq!(connection.latest_session(&WorkspaceId::generate(), "coder", Some(&row.work)).await.unwrap(), None);

        connection.end_sessions(&row.id, SessionStatus::Ended).await.unwrap();
        let ended = connection.sessions_of(&row.id).await.unwrap();
        assert!(ended.iter().all(|session| session.status == SessionStatus::Ended && session.ended_at.is_some()));
        let later = Timestamp::now().plus(Duration::from_secs(60));
        let other_node = NodeId::generate();
        assert_eq!(connection.forget_conversations_before(&other_node, later).await.unwrap(), 0, "they are not its own");
        assert_eq!(connection.latest_session(&here, "coder", Some(&row.work)).await.unwrap().map(|found| found.id), Some(new.id));
        assert_eq!(connection.forget_conversations_before(&repository.node, later).await.unwrap(), 3);
        assert_eq!(connection.latest_session(&here, "coder", Some(&row.work)).await.unwrap(), None);
    }
    async fn a_job_that_is_reopened_while_old_ones_are_forgotten_stays(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let row = Job { status: JobStatus::Failed, ended_at: Some(Timestamp::from_millisecond(2)), ..job(&repository, Work::issue(1), 1) };
        let mut connection = store.read().await.unwrap();
        connection.insert_job(&row).await.unwrap();
        connection.put_session(&session(&row, 1)).await.unwrap();
        drop(connection);

        let mut reopening = store.write().await.unwrap();
        assert!(reopening.reopen_job(&row.id).await.unwrap());
        let (other, node) = (store.clone(), repository.node.clone());
        let mut forgetting = tokio::spawn(async move {
            let mut connection = other.write().await.unwrap();
            let forgotten = connection.delete_jobs_before(&node, Timestamp::from_millisecond(3)).await.unwrap();
            connection.commit().await.unwrap();
            forgotten
        });
        let early = tokio::time::timeout(Duration::from_millis(300), &mut forgetting).await;
        assert!(early.is_err(), "it did not wait: {early:?}");
        reopening.commit().await.unwrap();
        assert_eq!(forgetting.await.unwrap(), []);
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.job(&row.id).await.unwrap().map(|job| job.status), Some(JobStatus::Pending));
        assert_eq!(connection.sessions_of(&row.id).await.unwrap().len(), 1);
    }
}
