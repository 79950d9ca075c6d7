//! A year of jobs, with the retention that a daemon applies: what is left, and how large the database is.
//!
//! `SPINNEY_YEAR_JOBS_A_DAY=1000 cargo test -p spinney-store --release --test suite year -- --nocapture` is the whole of it.

use std::time::Duration;

use spinney_core::{NodeId, Timestamp, Work};
use spinney_store::Store;

use crate::backend::Backend;
use crate::samples;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// As they are configured unless somebody says otherwise.
const JOB_RETENTION_DAYS: u32 = 90;
const SESSION_RETENTION_DAYS: u32 = 30;
const TRASH_DAYS: i64 = 14;
/// How many days pass between two sweeps of this test.
const STEP: i64 = 10;

const BEGIN: i64 = 1_700_000_000_000;

fn at(day: i64) -> Timestamp {
    Timestamp::from_millisecond(BEGIN + day * DAY_MS)
}

/// Ten digits, which are an id, of a kind of thing.
fn id(kind: u8, number: &str) -> String {
    format!("('{kind}' || substr('000000000' || ({number}), -9))")
}

/// One row for each number, which is `n`; `at` is its time.
fn for_each(from: i64, to: i64, a_day: i64, table: &str, columns: &str, values: &str) -> String {
    format!(
        "WITH RECURSIVE jobs_of(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM jobs_of WHERE n + 1 < {to}),
             timed(n, at) AS (SELECT n, {BEGIN} + n * {DAY_MS} / {a_day} FROM jobs_of)
         INSERT INTO {table} ({columns}) SELECT {values} FROM timed"
    )
}

/// What a thousand jobs leave: each has a workspace that goes through the trash, a session, operations, entries of the audit
/// log, and a message of a platform.
async fn work(backend: &Backend, repository: &spinney_core::Repository, from: i64, to: i64, a_day: i64) {
    let (node, repository) = (repository.node.as_str(), repository.id.as_str());
    let (workspace, job, session) = (id(1, "n"), id(2, "n"), id(3, "n"));
    let gone = TRASH_DAYS * DAY_MS;
    let insert = async |table: &str, columns: &str, values: String| {
        backend.run(for_each(from, to, a_day, table, columns, &values)).await;
    };
    insert(
        "workspaces",
        "id, account, node, repository_id, kind, key, name, provider, populate, path, branch, base_commit, status, pushed,
         platform, pinned, metadata, created_at, last_activity_at, removed_at",
        format!(
            "{workspace}, 'local', '{node}', '{repository}', 'job', {job}, 'job-' || {job}, 'worktree', 'checkout',
             '/home/trees/local/acme/app/' || {workspace}, 'agent/coder/' || {job},
             '0123456789abcdef0123456789abcdef01234567', 'purged', 1, 'github', 0,
             '{{\"made_branch\":\"agent/coder/1\",\"made_by_job\":\"2000000000\"}}', at, at, at"
        ),
    )
    .await;
    insert(
        "jobs",
        "id, account, node, repository_id, agent, kind, key, title, prompt, trigger_platform, status, cancel, attempt,
         workspace_id, request, outcome, created_at, started_at, ended_at",
        format!(
            "{job}, 'local', '{node}', '{repository}', 'coder', 'issue', n, 'Fix the login bug', 'Fix the login bug, and add a
             test for it.', 'github', 'completed', 'no', 1, {workspace}, '{{}}',
             '{{\"summary\":\"It fixes the login bug.\",\"commit\":\"0123456789abcdef0123456789abcdef01234567\"}}', at, at, at"
        ),
    )
    .await;
    insert(
        "sessions",
        "id, job_id, workspace_id, agent, kind, key, runtime, conversation, resumed, status, usage, started_at, ended_at",
        format!("{session}, {job}, {workspace}, 'coder', 'issue', n, 'claude', 'c-' || n, 0, 'completed', '{{}}', at, at"),
    )
    .await;
    for (kind, step, digit) in [("create", "adding", 4), ("remove", "moving", 5), ("purge", "deleting", 6)] {
        let own = id(digit, "n");
        let ended = if kind == "purge" { gone } else { 0 };
        insert(
            "operations",
            "id, node, kind, repository_id, workspace_id, status, step, data, created_at, updated_at",
            format!(
                "{own}, '{node}', '{kind}', '{repository}', {workspace}, 'done', '{step}',
                 '{{\"tree\":\"/home/trash/1000000000\",\"admin_dir\":\"/app/.git/spinney/1000000000\"}}', at + {ended},
                 at + {ended}"
            ),
        )
        .await;
    }
    for kind in [
        "workspace.created",
        "job.created",
        "job.started",
        "job.placed",
        "job.session",
        "job.session",
        "job.delivered",
        "job.ended",
        "workspace.removed",
        "workspace.purged",
    ] {
        insert(
            "events",
            "account, actor, kind, workspace_id, repository_id, job_id, detail, at",
            format!(
                "'local', '{{\"kind\":\"job\",\"id\":\"2000000000\"}}', '{kind}', {workspace}, '{repository}', {job},
                 '{{\"name\":\"job-1\",\"branch\":\"agent/coder/1\",\"status\":\"completed\",\"agent\":\"coder\"}}', at"
            ),
        )
        .await;
    }
    insert(
        "deliveries",
        "platform, id, account, node, conversation, author, event, status, received_at, ended_at",
        format!(
            "'github', 'd-' || n, 'local', '{node}', 'acme/app#' || n, '7', '{{\"text\":\"please\"}}', 'done', at, at"
        ),
    )
    .await;
    insert(
        "conversations",
        "account, platform, id, last_activity_at",
        "'local', 'github', 'acme/app#' || n, at".to_owned(),
    )
    .await;
    insert(
        "idempotency_keys",
        "account, key, fingerprint, boot, subject, status, answer, created_at",
        "'local', 'k-' || n, 'f', 'b', 's', 200, '{}', at".to_owned(),
    )
    .await;
    insert(
        "long_operations",
        "id, account, node, kind, status, created_at, ended_at",
        format!("{}, 'local', '{node}', 'cleanup', 'done', at, at", id(9, "n")),
    )
    .await;
}

