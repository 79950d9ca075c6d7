//! The repository's lock, within a process and across processes.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Sandbox, options, until};
use spinney_git::{Error, Git, GitOptions, Repository};

/// A second process with the same repository; it does what the test's name says.
fn other_process(test: &str, repository: &Path, home: &Path) -> std::process::Child {
    #[expect(clippy::disallowed_methods, reason = "this test's own program, as a second process")]
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("lock::{test}"), "--nocapture"]);
    command.env("SPINNEY_TEST_REPOSITORY", repository).env("SPINNEY_TEST_HOME", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "how the second process is told what to do")]
fn told(name: &str) -> Option<std::path::PathBuf> {
    std::env::var_os(name).map(Into::into)
}

/// The repository that this process was started for, with its main checkout; none when it runs as a test of its own.
async fn told_repository() -> Option<(Repository, std::path::PathBuf)> {
    let (home, root) = (told("SPINNEY_TEST_HOME")?, told("SPINNEY_TEST_REPOSITORY")?);
    let git = Git::open(options(&home)).await.unwrap();
    Some((Repository::discover(&git, &root).await.unwrap(), root))
}

async fn with_timeout(sandbox: &Sandbox, root: &Path, lock_timeout: Duration) -> Repository {
    let git = Git::open(GitOptions { lock_timeout, ..options(&sandbox.home()) }).await.unwrap();
    Repository::discover(&git, root).await.unwrap()
}

/// A role that other tests start as a second process.
#[tokio::test]
async fn process_that_runs_a_slow_git_with_the_lock() {
    let Some((repository, root)) = told_repository().await else { return };
    let lock = repository.lock("new issue-42").await.unwrap();
    let alias =
        format!("alias.slow=!touch '{0}/started'; while ! [ -e '{0}/release' ]; do sleep 0.02; done", root.display());
    repository.command().holding(&lock).args(["-c", &alias, "slow"]).run().await.unwrap();
}

/// A role that other tests start as a second process.
#[tokio::test]
async fn process_that_counts_under_the_lock() {
    let Some((repository, root)) = told_repository().await else { return };
    for _ in 0..20 {
        let _lock = repository.lock("count").await.unwrap();
        let count: u32 = std::fs::read_to_string(root.join("count")).unwrap().parse().unwrap();
        tokio::task::yield_now().await;
        std::fs::write(root.join("count"), (count + 1).to_string()).unwrap();
    }
}

#[tokio::test]
async fn who_waits_in_vain_is_told_who_holds_it() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = with_timeout(&sandbox, &root, Duration::from_millis(50)).await;
    let _held = repository.lock("new issue-42").await.unwrap();
    let error = repository.lock("second").await.unwrap_err();
    let Error::LockTimeout { holder: Some(holder), .. } = &error else { panic!("{error:?}") };
    assert_eq!((holder.pid, holder.purpose.as_str()), (std::process::id(), "new issue-42"));
    let text = error.to_string();
    assert!(text.contains(&format!("held by process {} for `new issue-42` since 20", std::process::id())), "{text}");
}

#[tokio::test]
async fn an_orphaned_git_process_keeps_the_lock() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let mut other = other_process("process_that_runs_a_slow_git_with_the_lock", &root, &sandbox.home());
    until("the slow git", || root.join("started").exists()).await;
    other.kill().unwrap();
    other.wait().unwrap();
    let impatient = with_timeout(&sandbox, &root, Duration::from_millis(100)).await;
    let error = impatient.lock("second").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("a git process that still runs, left by process {}", other.id())), "{text}");
    std::fs::write(root.join("release"), "").unwrap();
    sandbox.open(&root).await.lock("third").await.unwrap();
}

#[tokio::test]
async fn a_process_that_dies_leaves_no_lock() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    drop(repository.lock("first").await.unwrap());
    // What the dead one wrote is still in the file; it means nothing.
    assert!(std::fs::read_to_string(root.join(".git/spinney/lock")).unwrap().contains("first"));
    with_timeout(&sandbox, &root, Duration::ZERO).await.lock("second").await.unwrap();
}

#[tokio::test]
async fn processes_take_turns() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    std::fs::write(root.join("count"), "0").unwrap();
    let others: Vec<_> =
        (0..4).map(|_| other_process("process_that_counts_under_the_lock", &root, &sandbox.home())).collect();
    for mut other in others {
        assert!(other.wait().unwrap().success());
    }
    assert_eq!(std::fs::read_to_string(root.join("count")).unwrap(), "80");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_take_turns() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..50 {
        let (repository, inside) = (repository.clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            let _lock = repository.lock("count").await.unwrap();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stopped_holder_is_waited_for_no_longer_than_said() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let mut other = other_process("process_that_runs_a_slow_git_with_the_lock", &root, &sandbox.home());
    until("the slow git", || root.join("started").exists()).await;
    let kill = |signal: rustix::process::Signal| {
        rustix::process::kill_process(rustix::process::Pid::from_child(&other), signal).unwrap();
    };
    kill(rustix::process::Signal::STOP);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = {
        let told = told.clone();
        move |holder: &spinney_git::Holder| told.lock().unwrap().push(holder.to_string())
    };
    let (lock_timeout, on_wait) = (Duration::from_secs(2), Some(spinney_git::OnWait::new(tell)));
    let git = Git::open(GitOptions { lock_timeout, on_wait, ..options(&sandbox.home()) }).await.unwrap();
    let error = Repository::discover(&git, &root).await.unwrap().lock("second").await.unwrap_err();
    let named = format!("process {}, which is stopped, for `new issue-42` since 20", other.id());
    assert!(error.to_string().contains(&named), "{error}");
    let told = told.lock().unwrap().clone();
    assert!(told.len() == 1 && told[0].starts_with(&named), "{told:?}");
    std::fs::write(root.join("release"), "").unwrap();
    kill(rustix::process::Signal::CONT);
    other.wait().unwrap();
}
