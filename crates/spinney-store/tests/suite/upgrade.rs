//! Older, newer and altered databases.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use spinney_store::migrate::{MIGRATIONS, Migration};
use spinney_store::{Error, Store, StoreUrl};
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};
use crate::samples::everything;

const OLD: &[Migration] = MIGRATIONS.split_at(2).0;
/// Before repositories and clones were told apart.
const BEFORE_CLONES: &[Migration] = MIGRATIONS.split_at(12).0;

/// What a repository's row was before there were clones.
async fn insert_old_repository(backend: &Backend, id: &str, node: &str, name: &str, url: Option<&str>, at: i64) {
    let (owner, name) = name.split_once('/').unwrap();
    let url = url.map_or("NULL".to_owned(), |url| format!("'{url}'"));
    backend
        .run(format!(
            "INSERT INTO nodes (id, name, created_at) VALUES ('{node}', 'x', 1) ON CONFLICT DO NOTHING;
             INSERT INTO repositories
                 (id, account, node, owner, name, common_dir, root, url, managed, token_env, tree_bytes, created_at)
             VALUES ('{id}', 'local', '{node}', '{owner}', '{name}', '/srv/{id}/.git', '/srv/{id}', {url}, 0, NULL, 7, {at})"
        ))
        .await;
}

async fn insert_old_workspace(backend: &Backend, id: &str, repository: &str, node: &str, key: &str) {
    backend
        .run(format!(
            "INSERT INTO workspaces
                 (id, account, node, repository_id, kind, key, name, provider, populate, path, branch, base_commit, status,
                  pushed, platform, pinned, metadata, created_at, last_activity_at)
             VALUES ('{id}', 'local', '{node}', '{repository}', 'issue', '{key}', 'issue-{key}', 'worktree', 'checkout',
                  '/trees/{id}', 'issue-{key}', '{}', 'active', 0, 'cli', 0, '{{}}', 1, 2);
             INSERT INTO works (repository_id, kind, key, workspace_id) VALUES ('{repository}', 'issue', '{key}', '{id}')",
            "0".repeat(40)
        ))
        .await;
}

fn backups(backend: &Backend) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(backend.directory.path()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains(".backup-")).collect()
}

fn with(migration: Migration) -> Vec<Migration> {
    [MIGRATIONS, &[migration]].concat()
}

const NEWEST: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;
const NEXT: Migration = Migration { version: NEWEST + 1, name: "more", sql: "CREATE TABLE more (id TEXT)" };

