//! Fetching: one at a time, only what is wanted, nothing else touched.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Sandbox, branch};
use spinney_core::CommitId;
use spinney_git::{Error, Repository, Wanted};

const MINUTE: Duration = Duration::from_secs(60);

fn wanted(branches: &[&str]) -> Wanted {
    Wanted { default_branch: true, branches: branches.iter().map(|name| branch(name)).collect(), pulls: vec![] }
}

/// Commits to the remote from another clone.
fn push(sandbox: &Sandbox, name: &str, content: &str) -> CommitId {
    let other = sandbox.path("other clone");
    if !other.exists() {
        sandbox.run(
            &sandbox.path(""),
            &["clone", "-q", sandbox.path("app.git").to_str().unwrap(), other.to_str().unwrap()],
        );
    }
    let start =
        if sandbox.try_run(&other, &["switch", "-q", name]).0 { vec![] } else { vec!["switch", "-q", "-c", name] };
    if !start.is_empty() {
        sandbox.run(&other, &start);
    }
    let commit = sandbox.commit(&other, "file", content);
    sandbox.run(&other, &["push", "-q", "origin", name]);
    commit
}

fn calls(log: &Path, word: &str) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().lines().filter(|line| line.contains(&format!(" {word} "))).count()
}

async fn logged(sandbox: &Sandbox, root: &Path) -> (Repository, PathBuf) {
    let (git, log) = sandbox.logging_git().await;
    (Repository::discover(&git, root).await.unwrap(), log)
}

#[tokio::test]
async fn what_is_wanted_comes_and_nothing_else_changes() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    let config = std::fs::read(root.join(".git/config")).unwrap();
    let (topic, main) = (push(&sandbox, "feature/größe", "x"), push(&sandbox, "main", "y"));
    push(&sandbox, "unwanted", "z");
    sandbox.run(&sandbox.path("other clone"), &["push", "-q", "origin", "HEAD:refs/pull/7/head"]);
    sandbox.run(&sandbox.path("other clone"), &["tag", "v1"]);
    sandbox.run(&sandbox.path("other clone"), &["push", "-q", "--tags"]);
    let repository = sandbox.open(&root).await;
    let wanted = Wanted { pulls: vec![7, 8], ..wanted(&["feature/größe", "nowhere"]) };
    let known = repository.fetch("origin", &wanted, MINUTE, None).await.unwrap();
    assert!(known.fetched);
    assert_eq!(known.default_branch, Some(branch("main")));
    assert_eq!(known.missing, ["refs/heads/nowhere", "refs/pull/8/head"]);
    assert_eq!(repository.load_remote_branch("origin", &branch("feature/größe")).await.unwrap(), Some(topic));
    assert_eq!(repository.load_remote_branch("origin", &branch("main")).await.unwrap(), Some(main));
    assert_eq!(repository.load_remote_branch("origin", &branch("unwanted")).await.unwrap(), None);
    assert!(repository.load_ref("refs/spinney/pull/7").await.unwrap().is_some());
    assert_eq!(repository.load_ref("refs/tags/v1").await.unwrap(), None);
    assert!(!root.join(".git/FETCH_HEAD").exists());
    assert_eq!(std::fs::read(root.join(".git/config")).unwrap(), config);
    assert_eq!(repository.load_known("origin", &wanted).unwrap().missing.len(), 2);
}

#[tokio::test]
async fn a_young_answer_needs_no_network_and_an_old_one_does() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    let (repository, log) = logged(&sandbox, &root).await;
    let wanted = wanted(&["main"]);
    assert!(repository.load_known("origin", &wanted).is_none());
    repository.fetch("origin", &wanted, MINUTE, None).await.unwrap();
    let again = repository.fetch("origin", &wanted, MINUTE, None).await.unwrap();
    assert!(!again.fetched);
    // Nothing was new, so it was only asked for, not fetched.
    assert_eq!((calls(&log, "ls-remote"), calls(&log, "fetch")), (1, 0));
    let moved = push(&sandbox, "main", "new");
    let known = repository.fetch("origin", &wanted, Duration::ZERO, None).await.unwrap();
    assert!(known.fetched);
    assert_eq!(repository.load_remote_branch("origin", &branch("main")).await.unwrap(), Some(moved));
    assert_eq!((calls(&log, "ls-remote"), calls(&log, "fetch")), (2, 1));
    // A ref that somebody deleted here is not known any more, whatever the record says.
    sandbox.run(&root, &["update-ref", "-d", "refs/remotes/origin/main"]);
    assert!(repository.fetch("origin", &wanted, MINUTE, None).await.unwrap().fetched);
    assert!(repository.load_remote_branch("origin", &branch("main")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_ask_at_once_share_one_answer() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    push(&sandbox, "main", "new");
    let (repository, log) = logged(&sandbox, &root).await;
    let ask = |max_age: Duration| {
        let repository = repository.clone();
        tokio::spawn(async move { repository.fetch("origin", &wanted(&["main"]), max_age, None).await })
    };
    for task in (0..30).map(|_| ask(MINUTE)).collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    assert_eq!((calls(&log, "ls-remote"), calls(&log, "fetch")), (1, 1));
    // Even those for whom nothing is young enough share: who asked while one fetch ran gets the next.
    for task in (0..30).map(|_| ask(Duration::ZERO)).collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    assert!(calls(&log, "ls-remote") <= 6, "{}", calls(&log, "ls-remote"));
}

#[tokio::test]
async fn a_damaged_record_is_asked_anew() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    let repository = sandbox.open(&root).await;
    repository.fetch("origin", &wanted(&[]), MINUTE, None).await.unwrap();
    std::fs::write(repository.state_dir().join("fetched.json"), "{").unwrap();
    assert!(repository.load_known("origin", &wanted(&[])).is_none());
    assert!(repository.fetch("origin", &wanted(&[]), MINUTE, None).await.unwrap().fetched);
}

