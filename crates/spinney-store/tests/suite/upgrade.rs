//! Older, newer and altered databases.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use spinney_store::migrate::{MIGRATIONS, Migration};
use spinney_store::{Error, Store, StoreUrl};
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};
use crate::samples::{everything, one_workspace};

const OLD: &[Migration] = MIGRATIONS.split_at(2).0;

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
        let (repository, workspace) = one_workspace(&old).await;
        assert_eq!(old.load_info().await.unwrap().schema, 2);
        old.close().await.unwrap();

        let store = backend.store().await;
        assert_eq!(store.load_info().await.unwrap().schema, NEWEST);
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.workspaces(&everything()).await.unwrap(), std::slice::from_ref(&workspace));
        assert!(connection.insert_port(&repository.node, 4000, &workspace.id, "web").await.unwrap());

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