/// What a daemon does with it: the same calls, with another time.
async fn retain(store: &Store, node: &NodeId, now: Timestamp) {
    let (jobs, sessions) = (now.minus(DAY * JOB_RETENTION_DAYS), now.minus(DAY * SESSION_RETENTION_DAYS));
    let mut db = store.write().await.unwrap();
    db.forget_conversations_before(node, sessions).await.unwrap();
    db.delete_conversations_before(sessions).await.unwrap();
    db.delete_deliveries_before(sessions).await.unwrap();
    db.delete_idempotency_keys_before(now.minus(DAY)).await.unwrap();
    db.delete_long_operations_before(now.minus(DAY * 7)).await.unwrap();
    db.delete_jobs_before(node, jobs).await.unwrap();
    db.delete_events_before(jobs).await.unwrap();
    db.delete_operations_before(node, jobs).await.unwrap();
    db.commit().await.unwrap();
    loop {
        let rows = store.read().await.unwrap().forgettable_workspaces(node, jobs, None, 500).await.unwrap();
        if rows.is_empty() {
            return;
        }
        let mut db = store.write().await.unwrap();
        for row in rows {
            assert!(db.delete_workspace(&row.id).await.unwrap());
        }
        db.commit().await.unwrap();
    }
}

const TABLES: [&str; 9] = [
    "workspaces",
    "jobs",
    "sessions",
    "operations",
    "events",
    "deliveries",
    "conversations",
    "idempotency_keys",
    "long_operations",
];

#[expect(clippy::disallowed_methods, reason = "whoever wants the whole year says so")]
fn jobs_a_day() -> i64 {
    std::env::var("SPINNEY_YEAR_JOBS_A_DAY").map_or(10, |text| text.parse().expect("a number"))
}

