//! At the limit, what nobody needs makes room: what has no commit of its own, or is pushed, and has been idle for a while.

use std::fs;

use crate::support::common::{Story, make, refused};
use crate::support::lost::Work;
use spinney_testkit::Cli;

fn limited(story: &Story, limit: usize) -> Cli {
    story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", limit.to_string())
}

/// The same, where everything is idle at once.
fn hasty(story: &Story, limit: usize) -> Cli {
    limited(story, limit).with_variable("SPINNEY_CLEANUP__IDLE_AFTER", "1ms")
}

fn live(story: &Story) -> Vec<String> {
    let list = story.cli.run(&["ls", "--json"]).ok().json();
    let rows = list["workspaces"].as_array().unwrap().iter();
    let mut names: Vec<_> = rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_idle_and_holds_nothing_makes_room_the_oldest_first() {
    let story = Story::new();
    let (unstarted, pushed) = (Work::new(&story, "1"), Work::new(&story, "2"));
    let tip = pushed.commit("a.txt", "a");
    pushed.push();
    let unpushed = Work::new(&story, "3");
    unpushed.commit("b.txt", "b");
    refused(&limited(&story, 3), 3, &["new", "--issue", "4"]).says(&["0 merged", "3 active"]);
    refused(&hasty(&story, 3).with_variable("SPINNEY_CLEANUP__IDLE_AFTER", "0"), 3, &["new", "--issue", "4"]);

    let said = make(&hasty(&story, 3), &["--issue", "4"]).said().to_owned();
    assert!(said.contains("issue-1 went to the trash to make room (it has no commit of its own"), "{said}");
    let said = make(&hasty(&story, 3), &["--issue", "5"]).said().to_owned();
    assert!(said.contains("issue-2 went to the trash to make room (its commits are pushed"), "{said}");
    assert_eq!(live(&story), ["issue-3", "issue-4", "issue-5"]);
    assert!(!unstarted.path.exists() && !pushed.path.exists() && unpushed.path.is_dir());
    assert_eq!(story.repository.git(&["rev-parse", "issue-2"]), tip, "what is not merged keeps its branch");
    story.cli.run(&["restore", "issue-2"]).ok();
    assert!(pushed.path.join("a.txt").is_file());
}

#[test]
fn what_happened_lately_makes_no_room() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let cli = hasty(&story, 1);
    // Each alone: a file, a file among what a build made.
    for (path, forgotten) in [("README.md", None), ("target/app", Some("target"))] {
        if forgotten.is_some() {
            work.write(path, "built");
        }
        let file = work.path.join(path);
        let set = |when: &str| work.sandbox().cli("/bin/touch").run(&["--date", when, file.to_str().unwrap()]).ok();
        set("1 hour");
        refused(&cli, 3, &["new", "--issue", "2"]);
        set("2 days ago");
    }
    make(&cli, &["--issue", "2"]);
    assert_eq!(live(&story), ["issue-2"]);
}

#[test]
fn what_somebody_holds_or_works_in_makes_no_room() {
    let story = Story::new();
    story.cli.run(&["pin", Work::new(&story, "1").name.as_str()]).ok();
    Work::new(&story, "2");
    story.make(&["--pr", "7", "--links", "2"]);
    let theirs = story.foreign_worktree("theirs", "feature");
    story.cli.run(&["adopt", theirs.to_str().unwrap()]).ok();
    story.make(&["--issue", "3", "--platform", "telegram"]);
    let used = Work::new(&story, "4");
    let process = story.sandbox().cli("/bin/sleep").in_directory(&used.path).spawn(&["1000"]);
    let (edited, noted, ignored, committed) =
        (Work::new(&story, "5"), Work::new(&story, "6"), Work::new(&story, "8"), Work::new(&story, "9"));
    edited.write("README.md", "edited");
    noted.write("notes.txt", "mine");
    ignored.write(".env", "mine");
    committed.commit("a.txt", "a");
    // A pull request that is known counts as open where nobody can be asked.
    story.repository.git(&["push", "--quiet", "origin", "main:refs/heads/offered"]);
    story.make(&["--pr", "10", "--head", "offered"]);
    let before = live(&story);
    let cli = hasty(&story, before.len()).with_variable("SPINNEY_CLEANUP__ADOPTED", "true");
    refused(&cli, 3, &["new", "--issue", "11"]);
    assert_eq!(live(&story), before);
    drop(process);
    make(&cli, &["--issue", "11"]);
    assert!(!live(&story).contains(&"issue-4".to_owned()));
    fs::remove_file(noted.path.join("notes.txt")).unwrap();
    make(&cli, &["--issue", "12"]);
    assert!(!live(&story).contains(&"issue-6".to_owned()) || !live(&story).contains(&"issue-11".to_owned()));
}

#[test]
fn nothing_goes_where_that_makes_no_room_yet() {
    let story = Story::new();
    let works = ["1", "2", "3"].map(|issue| Work::new(&story, issue));
    for work in &works[1..] {
        work.write("notes.md", "mine");
    }
    refused(&hasty(&story, 2), 3, &["new", "--issue", "4"]);
    assert_eq!(live(&story), ["issue-1", "issue-2", "issue-3"]);
}
