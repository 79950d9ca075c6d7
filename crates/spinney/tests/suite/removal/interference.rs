//! What people and other tools do to a repository and to Spinney's home: nothing is lost by Spinney's own doing, and it
//! says what it sees within one command.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::common::{Story, refused};
use crate::support::lost::Work;
use crate::support::lost::tokens::{EVERYWHERE, Place, Tokens};
use serde_json::Value;
use spinney_testkit::wait_until;

const DATABASE: [&str; 3] = ["spinney.db", "spinney.db-wal", "spinney.db-shm"];

/// What `cleanup orphans` says, and that saying it again changes nothing.
#[track_caller]
fn reconciled(story: &Story) -> String {
    let report = story.cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    let rows = || story.cli.run(&["ls", "--all", "--json"]).ok().stdout;
    let refs = || story.repository.git(&["for-each-ref"]);
    let before = (rows(), refs(), story.worktrees());
    let again = story.cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    let done = again["findings"].as_array().unwrap().iter().filter(|finding| !finding["done"].is_null());
    assert_eq!(done.count(), 0, "the second time there is nothing to do: {again}");
    assert_same_lines(&rows(), &before.0);
    assert_eq!((refs(), story.worktrees()), (before.1, before.2));
    let told = |finding: &Value| {
        format!("{}: {}", finding["what"].as_str().unwrap(), finding["done"].as_str().unwrap_or("seen"))
    };
    report["findings"].as_array().unwrap().iter().map(told).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_same_lines(now: &str, before: &str) {
    let differences: Vec<_> = now.lines().zip(before.lines()).filter(|(now, before)| now != before).collect();
    assert!(differences.is_empty() && now.len() == before.len(), "{differences:#?}");
}

#[track_caller]
fn says(told: &str, texts: &[&str]) {
    for text in texts {
        assert!(told.contains(text), "`{text}` is not in:\n{told}");
    }
}

fn status(story: &Story, name: &str) -> String {
    story.show(name).text("status").to_owned()
}

/// A workspace with something of every place in it: a commit, the index, the tree.
fn full(story: &Story, issue: &str, tokens: &mut Tokens) -> Work {
    let work = Work::new(story, issue);
    work.commit("committed.txt", &tokens.make("committed"));
    work.write("staged.txt", tokens.make("staged"));
    work.git(&["add", "staged.txt"]);
    work.write("untracked.txt", tokens.make("untracked"));
    work
}

fn copy_database(story: &Story, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in DATABASE {
        let _ = fs::copy(story.sandbox().spinney_home().join(name), to.join(name));
    }
}

fn lose_database(story: &Story) {
    for name in DATABASE {
        let _ = fs::remove_file(story.sandbox().spinney_home().join(name));
    }
}

fn bring_old_database(story: &Story, from: &Path) {
    lose_database(story);
    for name in DATABASE {
        let _ = fs::copy(from.join(name), story.sandbox().spinney_home().join(name));
    }
}

#[test]
fn pruning_and_collecting_garbage_under_live_work() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let before = work.snapshot();
    story.repository.git(&["worktree", "prune"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.repository.try_git(&["branch", "-D", "issue-1"]).exits(1);
    before.assert_same(&work.snapshot(), "live");
    // With the directory away, the lock keeps git's part: a stray prune drops nothing.
    let away = story.sandbox().path().join("away");
    fs::rename(&work.path, &away).unwrap();
    story.repository.git(&["worktree", "prune"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    fs::rename(&away, &work.path).unwrap();
    before.assert_same(&work.snapshot(), "back");
    assert_eq!(reconciled(&story), "");
}

#[test]
fn a_branch_deleted_under_a_live_workspace_and_one_in_the_trash() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let live = full(&story, "1", &mut tokens);
    let tip = live.head();
    story.repository.git(&["update-ref", "-d", "refs/heads/issue-1"]);
    refused(&story.cli, 3, &["rm", "issue-1"]).says(&["dirty"]);
    assert_eq!(status(&story, "issue-1"), "active");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    tokens.assert_readable(&story, &EVERYWHERE, "the branch was deleted under it");
    story.cli.run(&["restore", "issue-1"]).ok();
    tokens.assert_readable(&story, &EVERYWHERE, "restored");
    assert_eq!(story.repository.git(&["cat-file", "-t", &tip]), "commit");

    let trashed = full(&story, "2", &mut tokens);
    let (tip, before) = (trashed.head(), trashed.snapshot());
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    story.repository.git(&["branch", "-D", "issue-2"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-2"]).ok();
    assert_eq!(trashed.head(), tip);
    before.assert_same(&trashed.snapshot(), "restored");
}

#[test]
fn a_branch_that_was_taken_meanwhile_is_a_choice() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let tip = work.head();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.repository.git(&["branch", "--force", "issue-1", "main"]);
    refused(&story.cli, 5, &["restore", "issue-1"]).says(&["issue-1"]).hints(&["--branch"]);
    story.cli.run(&["restore", "issue-1", "--branch", "issue-1-old"]).ok();
    assert_eq!((work.head(), work.git(&["branch", "--show-current"])), (tip, "issue-1-old".to_owned()));
    assert_eq!(story.repository.git(&["rev-parse", "issue-1"]), story.repository.head(), "theirs stays where it is");
    // One that it could not stand beside is a choice, too.
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.repository.git(&["branch", "-D", "issue-1-old"]);
    story.repository.git(&["branch", "issue-1-old/other", "main"]);
    refused(&story.cli, 5, &["restore", "issue-1"]).says(&["issue-1-old/other"]).hints(&["--branch"]);
    // And so is what stands in its place.
    fs::create_dir(&work.path).unwrap();
    refused(&story.cli, 1, &["restore", "issue-1", "--branch", "again"]).says(&["move it away"]);
    fs::remove_dir(&work.path).unwrap();
    story.cli.run(&["restore", "issue-1", "--branch", "again"]).ok();
    assert_eq!(work.git(&["branch", "--show-current"]), "again");
}

#[test]
fn a_directory_that_was_deleted_is_told_and_made_again() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let tip = work.head();
    story.sandbox().cli("/bin/rm").run(&["-r", work.path.to_str().unwrap()]).ok();
    let kept = tokens.of(|kind| kind != "untracked");
    // Each command that looks at it says so.
    let why = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert_eq!(crate::support::lost::work::codes(&why["reasons"]), ["dirty", "unpushed", "unmerged"]);
    says(&story.cli.run(&["doctor"]).stdout, &["issue-1", "its directory is gone"]);
    says(&reconciled(&story), &["issue-1: its directory is gone", "`issue-1` is in git", "marked lost"]);
    assert_eq!(status(&story, "issue-1"), "lost");
    assert_eq!(story.make(&["--issue", "1"]).text("path"), work.path.to_str().unwrap());
    assert_eq!(work.head(), tip);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    kept.assert_readable(&story, &EVERYWHERE, "made again");
}

#[test]
fn whoever_lists_workspaces_sees_what_vanished() {
    let story = Story::new();
    let trees: Vec<_> = ["1", "2", "3"].map(|issue| story.make(&["--issue", issue]).path()).into();
    let [aside, second, third] = ["aside", "second", "third"].map(|name| story.sandbox().path().join(name));
    let listed = || {
        let rows = story.cli.run(&["ls", "--json"]).ok().json()["workspaces"].clone();
        let status = |name| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["status"].clone();
        ["issue-1", "issue-2", "issue-3"].map(status)
    };
    fs::rename(&trees[0], &aside).unwrap();
    assert_eq!(listed(), ["lost", "active", "active"]);
    fs::rename(&trees[1], second).unwrap();
    let counts = story.cli.run(&["status", "--json"]).ok().json()["repositories"][0].clone();
    assert_eq!(counts["workspaces"]["lost"], 2, "{counts}");
    fs::rename(&trees[2], third).unwrap();
    assert_eq!(status(&story, "issue-3"), "lost");
    fs::rename(&aside, &trees[0]).unwrap();
    assert_eq!(listed(), ["active", "lost", "lost"], "one that is back is no longer lost");
    // A disk that is not mounted takes nothing away.
    let root = trees[0].parent().unwrap();
    fs::rename(root, &aside).unwrap();
    assert_eq!(listed(), ["active", "lost", "lost"]);
    fs::rename(&aside, root).unwrap();
}

#[test]
fn a_directory_that_was_moved_is_told_and_followed_after_a_repair() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let before = work.snapshot();
    let moved = story.sandbox().path().join("moved");
    fs::rename(&work.path, &moved).unwrap();
    says(&story.cli.run(&["doctor"]).stdout, &["issue-1", "its directory is gone"]);
    says(&reconciled(&story), &["its directory is gone", "marked lost"]);
    story.repository.git(&["worktree", "repair", moved.to_str().unwrap()]);
    says(&reconciled(&story), &["issue-1 was moved to", "followed"]);
    let shown = story.show("issue-1");
    assert_eq!((shown.text("status"), shown.path()), ("active", moved.clone()));
    let there = work.moved(&moved);
    assert_eq!(there.git(&["status", "--porcelain"]), "A  staged.txt\n?? untracked.txt");
    // And back again.
    fs::rename(&moved, &work.path).unwrap();
    story.repository.git(&["worktree", "repair", work.path.to_str().unwrap()]);
    says(&reconciled(&story), &["followed"]);
    before.assert_same(&work.snapshot(), "moved back");
    tokens.assert_readable(&story, &EVERYWHERE, "moved back");
}

#[test]
fn a_disk_that_is_not_mounted_makes_nothing_lost() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let (root, away) = (work.path.parent().unwrap().to_owned(), story.sandbox().path().join("unmounted"));
    fs::rename(&root, &away).unwrap();
    // An empty mount point, as a disk leaves it.
    for mount_point in [false, true] {
        if mount_point {
            fs::create_dir(&root).unwrap();
        }
        let why = story.cli.run(&["why", "issue-1"]).ok().stdout;
        says(&why, &["unverifiable", "mounted"]);
        refused(&story.cli, 3, &["rm", "issue-1"]).says(&["unverifiable", "is its disk mounted?"]);
        refused(&story.cli, 1, &["rm", "issue-1", "--force"]).says(&["is its disk mounted?"]).hints(&["mount it"]);
        says(&reconciled(&story), &["is its disk mounted?"]);
        let eager = story.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", "1ms");
        let report = eager.run(&["cleanup", "all", "--json"]).ok().json();
        assert_eq!(report["removed"], Value::Array(vec![]));
        assert_eq!(status(&story, "issue-1"), "active");
        assert_ne!(story.cli.run(&["new", "--issue", "1"]).status, 0, "no second one is made in its place");
    }
    fs::remove_dir(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    assert_eq!(story.make(&["--issue", "1"]).text("method"), "reused");
    tokens.assert_readable(&story, &EVERYWHERE, "mounted again");
}

#[test]
fn a_lost_database_comes_back_from_what_lies_there() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let (live, trashed, purged) =
        (full(&story, "1", &mut tokens), full(&story, "2", &mut tokens), full(&story, "3", &mut tokens));
    let lost = Work::new(&story, "4");
    let before = [live.snapshot(), trashed.snapshot(), purged.snapshot()];
    story.cli.run(&["rm", "issue-2", "issue-3", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-3"]).ok();
    fs::rename(&lost.path, story.sandbox().path().join("away")).unwrap();
    lose_database(&story);
    let told = reconciled(&story);
    says(&told, &[live.path.to_str().unwrap(), "adopted", "in the trash", "archive", "registered", "lost"]);
    for (work, expected) in [(&live, "active"), (&trashed, "trashed"), (&purged, "purged"), (&lost, "lost")] {
        let shown = story.show(&work.name);
        assert_eq!((shown.text("status"), shown.text("id")), (expected, work.id.as_str()));
    }
    tokens.assert_readable(&story, &EVERYWHERE, "the database was lost");
    story.cli.run(&["restore", "issue-2"]).ok();
    story.cli.run(&["restore", "issue-3"]).ok();
    for (before, work) in before.iter().zip([&live, &trashed, &purged]) {
        before.assert_same(&work.snapshot(), &work.name);
    }
    assert_eq!(story.make(&["--issue", "1"]).text("method"), "reused");
}

#[test]
fn an_old_database_learns_what_happened_since() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let (removed, restored) = (full(&story, "1", &mut tokens), full(&story, "2", &mut tokens));
    let purged = full(&story, "3", &mut tokens);
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    let old = story.sandbox().path().join("old");
    copy_database(&story, &old);
    let before = [removed.snapshot(), purged.snapshot()];
    story.cli.run(&["rm", "issue-1", "issue-3", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-3"]).ok();
    story.cli.run(&["restore", "issue-2"]).ok();
    let newer = full(&story, "4", &mut tokens);
    bring_old_database(&story, &old);

    let told = reconciled(&story);
    says(&told, &["issue-1: the store says active, but it was removed: marked trashed"]);
    says(&told, &["issue-2: the store says trashed, but it was restored: marked active"]);
    says(&told, &["issue-3: the store says active, but it was removed: marked purged"]);
    says(&told, &[newer.path.to_str().unwrap(), "adopted"]);
    for (work, expected) in [(&removed, "trashed"), (&restored, "active"), (&purged, "purged"), (&newer, "active")] {
        assert_eq!(status(&story, &work.name), expected, "{}", work.name);
    }
    tokens.assert_readable(&story, &EVERYWHERE, "with an old database");
    story.cli.run(&["restore", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-3"]).ok();
    before[0].assert_same(&removed.snapshot(), "removed");
    before[1].assert_same(&purged.snapshot(), "purged");
    tokens.assert_readable(&story, &[Place::Trees, Place::Live, Place::Refs], "restored");
}

#[test]
fn new_work_with_an_old_database_takes_nothing_from_the_trash() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let old = story.sandbox().path().join("old");
    copy_database(&story, &old);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    bring_old_database(&story, &old);
    // The row says active, the directory is gone: what is in the trash is seen, and stays there.
    let again = story.make(&["--issue", "1"]);
    assert_ne!(again.text("id"), work.id);
    tokens.assert_readable(&story, &EVERYWHERE, "made anew");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["restore", &work.id]).ok();
    tokens.assert_readable(&story, &[Place::Trees, Place::Live, Place::Refs], "restored");
}

#[test]
fn gits_own_directory_of_a_workspace_deleted() {
    let story = Story::new();
    let mut tokens = Tokens::default();
    let work = full(&story, "1", &mut tokens);
    let tip = work.head();
    story.sandbox().cli("/bin/rm").run(&["-r", work.admin_dir().to_str().unwrap()]).ok();
    let kept = tokens.of(|kind| kind != "staged");
    says(&story.cli.run(&["why", "issue-1"]).ok().stdout, &["unverifiable", "its git directory is gone"]);
    refused(&story.cli, 3, &["rm", "issue-1"]).says(&["unverifiable"]);
    says(&reconciled(&story), &["its git directory is gone", "marked broken"]);
    kept.assert_readable(&story, &EVERYWHERE, "broken");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    kept.assert_readable(&story, &EVERYWHERE, "in the trash");
    assert!(!work.path.exists());
    // Every file is there; git's part is made anew on the branch.
    let told = story.cli.run(&["restore", "issue-1"]).ok().stderr;
    says(&told, &["its git admin dir was missing"]);
    assert_eq!(work.head(), tip);
    assert_eq!(work.git(&["status", "--porcelain"]), "?? staged.txt\n?? untracked.txt");
    tokens.assert_readable(&story, &[Place::Trees, Place::Refs], "restored");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    tokens.assert_readable(&story, &[Place::Trees, Place::Refs], "restored from the archive");
}

#[test]
fn what_others_made_is_reported_and_never_taken() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let theirs = story.foreign_worktree("theirs", "feature");
    fs::write(theirs.join("new.txt"), "theirs").unwrap();
    let stray = work.path.parent().unwrap().join("stray");
    fs::create_dir(&stray).unwrap();
    fs::write(stray.join("new.txt"), "whose?").unwrap();
    let gone = story.foreign_worktree("gone", "gone");
    fs::rename(&gone, story.sandbox().path().join("elsewhere")).unwrap();
    let eager = story.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", "1ms");
    eager.run(&["cleanup", "all"]).ok();
    let told = reconciled(&story);
    says(&told, &[theirs.to_str().unwrap(), "made by somebody else", "spinney adopt"]);
    says(&told, &[stray.to_str().unwrap(), "belongs to no workspace"]);
    says(&told, &[gone.to_str().unwrap(), "not there"]);
    assert!(theirs.join("new.txt").is_file() && stray.join("new.txt").is_file());
    let mut worktrees: Vec<PathBuf> = story.worktrees();
    worktrees.sort();
    assert_eq!(worktrees, [gone, theirs], "git still knows them");
    fs::remove_file(stray.join("new.txt")).unwrap();
    fs::remove_dir(&stray).unwrap();
}

#[test]
fn an_old_database_that_calls_a_workspace_half_made_takes_no_work() {
    let story = Story::new();
    let (begun, go_on) = (story.sandbox().path().join("begun"), story.sandbox().path().join("go-on"));
    let setup = format!("touch {}; while [ ! -e {} ]; do sleep 0.05; done", begun.display(), go_on.display());
    let slow = story.cli.with_variable("SPINNEY_WORKSPACE__SETUP", format!("[{setup:?}]"));
    let making = slow.spawn(&["new", "--issue", "1"]);
    wait_until(|| begun.exists(), Duration::from_secs(30));
    let old = story.sandbox().path().join("old-database");
    copy_database(&story, &old);
    fs::write(&go_on, "").unwrap();
    let path = PathBuf::from(making.wait().ok().stdout.trim());
    // Work that is in no commit: HEAD is where the creation left it.
    fs::write(path.join("untracked.txt"), "a day of work").unwrap();

    bring_old_database(&story, &old);
    story.cli.run(&["ls"]).ok();

    assert_eq!(fs::read_to_string(path.join("untracked.txt")).unwrap(), "a day of work");
    assert_eq!(status(&story, "issue-1"), "active");
}