on_both! {
    async fn an_older_database_is_upgraded_after_a_backup(backend: &Backend) {
        let old = Store::open_with(&backend.url, OLD).await.unwrap();
        assert_eq!(old.load_info().await.unwrap().schema, 2);
        old.close().await.unwrap();
        insert_old_repository(backend, "aaaaaaaaaa", "0000000000", "acme/app", None, 1).await;
        insert_old_workspace(backend, "w000000000", "aaaaaaaaaa", "0000000000", "42").await;

        let store = backend.store().await;
        assert_eq!(store.load_info().await.unwrap().schema, NEWEST);
        let mut connection = store.read().await.unwrap();
        let workspace = connection.workspaces(&everything()).await.unwrap().remove(0);
        assert_eq!((workspace.name.as_str(), workspace.repository.to_string()), ("issue-42", "acme/app".to_owned()));
        assert!(connection.insert_port(&workspace.node, 4000, &workspace.id, "web").await.unwrap());

        if backend.is_sqlite() {
            let backups = backups(backend);
            assert_eq!(backups.len(), 1, "{backups:?}");
            assert!(backups[0].to_string_lossy().contains("spinney.db.backup-v2-"), "{backups:?}");
            assert_eq!(std::fs::metadata(&backups[0]).unwrap().permissions().mode() & 0o777, 0o600);
            let backup = Store::open(&StoreUrl::Sqlite(backups[0].clone())).await.unwrap();
            assert_eq!(backup.read().await.unwrap().workspaces(&everything()).await.unwrap(), [workspace]);
        } else {
            assert_eq!(backend.number("SELECT COUNT(*) FROM spinney_backup_v2.workspaces").await, 1);
            assert_eq!(backend.number("SELECT COUNT(*) FROM spinney_backup_v2.schema_migrations").await, 2);
            assert_eq!(backend.number("SELECT COUNT(*) FROM spinney_backup_v2.accounts").await, 1);
        }
    }

    async fn clones_of_one_remote_on_two_machines_become_one_repository(backend: &Backend) {
        Store::open_with(&backend.url, BEFORE_CLONES).await.unwrap().close().await.unwrap();
        let ids = ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "dddddddddd", "eeeeeeeeee", "ffffffffff"];
        let nodes = ["0000000000", "1111111111", "2222222222"];
        let (https, ssh) = ("https://example.org/acme/app.git", "git@example.org:acme/app");
        for (id, node, name, url) in [
            (ids[0], nodes[0], "acme/app", Some(https)),
            (ids[1], nodes[1], "acme/app", Some(ssh)),
            // Two of one machine stay two, and so does one that has the same work as another.
            (ids[2], nodes[0], "acme/app-2", Some(ssh)),
            (ids[3], nodes[2], "acme/app", Some(https)),
            (ids[4], nodes[0], "local/tool", None),
            (ids[5], nodes[1], "local/tool", Some("/srv/tool.git")),
        ] {
            let at = ids.iter().position(|known| *known == id).unwrap() as i64;
            insert_old_repository(backend, id, node, name, url, at).await;
        }
        insert_old_workspace(backend, "w000000000", ids[0], nodes[0], "42").await;
        insert_old_workspace(backend, "w111111111", ids[1], nodes[1], "43").await;
        insert_old_workspace(backend, "w333333333", ids[3], nodes[2], "42").await;
        backend.run(format!("INSERT INTO trusts (repository_id, hash, trusted_at) VALUES ('{}', 'h', 1)", ids[1])).await;

        let store = backend.store().await;
        let mut connection = store.read().await.unwrap();
        let mut found = Vec::new();
        for node in nodes {
            for row in connection.repositories("local", &node.parse().unwrap()).await.unwrap() {
                assert_eq!((row.root.is_some(), row.tree_bytes, &row.clone), (true, Some(7), &None));
                found.push((node, row.id.to_string(), row.name.to_string()));
            }
        }
        let expected = [
            (nodes[0], ids[0], "acme/app"),
            (nodes[0], ids[2], "acme/app-2"),
            (nodes[0], ids[4], "local/tool"),
            (nodes[1], ids[0], "acme/app"),
            (nodes[1], ids[5], "local/tool-2"),
            (nodes[2], ids[2], "acme/app-2"),
        ];
        let found: Vec<_> = found.iter().map(|(node, id, name)| (*node, id.as_str(), name.as_str())).collect();
        assert_eq!(found, expected);
        let (one, other) = (ids[0].parse().unwrap(), ids[2].parse().unwrap());
        for (repository, key, workspace) in
            [(&one, 42, "w000000000"), (&one, 43, "w111111111"), (&other, 42, "w333333333")]
        {
            let found = connection.workspace_of_work(repository, &spinney_core::Work::issue(key)).await.unwrap();
            assert_eq!(found.unwrap().id.as_str(), workspace);
        }
        assert!(connection.is_trusted(&one, "h").await.unwrap());
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }

    async fn one_of_many_upgrades_and_makes_one_backup(backend: &Backend) {
        Store::open_with(&backend.url, OLD).await.unwrap().close().await.unwrap();
        if !backend.is_sqlite() {
            // An earlier backup is left alone.
            backend.run("CREATE SCHEMA spinney_backup_v2").await;
        }
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let url = backend.url.clone();
            tasks.spawn(async move { Store::open(&url).await.map(drop) });
        }
        for opened in tasks.join_all().await {
            opened.unwrap();
        }
        if backend.is_sqlite() {
            assert_eq!(backups(backend).len(), 1);
        } else {
            let schemas = "SELECT COUNT(*) FROM pg_namespace WHERE nspname LIKE 'spinney_backup_%'";
            assert_eq!(backend.number(schemas).await, 2);
            assert_eq!(backend.number("SELECT COUNT(*) FROM spinney_backup_v2_2.accounts").await, 1);
        }
    }

    async fn a_newer_database_is_refused_untouched(backend: &Backend) {
        Store::open_with(&backend.url, &with(NEXT)).await.unwrap().close().await.unwrap();
        let error = Store::open(&backend.url).await.unwrap_err();
        assert!(matches!(error, Error::Newer { found, known: NEWEST } if found == NEXT.version), "{error:?}");
        assert!(error.to_string().contains("update Spinney"), "{error}");
        assert_eq!(backend.number("SELECT COUNT(*) FROM schema_migrations").await, MIGRATIONS.len() as i64 + 1);
    }

    async fn a_migration_that_changed_after_it_was_applied_is_refused(backend: &Backend) {
        Store::open_with(&backend.url, &with(NEXT)).await.unwrap().close().await.unwrap();
        let altered = Migration { sql: "CREATE TABLE more (id TEXT, name TEXT)", ..NEXT };
        let error = Store::open_with(&backend.url, &with(altered)).await.unwrap_err();
        assert!(matches!(error, Error::ChangedMigration { version } if version == NEXT.version), "{error:?}");
    }

    async fn an_upgrade_that_fails_changes_nothing(backend: &Backend) {
        Store::open_with(&backend.url, OLD).await.unwrap().close().await.unwrap();
        let broken = Migration { sql: "CREATE TABLE more (id TEXT); INSERT INTO nowhere VALUES (1)", ..NEXT };
        let error = Store::open_with(&backend.url, &with(broken)).await.unwrap_err();
        assert!(matches!(error, Error::Query { .. }), "{error:?}");
        assert_eq!(backend.number("SELECT COUNT(*) FROM schema_migrations").await, 2);
        Store::open_with(&backend.url, OLD).await.unwrap().close().await.unwrap();
        Store::open_with(&backend.url, &with(NEXT)).await.unwrap().close().await.unwrap();
    }
}
