//! What makes git wait or read garbage: attacks 13 and 25. An answer that can't be had is an error, and soon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, mknodat};
use spinney_git::{BoxPlaces, BoxedTree, Error, JailLimits, Unverifiable};

use super::fixture::{ALL, Boxed};

fn put_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_file(path).ok();
    mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
}

fn why(error: &Error) -> &Unverifiable {
    match error {
        Error::Unverifiable { why, .. } => why,
        error => panic!("{error:?}"),
    }
}

/// The same tree, asked with little patience.
fn impatient(boxed: &Boxed) -> BoxedTree {
    let jail = boxed.jail.with_limits(JailLimits { time: Duration::from_secs(2), ..JailLimits::default() });
    BoxedTree::new(&jail, boxed.path(), boxed.git_dir(), &boxed.mirror, &BoxPlaces::default())
}

/// Processes whose arguments name this box.
fn running(boxed: &Boxed) -> usize {
    let own = boxed.git_dir().to_str().unwrap().as_bytes().to_vec();
    let names = |path: &Path| {
        fs::read(path.join("cmdline")).is_ok_and(|line| line.windows(own.len()).any(|window| window == own))
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|entry| names(&entry.path())).count()
}

#[tokio::test]
async fn attack_13_a_pipe_in_the_place_of_a_file_is_refused_before_git_opens_it() {
    for name in ["config", "HEAD", "index", "packed-refs", "info/exclude", "objects/info/alternates"] {
        let boxed = Boxed::new().await;
        put_pipe(&boxed.git_dir().join(name));
        let begun = Instant::now();
        let error = boxed.tree.load_status(&ALL).await.unwrap_err();
        assert_eq!(why(&error), &Unverifiable::NotAFile(name.into()));
        assert!(begun.elapsed() < Duration::from_secs(1));
        boxed.ask_everything().await.assert_import_refused();
    }
}

#[tokio::test]
async fn attack_13_a_pipe_further_down_meets_the_time_limit_and_nothing_is_left_running() {
    let boxed = Boxed::new().await;
    let tree = impatient(&boxed);
    for path in [boxed.git_dir().join("refs/heads/work"), boxed.path().join(".gitignore")] {
        put_pipe(&path);
        let begun = Instant::now();
        let error = tree.load_status(&ALL).await.unwrap_err();
        assert!(matches!(why(&error), Unverifiable::TimedOut(_)), "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        fs::remove_file(&path).unwrap();
        crate::common::until("all in the jail is dead", || running(&boxed) == 0).await;
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_not_clean() {
    let boxed = Boxed::new().await;
    let closed = boxed.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("hidden"), "x\n").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let asked = boxed.ask_everything().await;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(why(&asked.status.unwrap_err()), Unverifiable::Unreadable(_)));
    assert!(asked.paths.is_err() && asked.left_over.is_err() && asked.import.is_ok());
}

#[tokio::test]
async fn attack_25_an_index_that_is_garbage_is_no_answer() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let index = boxed.git_dir().join("index");
    let whole = fs::read(&index).unwrap();
    for bytes in [b"garbage".to_vec(), whole[..whole.len() / 2].to_vec(), [&whole[..4], &[0xff; 64]].concat()] {
        fs::write(&index, bytes).unwrap();
        let error = boxed.tree.load_status(&ALL).await.unwrap_err();
        assert!(matches!(why(&error), Unverifiable::Failed { .. } | Unverifiable::Garbage { .. }), "{error:?}");
        let asked = boxed.ask_everything().await;
        assert!(asked.left_over.is_err());
        // The commits need no index.
        asked.import.unwrap();
    }
}

#[tokio::test]
async fn attack_25_a_path_in_the_index_leads_nowhere_else() {
    let boxed = Boxed::new().await;
    fs::write(boxed.sandbox.path("trees/secret"), "secret\n").unwrap();
    let secret = boxed.sandbox.run(&boxed.sandbox.path(""), &["hash-object", "trees/secret"]);
    boxed.commit("--/secret", "x\n");
    let index = boxed.git_dir().join("index");
    let whole = fs::read(&index).unwrap();
    let place = whole.windows(9).position(|window| window == b"--/secret").unwrap();
    for start in [b"..", b"./"] {
        let mut bytes = whole.clone();
        bytes[place..place + 2].copy_from_slice(start);
        fs::write(&index, bytes).unwrap();
        let asked = boxed.ask_everything().await;
        assert!(asked.status.is_err() && asked.left_over.is_err(), "{asked:?}");
        assert!(!boxed.has_object(&secret));
    }
}

#[tokio::test]
async fn attack_25_split_index_and_untracked_cache_change_nothing() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    boxed.agent(&["config", "core.untrackedCache", "true"]);
    boxed.agent(&["update-index", "--split-index", "--untracked-cache", "--force-untracked-cache"]);
    fs::write(boxed.path().join("new"), "new\n").unwrap();
    let status = boxed.tree.load_status(&ALL).await.unwrap();
    assert_eq!(status.untracked.len(), 1);
    boxed.ask_everything().await.assert_answered();
}
