//! Archives, rescue refs and rows of what was purged: bounded where somebody says so, and told where nobody does.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::json;
use spinney_testkit::Cli;

use crate::support::common::Story;
use crate::support::lost::Work;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn archive(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("archives").join(format!("{}.tar.zst", work.id))
}

fn has_rescue(story: &Story, work: &Work) -> bool {
    let name = format!("refs/spinney/rescue/{}", work.id);
    story.repository.try_git(&["rev-parse", "--verify", "--quiet", &name]).status == 0
}

/// A workspace with a file of its own, purged so many days ago.
fn purged(story: &Story, issue: &str, days: u32, content: impl AsRef<[u8]>) -> Work {
    let work = Work::new(story, issue);
    work.write("own.bin", content);
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    story.cli.run(&["trash", "purge", &work.name]).ok();
    age(&archive(story, &work), days);
    work
}

fn age(file: &PathBuf, days: u32) {
    let at = SystemTime::now() - DAY * days;
    File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
}

/// Bytes that do not compress.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn sweeping(story: &Story, key: &str, value: &str) -> Cli {
    story.cli.with_variable(format!("SPINNEY_CLEANUP__{key}"), value)
}

#[test]
fn archives_are_kept_unless_somebody_says_for_how_long() {
    let story = Story::new();
    let (old, young) = (purged(&story, "1", 100, "old"), purged(&story, "2", 10, "young"));
    story.cli.run(&["cleanup", "all"]).ok();
    assert!(archive(&story, &old).is_file());
    let bounded = sweeping(&story, "ARCHIVE_FOR", "90d");
    let dry = bounded.run(&["cleanup", "all", "--dry-run"]).ok().stdout;
    assert!(dry.contains("would erase issue-1") && dry.contains("90 days") && !dry.contains("issue-2"), "{dry}");
    assert!(archive(&story, &old).is_file());
    bounded.run(&["cleanup", "merged"]).ok();
    assert!(archive(&story, &old).is_file(), "only the whole sweep does it");
    let swept = bounded.run(&["cleanup", "all", "--json"]).ok().json();
    assert_eq!(swept["erased"][0]["name"], "issue-1", "{swept}");
    assert!(!archive(&story, &old).exists() && !has_rescue(&story, &old));
    assert!(archive(&story, &young).is_file());
    assert!(story.show("issue-1").0["metadata"].get("erased").is_some());
    story.cli.run(&["restore", "issue-1"]).exits(4);
    story.cli.run(&["restore", "issue-2"]).ok();
}

#[test]
fn over_the_quota_the_oldest_archives_go_first() {
    let story = Story::new();
    let works: Vec<Work> = [("1", 3), ("2", 9), ("3", 6)]
        .into_iter()
        .map(|(issue, days)| purged(&story, issue, days, noise(1 << 20)))
        .collect();
    let swept = sweeping(&story, "ARCHIVE_QUOTA", "2500KiB").run(&["cleanup", "all"]).ok().stdout;
    assert!(swept.contains("erased issue-2") && swept.contains("`cleanup.archive_quota`"), "{swept}");
    let left: Vec<bool> = works.iter().map(|work| archive(&story, work).exists()).collect();
    assert_eq!(left, [true, false, true], "the oldest, and no more than needed");
}

#[test]
fn what_is_live_again_keeps_the_archive_that_it_came_from() {
    let story = Story::new();
    let work = purged(&story, "1", 100, "old");
    story.cli.run(&["restore", "issue-1"]).ok();
    let restored = archive(&story, &work).with_file_name(format!("{}.restored.tar.zst", work.id));
    age(&restored, 100);
    sweeping(&story, "ARCHIVE_FOR", "1d").run(&["cleanup", "all"]).ok();
    assert!(restored.is_file() && work.path.join("own.bin").is_file());
}

