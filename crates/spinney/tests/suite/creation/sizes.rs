//! What workspaces take on disk: measured when asked for, kept, and never a reason to wait.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use crate::support::common::Story;
use crate::support::lost::mount;
use serde_json::Value;
use spinney_core::{Size, Timestamp};
use spinney_store::{Store, StoreUrl};
use spinney_testkit::wait_until;

const LONG: Duration = Duration::from_secs(60);
const MEGABYTE: u64 = 1 << 20;

/// The rows of `spinney ls --all --json` with more words.
#[track_caller]
fn rows(story: &Story, words: &[&str]) -> Vec<Value> {
    let listed = story.cli.run(&[&["ls", "--all", "--json"], words].concat()).ok().json();
    listed["workspaces"].as_array().unwrap().clone()
}

/// The size of the only workspace.
#[track_caller]
fn bytes(story: &Story, words: &[&str]) -> Option<u64> {
    rows(story, words)[0]["size_bytes"].as_u64()
}

/// Makes the size of the only workspace one of long ago.
fn age(story: &Story) {
    let id = rows(story, &[])[0]["id"].as_str().unwrap().parse().unwrap();
    let url = StoreUrl::Sqlite(story.sandbox().spinney_home().join("spinney.db"));
    let size = Size { bytes: 1, at: Timestamp::now().minus(Duration::from_secs(11 * 60)) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&url).await.unwrap();
        store.read().await.unwrap().record_size(&id, size).await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn a_size_is_measured_when_asked_for_and_kept_for_a_while() {
    let story = Story::new();
    let tree = story.make(&["--issue", "1"]).path();
    fs::write(tree.join("big.bin"), vec![7; 3 << 20]).unwrap();
    let row = &rows(&story, &[])[0];
    assert!(row["size_bytes"].is_null() && row["size_at"].is_null(), "nobody asked: {row}");
    let plain = story.cli.run(&["ls"]).ok();
    assert!(!plain.stdout.contains("SIZE"), "{}", plain.told());

    let listed = story.cli.run(&["ls", "--size"]).ok();
    assert!(listed.stdout.contains("SIZE") && listed.stdout.contains("3."), "{}", listed.told());
    let known = bytes(&story, &[]).unwrap();
    assert!((3 * MEGABYTE..4 * MEGABYTE).contains(&known), "{known}");
    assert!(rows(&story, &[])[0]["size_at"].is_string());

    fs::write(tree.join("more.bin"), vec![7; 2 << 20]).unwrap();
    assert_eq!(bytes(&story, &["--size"]), Some(known), "it was measured just now");
    age(&story);
    assert_eq!(bytes(&story, &[]), Some(1), "nobody asked");
    let known = bytes(&story, &["--size"]).unwrap();
    assert!((5 * MEGABYTE..6 * MEGABYTE).contains(&known), "{known}");

    // It is still there in the trash, and gone with the tree.
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert_eq!(bytes(&story, &[]), Some(known));
    age(&story);
    assert!(bytes(&story, &["--size"]).unwrap() > 5 * MEGABYTE, "measured in the trash");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    assert_eq!(bytes(&story, &[]), None);
}

#[test]
fn links_and_other_file_systems_are_not_counted() {
    let story = Story::new();
    let tree = story.make(&["--issue", "1"]).path();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("big.bin"), vec![7; 3 << 20]).unwrap();
    symlink(&outside, tree.join("link")).unwrap();
    // In memory, where that is another file system.
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    fs::write(elsewhere.path().join("big.bin"), vec![7; 3 << 20]).unwrap();
    fs::create_dir(tree.join("mounted")).unwrap();
    let _mount = mount::bind(story.sandbox(), elsewhere.path(), &tree.join("mounted"));
    let known = bytes(&story, &["--size"]).unwrap();
    assert!(known < MEGABYTE, "{known}");
}

#[test]
fn what_takes_too_long_is_measured_in_the_background() {
    let story = Story::new();
    for issue in ["1", "2", "3"] {
        story.make(&["--issue", issue]);
    }
    let hurried = story.cli.run(&["ls", "--size", "--measure-ms", "0"]).ok();
    assert_eq!(hurried.stdout.matches('…').count(), 3, "{}", hurried.told());
    assert!(hurried.stderr.contains("3 more sizes still being measured"), "{}", hurried.told());
    let is_known = |row: &Value| row["size_bytes"].as_u64().is_some_and(|bytes| bytes > 0);
    wait_until(|| rows(&story, &[]).iter().all(is_known), LONG);
    let again = story.cli.run(&["ls", "--size", "--measure-ms", "0"]).ok();
    assert!(!again.stdout.contains('…') && !again.stderr.contains("measured"), "{}", again.told());
}

#[test]
fn status_adds_up_what_is_known_and_sees_to_the_rest() {
    let story = Story::new();
    for issue in ["1", "2", "3"] {
        story.make(&["--issue", issue]);
    }
    let size = || story.cli.run(&["status", "--json"]).ok().json()["repositories"][0]["size"].clone();
    let first = size();
    assert_eq!((&first["bytes"], &first["known"], &first["of"]), (&0.into(), &0.into(), &3.into()), "{first}");
    wait_until(|| size()["known"] == 3, LONG);
    let sum: u64 = rows(&story, &[]).iter().map(|row| row["size_bytes"].as_u64().unwrap()).sum();
    assert_eq!(size()["bytes"], sum);
    story.make(&["--issue", "4"]);
    let told = story.cli.run(&["status"]).ok();
    assert!(told.stderr.contains("in 3 of 4 trees") && told.stderr.contains(" free in "), "{}", told.told());
    // One in four is not much.
    assert_eq!(size()["known"], 3);
}