#[tokio::test]
async fn after_a_year_no_more_is_left_than_after_its_first_months() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    let repository = samples::one_repository(&store).await;
    let a_day = jobs_a_day();
    let mut after_months = None;
    for day in (0..365).step_by(STEP as usize) {
        let end = (day + STEP).min(365);
        work(&backend, &repository, day * a_day, end * a_day, a_day).await;
        retain(&store, &repository.node, at(end)).await;
        if day == 120 {
            after_months = Some(count(&backend).await);
        }
    }
    let (before, after) = (after_months.unwrap(), count(&backend).await);
    println!("{a_day} jobs a day; after a third of a year, and after all of it:");
    for ((table, before), (_, after)) in before.iter().zip(&after) {
        println!("{table:>18} {before:>9} {after:>9}");
        // What a sweep finds depends on how long ago the one before it was.
        assert!(*after <= before + STEP * a_day * 10, "{table} grows: {before}, then {after}");
    }
    let jobs = i64::from(JOB_RETENTION_DAYS) * a_day;
    let left = |name: &str| after.iter().find(|(table, _)| *table == name).unwrap().1;
    for table in ["jobs", "workspaces", "sessions"] {
        assert!((jobs..=jobs + a_day).contains(&left(table)), "{table}: {} of {jobs}", left(table));
    }
    assert!(left("operations") <= 4 * (jobs + a_day), "{}", left("operations"));
    assert!(left("events") <= 10 * (jobs + a_day) + 1, "{}", left("events"));
}

/// How many rows each table has, and how many bytes the database.
async fn count(backend: &Backend) -> Vec<(&'static str, i64)> {
    let mut counts = Vec::new();
    for table in TABLES {
        counts.push((table, backend.number(format!("SELECT COUNT(*) FROM {table}")).await));
    }
    let pages = backend.number("PRAGMA page_count").await * backend.number("PRAGMA page_size").await;
    println!("{} MB in the database", pages / 1_000_000);
    counts
}

#[tokio::test]
async fn what_an_archive_or_a_job_is_left_of_is_not_forgotten() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    let repository = samples::one_repository(&store).await;
    let mut rows = Vec::new();
    for number in 0..4 {
        let row = samples::workspace(&repository, Work::issue(number));
        let row = spinney_core::Workspace { status: spinney_core::WorkspaceStatus::Purged, ..row };
        assert!(store.read().await.unwrap().insert_workspace(&row).await.unwrap());
        rows.push(row);
    }
    let mut db = store.write().await.unwrap();
    db.record_archive(&rows[0].id, Some(5)).await.unwrap();
    db.insert_operation(&samples::operation(&rows[1])).await.unwrap();
    let live = spinney_core::Workspace { status: spinney_core::WorkspaceStatus::Trashed, ..rows[2].clone() };
    db.update_workspace(&live, &[spinney_core::WorkspaceStatus::Purged]).await.unwrap();
    db.commit().await.unwrap();
    let mut db = store.read().await.unwrap();
    let later = Timestamp::from_millisecond(1_800_000_000_000);
    let found = db.forgettable_workspaces(&repository.node, later, None, 9).await.unwrap();
    assert_eq!(found.iter().map(|row| &row.id).collect::<Vec<_>>(), [&rows[3].id]);
    assert!(db.forgettable_workspaces(&repository.node, later, Some(&rows[3].id), 9).await.unwrap().is_empty());
    let before = Timestamp::from_millisecond(1_600_000_000_000);
    assert!(db.forgettable_workspaces(&repository.node, before, None, 9).await.unwrap().is_empty());
    assert_eq!(db.archive_sizes(&repository.node).await.unwrap(), [(rows[0].id.clone(), 5)]);
    let tallies = db.tally_workspaces("local", &repository.node).await.unwrap();
    let sum = |value: fn(&spinney_store::WorkspaceTally) -> u64| tallies.iter().map(value).sum::<u64>();
    assert_eq!((sum(|tally| tally.archives), sum(|tally| tally.archive_bytes)), (1, 5));
}
