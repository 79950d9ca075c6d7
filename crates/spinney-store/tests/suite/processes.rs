//! Several processes on one store: this test binary, started again as somebody else.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use spinney_core::{Event, NodeId, Work};
use spinney_store::migrate::MIGRATIONS;
use spinney_store::{Error, Store, StoreUrl, Subject};

use crate::backend::{Backend, on_both};
use crate::samples::{everything, one_repository, workspace};
use spinney_testkit::write_program;

const ROLE: &str = "SPINNEY_TEST_ROLE";
const URL: &str = "SPINNEY_TEST_URL";
const GO: &str = "SPINNEY_TEST_GO";
const WORKS: u64 = 40;

/// Starts this binary in a role; it begins when the file `go` appears.
#[expect(clippy::disallowed_methods, reason = "starts this very test binary again")]
fn command(binary: &Path, role: &str, url: &StoreUrl, go: &Path) -> Command {
    let url = match url {
        StoreUrl::Sqlite(path) => format!("sqlite:{}", path.display()),
        StoreUrl::Postgres(url) => url.clone(),
    };
    let mut command = Command::new(binary);
    command
        .args(["--exact", "processes::somebody_else", "--nocapture"])
        .env(ROLE, role)
        .env(URL, url)
        .env(GO, go)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(role: &str, backend: &Backend) -> Child {
    let go = backend.directory.path().join("go");
    command(&std::env::current_exe().unwrap(), role, &backend.url, &go).spawn().unwrap()
}

/// Waits for a process, and returns what it printed.
fn finish(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

#[expect(clippy::disallowed_methods, reason = "a role is given by the test that started this process")]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A role that the other tests start as a process of its own.
#[test]
fn somebody_else() {
    let (Some(role), Some(url), Some(go)) = (given(ROLE), given(URL), given(GO)) else { return };
    let url = StoreUrl::parse(&url).unwrap();
    while !Path::new(&go).exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "open" => open(&url).await,
            "write" => write(&url).await,
            "die" => die(&url).await,
            "be refused" => be_refused(&url).await,
            role => panic!("no role `{role}`"),
        }
    });
}

async fn open(url: &StoreUrl) {
    let store = Store::open(url).await.unwrap();
    let mut connection = store.write().await.unwrap();
    let node = NodeId::generate();
    connection.ensure_node(&node, "many").await.unwrap();
    connection.commit().await.unwrap();
}

async fn write(url: &StoreUrl) {
    let store = Store::open(url).await.unwrap();
    let rows = store.read().await.unwrap().workspaces(&everything()).await.unwrap();
    let mut won = 0;
    for number in 1..=WORKS {
        let mut connection = store.write().await.unwrap();
        // A transaction that reads first must not lose its right to write to one that was quicker.
        connection.works_of(&rows[0].id).await.unwrap();
        if connection.insert_work(&rows[0].repository_id, &Work::pr(number), &rows[0].id).await.unwrap() {
            won += 1;
        }
        let event = Event::Other { kind: "tried".into(), detail: serde_json::Value::Null };
        connection.record(Subject::account("local"), event).unwrap();
        connection.commit().await.unwrap();
    }
    println!("won {won}.");
}

/// Ends like a killed process, in the middle of a transaction.
async fn die(url: &StoreUrl) {
    let store = Store::open(url).await.unwrap();
    let rows = store.read().await.unwrap().workspaces(&everything()).await.unwrap();
    let mut connection = store.write().await.unwrap();
    assert!(connection.insert_work(&rows[0].repository_id, &Work::pr(1), &rows[0].id).await.unwrap());
    std::process::abort();
}

async fn be_refused(url: &StoreUrl) {
    let error = match Store::open(url).await {
        Err(error) => error,
        Ok(store) => {
            let mut connection = store.write().await.unwrap();
            connection.ensure_node(&NodeId::generate(), "nobody").await.unwrap_err()
        }
    };
    assert!(matches!(error, Error::Permission { .. } | Error::ReadOnly { .. }), "{error:?}");
    println!("refused.");
}

on_both! {
    async fn many_processes_open_a_new_store_at_once(backend: &Backend) {
        let children: Vec<_> = (0..30).map(|_| start("open", backend)).collect();
        fs::write(backend.directory.path().join("go"), "").unwrap();
        children.into_iter().for_each(|child| drop(finish(child)));
        assert_eq!(backend.number("SELECT COUNT(*) FROM nodes").await, 30);
        assert_eq!(backend.number("SELECT COUNT(*) FROM schema_migrations").await, MIGRATIONS.len() as i64);
    }

    async fn processes_that_write_at_once_lose_nothing(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let workspace = workspace(&repository, Work::issue(1));
        assert!(store.read().await.unwrap().insert_workspace(&workspace).await.unwrap());

        let children = [start("write", backend), start("write", backend)];
        fs::write(backend.directory.path().join("go"), "").unwrap();
        let won = children.map(|child| {
            let said = finish(child);
            let (_, rest) = said.split_once("won ").unwrap();
            rest.split_once('.').unwrap().0.parse::<u64>().unwrap()
        });
        assert_eq!(won[0] + won[1], WORKS, "{won:?}");
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.works_of(&workspace.id).await.unwrap().len() as u64, WORKS);
        assert_eq!(connection.events("local", 0, 1000).await.unwrap().len() as u64, 2 * WORKS);
    }

    async fn a_process_that_dies_in_a_transaction_leaves_neither_change_nor_lock(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let workspace = workspace(&repository, Work::issue(1));
        assert!(store.read().await.unwrap().insert_workspace(&workspace).await.unwrap());
        fs::write(backend.directory.path().join("go"), "").unwrap();
        let died = start("die", backend).wait_with_output().unwrap();
        assert!(!died.status.success());
        let mut connection = store.write().await.unwrap();
        assert!(connection.insert_work(&repository.id, &Work::pr(1), &workspace.id).await.unwrap());
        connection.commit().await.unwrap();
    }
}

/// As root nothing is read-only, so there the process is somebody else in earnest.
#[tokio::test]
async fn a_database_that_may_not_be_written_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    let backend = Backend::sqlite().await;
    let store = backend.store().await;
    one_repository(&store).await;
    store.close().await.unwrap();
    let directory = backend.directory.path();
    backend.run("PRAGMA wal_checkpoint(TRUNCATE)").await;
    let binary = directory.join("somebody-else");
    write_program(&binary, fs::read(std::env::current_exe().unwrap()).unwrap());
    fs::write(directory.join("go"), "").unwrap();
    fs::set_permissions(directory.join("spinney.db"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(directory, fs::Permissions::from_mode(0o555)).unwrap();

    let mut command = command(&binary, "be refused", &backend.url, &directory.join("go"));
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let said = finish(command.spawn().unwrap());
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(said.contains("refused."), "{said}");
}