#[test]
fn archives_are_counted_and_told_when_they_outgrow_what_lives() {
    let story = Story::new();
    let status = || story.cli.run(&["status", "--json"]).ok().json()["archives"].clone();
    assert_eq!(status(), json!({ "count": 0, "bytes": 0, "outgrow": false }));
    purged(&story, "1", 1, "small");
    let small = status();
    assert_eq!((&small["count"], &small["outgrow"]), (&json!(1), &json!(false)));
    purged(&story, "2", 1, noise(11 << 20));
    let large = status();
    assert_eq!((&large["count"], &large["outgrow"]), (&json!(2), &json!(true)));
    assert!(large["bytes"].as_u64().unwrap() > 11 << 20, "{large}");
    let told = story.cli.run(&["status"]).ok().stderr;
    assert!(told.contains("2 archives") && told.contains("take more than the live trees"), "{told}");
    assert!(told.contains("spinney trash erase"), "{told}");
    // Whoever bounds them is not told.
    let bounded = sweeping(&story, "ARCHIVE_FOR", "90d").run(&["status"]).ok().stderr;
    assert!(bounded.contains("2 archives") && !bounded.contains("take more"), "{bounded}");
    story.cli.run(&["trash", "erase", "issue-2", "--yes"]).ok();
    assert_eq!(status()["count"], 1);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(status()["count"], 1, "what it came from is there still");
}

#[test]
fn a_rescue_ref_goes_by_itself_once_its_commits_are_on_base() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    work.push();
    work.write("own.txt", "own");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["cleanup", "merged"]).ok();
    assert!(has_rescue(&story, &work), "its own branch and what was pushed are no other place");
    story.remote().merge("issue-1");
    let dry = story.cli.run(&["cleanup", "merged", "--dry-run"]).ok().stdout;
    assert!(dry.contains("issue-1 was purged"), "{dry}");
    assert!(has_rescue(&story, &work));
    let swept = story.cli.run(&["cleanup", "merged"]).ok().stdout;
    assert!(swept.contains("issue-1 was purged"), "{swept}");
    assert!(!has_rescue(&story, &work));
    assert!(!story.cli.run(&["cleanup", "merged"]).ok().stdout.contains("issue-1 was purged"));
    // The sweep deleted its branch with it. It comes back without either.
    assert_eq!(story.branches(), ["main"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("own.txt")).unwrap(), "own");
    assert_eq!(fs::read_to_string(work.path.join("a.txt")).unwrap(), "a");
}

