//! Repositories inside of a tree, and what their own configuration, or the repository's, would run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::Sandbox;
use spinney_git::{Error, Identity, SettingsGuard, StatusOptions, Worktree};

const ALL: StatusOptions = StatusOptions { untracked: true, ignored: false };

/// A worktree with a gitlink at `sub` and an edit in it; git runs a program there that leaves `ran` in the sandbox.
async fn tree(sandbox: &Sandbox) -> (Worktree, PathBuf) {
    let repository = sandbox.open(&sandbox.init("app")).await;
    let worktree = sandbox.add(&repository, "work").await;
    let sub = worktree.path().join("sub");
    sandbox.run(worktree.path(), &["init", "-q", "sub"]);
    sandbox.commit(&sub, "a", "a");
    sandbox.run(worktree.path(), &["add", "sub"]);
    let mark = sandbox.path("ran");
    sandbox.run(&sub, &["config", "core.fsmonitor", &format!("touch '{}'; false", mark.display())]);
    fs::write(sub.join("a"), "b").unwrap();
    (worktree, mark)
}

fn person() -> Identity {
    Identity { name: "A Person".into(), email: "person@example.invalid".into() }
}

#[tokio::test]
async fn what_is_left_over_is_committed_without_a_step_into_it() {
    let sandbox = Sandbox::new().await;
    let (worktree, mark) = tree(&sandbox).await;
    fs::write(worktree.path().join("new"), "new").unwrap();
    let files = worktree.load_left_over().await.unwrap();
    assert_eq!(files.repositories, [PathBuf::from("sub")]);
    let wanted: Vec<PathBuf> = files.changed.keys().cloned().collect();
    let committed = worktree.commit_files(&files, &wanted, "agent: done", &person()).await.unwrap();
    assert!(committed.is_some());
    assert!(!mark.exists());
    sandbox.run(worktree.path(), &["add", "--all"]);
    assert!(mark.exists(), "git does not run it at all");
}

#[tokio::test]
async fn a_status_says_what_it_could_not_look_into() {
    let sandbox = Sandbox::new().await;
    let (worktree, mark) = tree(&sandbox).await;
    let status = worktree.load_status(&ALL).await.unwrap();
    assert!(!status.is_clean() && !mark.exists());
    let told = status.opaque[0].to_string();
    assert!(told.contains("`sub`") && told.contains("core.fsmonitor"), "{told}");
    assert!(matches!(status.require_known(), Err(Error::Opaque(_))));
}

#[tokio::test]
async fn one_inside_of_one_is_looked_at_by_its_own_configuration() {
    let sandbox = Sandbox::new().await;
    let (worktree, mark) = tree(&sandbox).await;
    let (outer, inner) = (worktree.path().join("sub"), worktree.path().join("sub/inner"));
    sandbox.run(&outer, &["config", "--unset", "core.fsmonitor"]);
    sandbox.run(&outer, &["checkout", "-q", "a"]);
    sandbox.run(&outer, &["init", "-q", "inner"]);
    sandbox.commit(&inner, "c", "c");
    sandbox.run(&outer, &["add", "inner"]);
    sandbox.run(&outer, &["commit", "-q", "-m", "inner"]);
    sandbox.run(worktree.path(), &["add", "sub"]);
    sandbox.run(worktree.path(), &["commit", "-q", "-m", "sub"]);
    assert!(worktree.load_status(&ALL).await.unwrap().is_clean());
    fs::write(inner.join("c"), "d").unwrap();
    assert_eq!(worktree.load_status(&ALL).await.unwrap().changes.len(), 1);
    sandbox.run(&inner, &["config", "core.fsmonitor", &format!("touch '{}'; false", mark.display())]);
    let status = worktree.load_status(&ALL).await.unwrap();
    assert!(status.opaque[0].to_string().contains("`sub/inner`") && !mark.exists());
}

#[tokio::test]
async fn a_configuration_that_is_no_file_or_leads_in_circles_is_no_answer_and_no_wait() {
    let sandbox = Sandbox::new().await;
    let (worktree, _) = tree(&sandbox).await;
    let config = worktree.path().join("sub/.git/config");
    fs::write(&config, "[include]\n\tpath = config\n").unwrap();
    assert!(worktree.load_status(&ALL).await.is_err(), "git itself gives none");
    fs::remove_file(&config).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &config, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let started = std::time::Instant::now();
    let error = worktree.load_status(&ALL).await.unwrap_err();
    assert!(error.to_string().contains("it is no file"), "{error}");
    assert!(started.elapsed() < std::time::Duration::from_secs(30));
}

/// The worktree with a guard that accepts these settings.
fn guarded(worktree: &Worktree, accepted: &[(&str, &str)]) -> Worktree {
    let accepted: BTreeSet<_> = accepted.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let repository = worktree.repository().clone().guarded(Arc::new(SettingsGuard::new(accepted, Vec::new())));
    Worktree::open(&repository, worktree.path()).unwrap()
}

#[tokio::test]
async fn a_setting_counts_from_the_moment_in_which_it_is_written() {
    let sandbox = Sandbox::new().await;
    let repository = sandbox.open(&sandbox.init("app")).await;
    let worktree = guarded(&sandbox.add(&repository, "work").await, &[("filter.x.clean", "cat")]);
    worktree.load_status(&ALL).await.unwrap();
    sandbox.run(worktree.path(), &["config", "filter.x.clean", "cat"]);
    worktree.load_status(&ALL).await.unwrap();
    sandbox.run(worktree.path(), &["config", "filter.x.clean", "cat "]);
    let error = worktree.load_status(&ALL).await.unwrap_err();
    assert!(matches!(&error, Error::NotTrusted { settings } if settings.len() == 1), "{error}");
    assert!(error.to_string().contains("`filter.x.clean` is `cat `"), "{error}");
    // What runs no filter has its answer.
    worktree.load_head().await.unwrap();
    worktree.load_gitlinks().await.unwrap();
    // A fetch that any question may begin is another matter.
    sandbox.run(worktree.path(), &["config", "extensions.partialClone", "origin"]);
    assert!(matches!(worktree.load_gitlinks().await, Err(Error::NotTrusted { .. })));
}

#[tokio::test]
async fn an_admin_dir_leads_to_no_other_configuration() {
    let sandbox = Sandbox::new().await;
    let repository = sandbox.open(&sandbox.init("app")).await;
    let worktree = sandbox.add(&repository, "work").await;
    let other = sandbox.init("other");
    sandbox.run(&other, &["config", "some.key", "other"]);
    let named = |worktree: &Worktree| worktree.command().args(["config", "some.key"]).accept(&[0, 1]);
    let lead = |place: &Path| fs::write(worktree.admin_dir().join("commondir"), place.to_str().unwrap()).unwrap();
    lead(&other.join(".git"));
    assert_eq!(named(&worktree).text().await.unwrap(), "");
    lead(repository.common_dir());
}
