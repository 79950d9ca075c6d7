//! What is merged is decided by real history, as the remote has it: not by replacements, grafts, or what was once known.

use std::fs;

use crate::support::common::Story;
use crate::support::lost::Work;

/// Everything that somebody can do to make git forget.
fn collect_garbage(story: &Story) {
    story.repository.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
}

#[track_caller]
fn commit_is_back(story: &Story, work: &Work, commit: &str) {
    collect_garbage(story);
    story.repository.git(&["cat-file", "-e", commit]);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.head(), commit);
}

#[test]
fn a_graft_makes_nothing_merged() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let commit = work.commit("work.txt", "work");
    let grafts = story.repository.path().join(".git/info/grafts");
    let base = story.repository.git(&["rev-parse", "origin/main"]);
    fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    fs::write(&grafts, format!("{base} {commit}\n")).unwrap();
    let refused = story.cli.run(&["rm", "issue-1"]).exits(3);
    assert!(refused.stderr.contains("unpushed"), "{}", refused.told());
    fs::remove_file(grafts).unwrap();
}

#[test]
fn a_replacement_makes_nothing_merged() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let commit = work.commit("work.txt", "work");
    let base = story.repository.git(&["rev-parse", "origin/main"]);
    let tree = story.repository.git(&["rev-parse", "origin/main^{tree}"]);
    let other = story.repository.git(&["commit-tree", "-p", &commit, "-m", "x", &tree]);
    story.repository.git(&["replace", "-f", &base, &other]);
    let refused = story.cli.run(&["rm", "issue-1"]).exits(3);
    assert!(refused.stderr.contains("unpushed"), "{}", refused.told());
    story.repository.git(&["replace", "-d", &base]);
}

#[test]
fn what_the_remote_takes_back_after_a_removal_is_kept() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let before = work.head();
    let commit = work.commit("work.txt", "work");
    work.git(&["push", "--quiet", "origin", "HEAD:main"]);
    story.remote().git(&["update-ref", "refs/heads/main", &before]);
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.repository.git(&["fetch", "--quiet", "--prune"]);
    commit_is_back(&story, &work, &commit);
}

#[test]
fn a_directory_whose_files_were_deleted_comes_back_empty() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("d/only.txt", "x").commit("a directory");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    fs::remove_file(work.path.join("d/only.txt")).unwrap();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(work.path.join("d").is_dir() && !work.path.join("d/only.txt").exists());
}