#[test]
fn a_rescue_ref_stays_for_what_was_only_staged_or_squashed() {
    let story = Story::new();
    let (staged, squashed) = (Work::new(&story, "1"), Work::new(&story, "2"));
    staged.write("a.txt", "staged");
    staged.git(&["add", "a.txt"]);
    staged.write("a.txt", "changed since");
    squashed.commit("b.txt", "b");
    squashed.push();
    story.cli.run(&["rm", "issue-1", "issue-2", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.remote().squash_merge("issue-2");
    story.cli.run(&["cleanup", "all"]).ok();
    assert!(has_rescue(&story, &staged) && has_rescue(&story, &squashed));
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(staged.git(&["show", ":a.txt"]), "staged");
}

#[test]
fn what_left_nothing_is_forgotten_with_its_time() {
    let story = Story::new();
    let empty = Work::new(&story, "1");
    story.cli.run(&["rm", "issue-1"]).ok();
    let kept = Work::new(&story, "2");
    kept.write("own.txt", "own");
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    assert!(!archive(&story, &empty).exists() && archive(&story, &kept).exists());
    story.cli.run(&["cleanup", "all"]).ok();
    assert_eq!(story.names(), ["issue-1", "issue-2"], "its time is not over");
    let swept = sweeping(&story, "JOB_RETENTION", "1ms").run(&["cleanup", "all", "--json"]).ok().json();
    assert_eq!(swept["forgotten"]["workspaces"], 1, "{swept}");
    assert_eq!(story.names(), ["issue-2"]);
    story.cli.run(&["restore", "issue-2"]).ok();
    assert_eq!(fs::read_to_string(kept.path.join("own.txt")).unwrap(), "own");
}

#[test]
fn files_of_the_home_that_belong_to_nothing_go() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let home = story.sandbox().spinney_home();
    let id = "zzzzzzzzzz";
    let orphans = [
        format!("operations/{id}"),
        format!("operations/.{id}"),
        format!("jobs/{id}"),
        format!("jobs/{id}.prompt"),
        format!("jobs/{id}.stderr"),
        format!("logs/{id}.jsonl"),
        format!("pools/{id}.filling"),
        format!("settings/{id}.json"),
    ];
    let plant = || {
        for file in &orphans {
            let file = home.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
        }
    };
    let left = || orphans.iter().filter(|file| home.join(file).exists()).collect::<Vec<_>>();
    plant();
    let nowhere = home.join("links/local/acme/app/gone");
    fs::create_dir_all(nowhere.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(home.join("trees/local/acme/app/gone"), &nowhere).unwrap();
    story.cli.run(&["cleanup", "all"]).ok();
    assert_eq!(left().len(), orphans.len(), "they may be somebody's still");
    orphans.iter().for_each(|file| age(&home.join(file), 2));
    let swept = story.cli.run(&["cleanup", "all", "--json"]).ok().json();
    assert_eq!(left(), Vec::<&String>::new());
    assert_eq!(swept["forgotten"]["files"], orphans.len(), "{swept}");
    assert!(nowhere.symlink_metadata().is_err());
    assert!(work.path.is_dir() && story.show("issue-1").text("link").contains("issue-1"));
}

#[test]
fn what_was_pushed_by_hand_counts_as_pushed() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    assert_eq!(story.show("issue-1").0["pushed"], false);
    work.commit("a.txt", "a");
    assert_eq!(story.show("issue-1").0["pushed"], false, "nothing of it is at the remote");
    work.push();
    let listed = || story.cli.run(&["ls", "--json"]).ok().json()["workspaces"][0]["pushed"].clone();
    assert_eq!(listed(), false, "a list from the store asks no git");
    assert_eq!(story.cli.run(&["ls", "-l", "--json"]).ok().json()["workspaces"][0]["pushed"], true);
    assert_eq!(listed(), true, "it is noted");
    assert_eq!(story.show("issue-1").0["pushed"], true);
    // A verdict learns it, too.
    let other = Work::new(&story, "2");
    other.commit("b.txt", "b");
    other.push();
    other.commit("c.txt", "c");
    story.cli.run(&["why", "issue-2"]);
    let rows = story.cli.run(&["ls", "--json"]).ok().json();
    assert!(rows["workspaces"].as_array().unwrap().iter().all(|row| row["pushed"] == true), "{rows}");
}

#[test]
fn the_archive_of_another_workspace_is_refused_and_changes_nothing() {
    let story = Story::new();
    let works = ["1", "2"].map(|issue| {
        let work = Work::new(&story, issue);
        work.write("own.txt", issue);
        story.cli.run(&["rm", &work.name, "--force"]).ok();
        story.cli.run(&["trash", "purge", &work.name]).ok();
        work
    });
    let place = |work: &Work| story.sandbox().spinney_home().join("archives").join(format!("{}.tar.zst", work.id));
    let right = fs::read(place(&works[0])).unwrap();
    fs::copy(place(&works[1]), place(&works[0])).unwrap();
    crate::support::common::refused(&story.cli, 1, &["restore", "issue-1"]).says(&["archive of another workspace"]);
    assert_eq!(story.show("issue-1").text("status"), "purged");
    fs::write(place(&works[0]), right).unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(works[0].path.join("own.txt")).unwrap(), "1");
}

#[test]
fn undo_tells_what_was_removed_later_and_is_purged() {
    let story = Story::new();
    for issue in ["1", "2"] {
        Work::new(&story, issue).write("own.txt", issue);
        story.cli.run(&["rm", &format!("issue-{issue}"), "--force"]).ok();
    }
    story.cli.run(&["trash", "purge", "issue-2"]).ok();
    let told = story.cli.run(&["undo"]).ok();
    assert!(
        told.stderr.contains("issue-2 was removed later, and purged since: `spinney restore issue-2`"),
        "{}",
        told.told()
    );
    assert_eq!(story.show("issue-1").text("status"), "active");
}