#[tokio::test]
async fn a_sync_brings_all_branches_and_forgets_the_gone() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    push(&sandbox, "a", "x");
    push(&sandbox, "gone", "y");
    let repository = sandbox.open(&root).await;
    let known = repository.sync("origin", None).await.unwrap();
    assert_eq!(known.default_branch, Some(branch("main")));
    assert!(repository.load_remote_branch("origin", &branch("gone")).await.unwrap().is_some());
    sandbox.run(&sandbox.path("other clone"), &["push", "-q", "origin", ":gone"]);
    repository.sync("origin", None).await.unwrap();
    assert_eq!(repository.load_remote_branch("origin", &branch("gone")).await.unwrap(), None);
    let known = repository.load_known("origin", &wanted(&["gone", "a"])).unwrap();
    assert_eq!(known.missing, ["refs/heads/gone"]);
    assert!(!repository.fetch("origin", &wanted(&["a"]), MINUTE, None).await.unwrap().fetched);
}

#[tokio::test]
async fn a_branch_that_became_a_directory_is_fetched() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    push(&sandbox, "agent", "x");
    let repository = sandbox.open(&root).await;
    repository.sync("origin", None).await.unwrap();
    let other = sandbox.path("other clone");
    sandbox.run(&other, &["push", "-q", "origin", ":agent"]);
    sandbox.run(&other, &["switch", "-q", "main"]);
    sandbox.run(&other, &["branch", "-q", "-D", "agent"]);
    let below = push(&sandbox, "agent/coder", "y");
    repository.fetch("origin", &wanted(&["agent/coder"]), Duration::ZERO, None).await.unwrap();
    assert_eq!(repository.load_remote_branch("origin", &branch("agent/coder")).await.unwrap(), Some(below));
}

#[tokio::test]
async fn the_default_branch_is_asked_for_and_not_remembered() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    push(&sandbox, "trunk", "x");
    sandbox.run(&sandbox.path("app.git"), &["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    let repository = sandbox.open(&root).await;
    let known = repository.fetch("origin", &wanted(&[]), MINUTE, None).await.unwrap();
    assert_eq!(known.default_branch, Some(branch("trunk")));
    assert!(repository.load_remote_branch("origin", &branch("trunk")).await.unwrap().is_some());
    assert_eq!(sandbox.run(&root, &["symbolic-ref", "refs/remotes/origin/HEAD"]), "refs/remotes/origin/main");
}

#[tokio::test]
async fn a_remote_without_refspec_and_a_second_remote_work() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    sandbox.run(&root, &["config", "--unset-all", "remote.origin.fetch"]);
    sandbox.run(&root, &["config", "remote.up/stream.url", sandbox.path("app.git").to_str().unwrap()]);
    let tip = push(&sandbox, "topic", "x");
    let repository = sandbox.open(&root).await;
    for remote in ["origin", "up/stream"] {
        repository.fetch(remote, &wanted(&["topic"]), MINUTE, None).await.unwrap();
        assert_eq!(repository.load_remote_branch(remote, &branch("topic")).await.unwrap().as_ref(), Some(&tip));
    }
}

#[tokio::test]
async fn remotes_that_fail_are_told_apart() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    sandbox.run(&root, &["remote", "add", "gone", sandbox.path("nowhere").to_str().unwrap()]);
    sandbox.run(&root, &["remote", "add", "down", "http://me:s3cret@127.0.0.1:1/app.git"]);
    sandbox.run(&root, &["remote", "add", "evil", "ext::sh -c exit% 1"]);
    let repository = sandbox.open(&root).await;
    let fetch = async |remote: &str| repository.fetch(remote, &wanted(&[]), MINUTE, None).await.unwrap_err();
    let error = fetch("gone").await;
    assert!(matches!(error, Error::RemoteNotFound { .. }) && error.is_remote(), "{error:?}");
    let error = fetch("down").await;
    assert!(matches!(error, Error::Network { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    assert!(matches!(fetch("evil").await, Error::TransportNotAllowed { transport } if transport == "ext"));
    for hostile in ["--upload-pack=touch x", "-x", "", "a b", "../x"] {
        assert!(matches!(fetch(hostile).await, Error::Refused { .. }), "{hostile}");
    }
    // What was known before is still known.
    repository.fetch("origin", &wanted(&[]), MINUTE, None).await.unwrap();
    std::fs::rename(sandbox.path("app.git"), sandbox.path("hidden.git")).unwrap();
    repository.fetch("origin", &wanted(&[]), Duration::ZERO, None).await.unwrap_err();
    assert!(repository.load_known("origin", &wanted(&[])).is_some());
}
