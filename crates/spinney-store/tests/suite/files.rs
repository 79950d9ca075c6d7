//! What can be wrong with the place of a store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use spinney_store::{Error, Store, StoreUrl};

use crate::backend::Backend;
use crate::samples::one_workspace;

async fn refusal(path: &Path) -> Error {
    Store::open(&StoreUrl::Sqlite(path.to_owned())).await.unwrap_err()
}

#[tokio::test]
async fn a_new_database_is_its_owners_alone_and_writes_ahead() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    one_workspace(&store).await;
    for name in ["spinney.db", "spinney.db-wal", "spinney.db.lock"] {
        let mode = fs::metadata(backend.directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!backend.directory.path().join("spinney.db.new").exists());
    assert_eq!(backend.number("SELECT COUNT(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'").await, 1);
}

#[tokio::test]
async fn a_current_database_is_opened_without_the_lock() {
    let backend = Backend::sqlite().await;
    backend.store().await.close().await.unwrap();
    let lock = fs::File::open(backend.directory.path().join("spinney.db.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let opened = tokio::time::timeout(std::time::Duration::from_secs(20), Store::open(&backend.url)).await;
    opened.expect("nobody waits for the lock").unwrap();
}

#[tokio::test]
async fn a_database_that_lost_its_write_ahead_log_gets_it_back() {
    let backend = Backend::sqlite().await;
    backend.store().await.close().await.unwrap();
    backend.run("PRAGMA journal_mode = DELETE").await;
    backend.store().await.close().await.unwrap();
    assert_eq!(backend.number("SELECT COUNT(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'").await, 1);
}

#[tokio::test]
async fn names_that_mean_something_in_a_url_are_only_names() {
    let backend = Backend::sqlite().await;
    let directory = backend.directory.path().join("a b?mode=ro#%41/größe");
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("../größe/:memory:.db");
    Store::open(&StoreUrl::Sqlite(path)).await.unwrap();
    assert!(directory.join(":memory:.db").exists());
}

#[tokio::test]
async fn an_empty_file_and_a_missing_directory_become_a_database() {
    let backend = Backend::sqlite().await;
    let empty = backend.directory.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    one_workspace(&Store::open(&StoreUrl::Sqlite(empty)).await.unwrap()).await;
    let deep = backend.directory.path().join("not/there/yet/spinney.db");
    one_workspace(&Store::open(&StoreUrl::Sqlite(deep.clone())).await.unwrap()).await;
    let mode = fs::metadata(deep.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn what_a_dead_process_left_half_made_is_made_anew() {
    let backend = Backend::sqlite().await;
    for name in ["spinney.db.new", "spinney.db.new-wal", "spinney.db.new-journal"] {
        fs::write(backend.directory.path().join(name), "half").unwrap();
    }
    one_workspace(&backend.store().await).await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_kept() {
    let backend = Backend::sqlite().await;
    let path = backend.directory.path().join("spinney.db");
    let text = "dear diary, ".repeat(1000);
    fs::write(&path, &text).unwrap();
    assert!(matches!(refusal(&path).await, Error::Corrupt { path: named, .. } if named == path));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert!(matches!(refusal(backend.directory.path()).await, Error::Corrupt { .. }), "a directory");
}

#[tokio::test]
async fn a_damaged_database_is_told() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    one_workspace(&store).await;
    store.close().await.unwrap();
    backend.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE").await;
    let path = backend.directory.path().join("spinney.db");
    let mut bytes = fs::read(&path).unwrap();
    // The header stays: what follows it is noise.
    bytes[100..].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    assert!(matches!(refusal(&path).await, Error::Corrupt { .. }));
}

#[tokio::test]
async fn damage_and_dangling_rows_are_found_by_the_check() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    one_workspace(&store).await;
    backend.run("PRAGMA foreign_keys = OFF; DELETE FROM repositories").await;
    let problems = store.check().await.unwrap();
    assert!(
        problems.iter().any(|problem| problem.contains("`workspaces`") && problem.contains("`repositories`")),
        "{problems:?}"
    );
}

#[tokio::test]
async fn another_programs_database_is_refused() {
    let backend = Backend::sqlite().await;
    let path = backend.directory.path().join("spinney.db");
    fs::write(&path, "").unwrap();
    backend.run("CREATE TABLE bookmarks (url TEXT)").await;
    assert!(matches!(refusal(&path).await, Error::Foreign { .. }));
    assert_eq!(backend.number("SELECT COUNT(*) FROM sqlite_master").await, 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn where_nothing_can_be_made_permission_is_named() {
    // The kernel lets nobody create files here, not even root.
    let error = refusal(Path::new("/sys/spinney.db")).await;
    assert!(matches!(&error, Error::Permission { .. } | Error::ReadOnly { .. }), "{error:?}");
    assert!(error.to_string().contains("/sys/"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    for url in ["postgres://u:secret@127.0.0.1:1/d", "postgres://u:secret@localhost/d?host=/nowhere"] {
        let error = Store::open(&StoreUrl::parse(url).unwrap()).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("u:***@"), "{error}");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn a_database_that_the_server_does_not_have_is_denied() {
    let backend = Backend::postgres().await;
    let StoreUrl::Postgres(url) = &backend.url else { unreachable!() };
    let other = url.replace("spinney_test_", "spinney_missing_");
    let error = Store::open(&StoreUrl::Postgres(other)).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn what_belongs_to_a_database_that_was_moved_away_is_no_other_ones() {
    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    one_workspace(&store).await;
    let path = backend.directory.path().join("spinney.db");
    let [wal, shm] = ["-wal", "-shm"].map(|suffix| backend.directory.path().join(format!("spinney.db{suffix}")));
    assert!(fs::metadata(&wal).unwrap().len() > 0, "its last changes");
    let moved = backend.directory.path().join("elsewhere.db");
    fs::rename(&path, &moved).unwrap();
    let before = (fs::read(&wal).unwrap(), fs::read(&shm).unwrap());
    let error = refusal(&path).await;
    assert!(matches!(&error, Error::LeftOver { files, .. } if files == &[wal.clone(), shm.clone()]), "{error:?}");
    // Nor do they become those of an empty file in its place.
    fs::write(&path, "").unwrap();
    assert!(matches!(refusal(&path).await, Error::LeftOver { .. }));
    fs::remove_file(&path).unwrap();
    assert_eq!((fs::read(&wal).unwrap(), fs::read(&shm).unwrap()), before);
    // What the hint says helps, both ways.
    fs::rename(&moved, &path).unwrap();
    drop(Store::open(&backend.url).await.unwrap());
    assert_eq!(backend.number("SELECT COUNT(*) FROM workspaces").await, 1);
    for (suffix, place) in [("", &path), ("-wal", &wal), ("-shm", &shm)] {
        fs::rename(place, backend.directory.path().join(format!("elsewhere.db{suffix}"))).unwrap();
    }
    drop(Store::open(&backend.url).await.unwrap());
    assert_eq!(backend.number("SELECT COUNT(*) FROM workspaces").await, 0);
}
