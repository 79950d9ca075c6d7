//! What is remembered instead of asking git again: it must never outlive a change.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::*;
use spinney_git::{Git, GitOptions, Repository};
use spinney_testkit::write_program;

/// A repository with one commit.
fn repository(sandbox: &Sandbox) -> std::path::PathBuf {
    age(&sandbox.home().join(".gitconfig"));
    sandbox.init("app")
}

/// Makes a file look as if it was changed long ago, as those of a repository in daily use are.
fn age(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
}

#[tokio::test]
async fn remotes_are_remembered_until_the_configuration_changes() {
    let sandbox = Sandbox::new().await;
    let root = repository(&sandbox);
    sandbox.run(&root, &["remote", "add", "origin", "https://me:secret@host/a.git"]);
    let repository = sandbox.open(&root).await;
    let remembered = repository.state_dir().join("remotes.json");

    assert_eq!(names(&repository).await, ["origin"]);
    assert!(!remembered.exists(), "a file that was changed just now may change again within a tick");

    age(&root.join(".git/config"));
    assert_eq!(names(&repository).await, ["origin"]);
    let text = fs::read_to_string(&remembered).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(names(&repository).await, ["origin"]);

    sandbox.run(&root, &["remote", "rename", "origin", "upstream"]);
    assert_eq!(names(&repository).await, ["upstream"]);

    // A file that was not there when the answer was kept.
    age(&root.join(".git/config"));
    assert_eq!(names(&repository).await, ["upstream"]);
    fs::create_dir_all(sandbox.home().join(".config/git")).unwrap();
    fs::write(sandbox.home().join(".config/git/config"), "[remote \"other\"]\n\turl = /other\n").unwrap();
    assert!(names(&repository).await.contains(&"other".to_owned()));
}

#[tokio::test]
async fn an_included_file_counts_too() {
    let sandbox = Sandbox::new().await;
    let root = repository(&sandbox);
    let included = root.join(".git/more");
    fs::write(&included, "[remote \"a\"]\n\turl = /a\n").unwrap();
    sandbox.run(&root, &["config", "include.path", "more"]);
    age(&included);
    age(&root.join(".git/config"));
    let repository = sandbox.open(&root).await;
    assert_eq!(names(&repository).await, ["a"]);
    assert!(repository.state_dir().join("remotes.json").exists());
    fs::write(&included, "[remote \"bb\"]\n\turl = /b\n").unwrap();
    assert_eq!(names(&repository).await, ["bb"]);
}

async fn names(repository: &Repository) -> Vec<String> {
    repository.load_remotes().await.unwrap().into_iter().map(|remote| remote.name).collect()
}

#[tokio::test]
async fn a_git_is_checked_once_and_again_when_it_is_another() {
    let sandbox = Sandbox::new().await;
    let place = sandbox.home().join("git.json");
    let bin = sandbox.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let script = |version: &str| {
        let text =
            format!("#!/bin/sh\necho asked >> '{}/asked'\necho git version {version}\n", sandbox.home().display());
        write_program(bin.join("git.new"), text);
        fs::rename(bin.join("git.new"), bin.join("git")).unwrap();
    };
    let path = std::ffi::OsString::from(format!("{}:/usr/bin:/bin", bin.display()));
    let options =
        || GitOptions { remembered: Some(place.clone()), ..GitOptions::new(vec![("PATH".into(), path.clone())]) };
    let asked = || fs::read_to_string(sandbox.home().join("asked")).unwrap_or_default().lines().count();

    script("2.45.1");
    for _ in 0..3 {
        assert_eq!(Git::open(options()).await.unwrap().version().to_string(), "2.45.1");
    }
    assert_eq!(asked(), 1);
    script("2.46.0");
    assert_eq!(Git::open(options()).await.unwrap().version().to_string(), "2.46.0");
    script("2.20.0");
    assert!(Git::open(options()).await.is_err());
    assert!(Git::open(options()).await.is_err(), "one that is too old is not remembered as good");
    fs::write(&place, "{ half").unwrap();
    script("2.47.0");
    assert_eq!(Git::open(options()).await.unwrap().version().to_string(), "2.47.0");
}

#[tokio::test]
async fn a_plain_place_is_found_by_files_alone_and_no_other() {
    let sandbox = Sandbox::new().await;
    let root = repository(&sandbox);
    let common_dir = root.join(".git").canonicalize().unwrap();
    fs::create_dir_all(root.join("deep/er")).unwrap();
    assert_eq!(Repository::locate(&root.join("deep/er")), Some(common_dir.clone()));
    let linked = root.parent().unwrap().join("linked");
    sandbox.run(&root, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    assert_eq!(Repository::locate(&linked), Some(common_dir));

    assert_eq!(Repository::locate(&root.join(".git/refs")), None, "inside a git dir");
    let bare = root.parent().unwrap().join("bare.git");
    sandbox.run(&root, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert_eq!(Repository::locate(&bare), None);
    fs::write(linked.join(".git"), "gitdir: /nowhere\n").unwrap();
    assert_eq!(Repository::locate(&linked), None);
    assert_eq!(Repository::locate(root.parent().unwrap()), None);
}
