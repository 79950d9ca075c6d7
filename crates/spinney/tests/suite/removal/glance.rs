//! What a sweep costs: store and refs rule out most workspaces, and only what could go is walked.

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::Value;
use spinney_testkit::{Cli, GitWrapper};

use crate::support::common::Story;
use crate::support::lost::Work;

/// Tells which workspaces' trees were walked: something listed a directory in them.
struct Walks {
    events: rustix::fd::OwnedFd,
    names: BTreeMap<i32, String>,
}

impl Walks {
    fn watch(works: &[Work]) -> Self {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let watch = |work: &Work| {
            let number = inotify::add_watch(&events, work.path.join("src"), WatchFlags::OPEN).unwrap();
            (number, work.name.clone())
        };
        let names = works.iter().map(watch).collect();
        Self { events, names }
    }

    fn seen(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut seen = Vec::new();
        while let Ok(event) = reader.next() {
            seen.extend(self.names.get(&event.wd()).cloned());
        }
        seen.sort();
        seen.dedup();
        seen
    }
}

#[track_caller]
fn removed(cli: &Cli, arguments: &[&str]) -> Vec<String> {
    let report = cli.run(&[&["cleanup", "--json"], arguments].concat()).ok().json();
    let names = report["removed"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn only_what_could_go_is_walked() {
    let story = Story::new();
    let work = |issue: &str| {
        let work = Work::new(&story, issue);
        work.commit(&format!("{issue}.txt"), issue);
        work
    };
    let pushed = |issue: &str| {
        let work = work(issue);
        work.push();
        work
    };
    let (merged, pinned, shared) = (pushed("1"), pushed("2"), pushed("3"));
    for name in ["issue-1", "issue-2", "issue-3"] {
        story.remote().merge(name);
    }
    story.cli.run(&["pin", "issue-2"]).ok();
    story.make(&["--pr", "7", "--links", "3"]);
    let lasting = Work::of(&story, &story.make(&["--issue", "4", "--platform", "telegram"]));
    let works = [merged, pinned, shared, lasting, Work::new(&story, "5"), work("6"), pushed("7")];
    let walks = Walks::watch(&works);
    assert_eq!(removed(&story.cli, &["--dry-run"]), ["issue-1"]);
    assert_eq!(walks.seen(), ["issue-1"]);
    // By the store all are stale. Refs and store say which of them would lose something.
    let stale = story.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", "1ms");
    assert_eq!(removed(&stale, &["stale", "--dry-run"]).len(), 3);
    assert_eq!(walks.seen(), ["issue-1", "issue-5", "issue-7"]);
    assert_eq!(removed(&story.cli, &["merged"]), ["issue-1"]);
}

#[test]
fn a_second_sweep_asks_git_no_more_for_many_than_for_few() {
    let story = Story::new();
    let calls = |what: &str| {
        let wrapper = GitWrapper::recording();
        story.cli.with_path_first(wrapper.directory()).run(&["cleanup", what]).ok();
        // How often the configuration is read depends on how long ago somebody wrote it.
        let mut calls = wrapper.calls();
        calls.retain(|call| !call.ends_with("config -z --show-origin --list"));
        calls
    };
    let make = |issues: std::ops::Range<u32>| {
        for issue in issues {
            let work = Work::new(&story, &issue.to_string());
            work.commit(&format!("{issue}.txt"), "new");
        }
    };
    for what in ["merged", "stale", "all"] {
        let first = story.names().len();
        let issues = u32::try_from(first).unwrap() + 1;
        make(issues..issues + 2);
        calls(what);
        let few = calls(what);
        make(issues + 2..issues + 6);
        calls(what);
        let many = calls(what);
        assert_eq!(few.len(), many.len(), "{what}: {few:#?} {many:#?}");
        assert!(!many.iter().any(|call| call.contains("merge-tree")), "{many:#?}");
    }
    // What is remembered goes with the workspaces.
    let file = story.repository.path().join(".git/spinney/merges.json");
    let remembered = || -> Value { serde_json::from_slice(&fs::read(&file).unwrap()).unwrap() };
    assert_eq!(remembered()["merges"].as_array().unwrap().len(), story.names().len());
    for name in story.names() {
        story.cli.run(&["rm", &name, "--force"]).ok();
    }
    for branch in story.branches().into_iter().filter(|branch| branch != "main") {
        story.repository.git(&["branch", "--quiet", "-D", &branch]);
    }
    story.cli.run(&["cleanup"]).ok();
    assert_eq!(remembered()["merges"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_remembered_is_proved_before_anything_goes() {
    let story = Story::new();
    let open = Work::new(&story, "1");
    open.commit("a.txt", "a");
    open.push();
    story.cli.run(&["cleanup"]).ok();
    let file = story.repository.path().join(".git/spinney/merges.json");
    let mut remembered: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    // Somebody who writes in the repository claims that it is merged, and pushed.
    for entry in remembered["merges"].as_array_mut().unwrap() {
        entry[1] = serde_json::json!({ "merged": { "kind": "ancestor", "detail": "it is merged, believe me" } });
    }
    fs::write(&file, remembered.to_string()).unwrap();
    let report = story.cli.run(&["cleanup", "merged", "--json"]).ok().json();
    assert_eq!(report["removed"], serde_json::json!([]));
    assert_eq!(report["kept"][0]["reasons"][0]["code"], "unmerged", "{report:#}");
    // The same of a branch without a workspace.
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["cleanup"]).ok();
    let mut remembered: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for entry in remembered["merges"].as_array_mut().unwrap() {
        entry[1] = serde_json::json!({ "merged": { "kind": "ancestor", "detail": "it is merged, believe me" } });
    }
    fs::write(&file, remembered.to_string()).unwrap();
    let report = story.cli.run(&["cleanup", "merged", "--json"]).ok().json();
    assert_eq!(report["branches"], serde_json::json!([]));
    assert!(story.branches().contains(&"issue-1".to_owned()));
    // What can't be read is asked again.
    fs::write(&file, "{").unwrap();
    story.cli.run(&["cleanup"]).ok();
}
