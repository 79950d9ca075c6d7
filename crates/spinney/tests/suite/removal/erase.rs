//! `trash erase` deletes for good what is left of removed workspaces, after it has said what, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use spinney_testkit::{Cli, Plant, Ran, Tokens};

use crate::support::common::{BINARY, Story, refused};
use crate::support::lost::Work;

fn archive(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("archives").join(format!("{}.tar.zst", work.id))
}

fn trash(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("trash").join(&work.id)
}

/// All that git keeps for a workspace.
fn kept_refs(story: &Story, work: &Work) -> Vec<String> {
    let refs = story.repository.git(&["for-each-ref", "--format=%(refname)", "refs/spinney"]);
    refs.lines().filter(|name| name.contains(&work.id)).map(str::to_owned).collect()
}

#[track_caller]
fn assert_gone(story: &Story, work: &Work) {
    assert!(!archive(story, work).exists() && !trash(story, work).exists());
    assert!(!story.repository.path().join(".git/spinney").join(&work.id).exists());
    assert_eq!(kept_refs(story, work), Vec::<String>::new());
}

/// A workspace with two commits of its own and a secret that git ignores, in the trash.
fn removed(story: &Story, issue: &str) -> Work {
    let work = Work::new(story, issue);
    work.commit("a.txt", "a");
    work.commit("b.txt", "b");
    work.write("secret.local", "s3cret");
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    work
}

fn purged(story: &Story, issue: &str) -> Work {
    let work = removed(story, issue);
    story.cli.run(&["trash", "purge", &work.name]).ok();
    work
}

/// Types an answer at a terminal.
fn typed(story: &Story, answer: &str, arguments: &str) -> Ran {
    let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
    let line =
        format!("printf '%s\\n' '{answer}' | script --quiet --return --command '{BINARY} {arguments}' /dev/null");
    shell.run(&["-c", &line])
}

#[test]
fn it_says_what_goes_and_needs_consent() {
    let story = Story::new();
    let work = purged(&story, "1");
    // The branch leads to them still.
    let dry = story.cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
    assert!(dry.contains("no commits that are nowhere else") && dry.contains("its branch `issue-1` stays"), "{dry}");
    story.repository.git(&["branch", "-D", "issue-1"]);
    let dry = story.cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
    assert!(dry.contains("1 file that git does not have: secret.local"), "{dry}");
    assert!(dry.contains("2 commits that are nowhere else") && dry.contains("b.txt") && dry.contains("a.txt"), "{dry}");
    assert!(!dry.contains("stays"), "{dry}");
    let told = story.cli.run(&["trash", "erase", "issue-1"]).exits(2);
    assert!(told.stderr.contains("no terminal") && told.stderr.contains("--yes"), "{}", told.told());
    assert!(told.stdout.contains("secret.local"), "{}", told.told());
    refused(&story.cli, 2, &["trash", "erase", "issue-1"]).says(&["no terminal"]);
    assert!(archive(&story, &work).is_file() && !kept_refs(&story, &work).is_empty());
    let done = story.cli.run(&["trash", "erase", "issue-1", "--yes"]).ok();
    assert!(done.stderr.contains("issue-1 is erased"), "{}", done.told());
    assert_gone(&story, &work);
}

#[test]
fn at_a_terminal_the_name_is_typed() {
    let story = Story::new();
    let work = purged(&story, "1");
    for answer in ["", "y", "yes", "issue-2"] {
        let told = typed(&story, answer, "trash erase issue-1");
        assert_eq!(told.status, 1, "{}", told.told());
        assert!(told.stdout.contains("secret.local") && told.stdout.contains("nothing was erased"), "{}", told.told());
        assert!(archive(&story, &work).is_file());
    }
    typed(&story, "issue-1", "trash erase issue-1").ok();
    assert_gone(&story, &work);
    let (one, two) = (purged(&story, "2"), purged(&story, "3"));
    assert_eq!(typed(&story, "issue-2", "trash erase issue-2 issue-3").status, 1);
    assert!(archive(&story, &one).is_file());
    typed(&story, "erase 2", "trash erase issue-2 issue-3").ok();
    assert_gone(&story, &one);
    assert_gone(&story, &two);
}

#[test]
fn what_is_in_the_trash_goes_and_its_branch_stays() {
    let story = Story::new();
    let (work, other) = (removed(&story, "1"), removed(&story, "2"));
    let tip = story.repository.git(&["rev-parse", "issue-1"]);
    let dry = story.cli.run(&["trash", "erase", "issue-1", "--dry-run", "--json"]).ok().json();
    let would = &dry["would_erase"][0];
    assert_eq!((&would["files"], &would["branch_stays"]), (&json!(["secret.local"]), &json!(true)));
    assert!(would["bytes"].as_u64().unwrap() > 0 && trash(&story, &work).exists());
    let done = story.cli.run(&["trash", "erase", "issue-1", "--yes", "--json"]).ok().json();
    assert_eq!((&done["erased"][0]["name"], &done["failed"]), (&json!("issue-1"), &json!([])));
    assert!(done["erased"][0]["freed"].as_u64().unwrap() > 0);
    assert_gone(&story, &work);
    assert_eq!(story.repository.git(&["rev-parse", "issue-1"]), tip);
    assert!(trash(&story, &other).join("secret.local").is_file());
    story.cli.run(&["restore", "issue-2"]).ok();
}

#[test]
fn who_asks_for_it_later_is_told_who_erased_it() {
    let story = Story::new();
    purged(&story, "1");
    story.cli.run(&["trash", "erase", "issue-1", "--yes"]).ok();
    let shown = story.show("issue-1");
    assert_eq!(shown.text("status"), "purged");
    let by = shown.0["metadata"]["erased"]["by"].as_str().unwrap().to_owned();
    assert!(by.ends_with("command line"), "{by}");
    refused(&story.cli, 4, &["restore", "issue-1"]).says(&["issue-1 was erased at 20", &by]);
    refused(&story.cli, 4, &["trash", "erase", "issue-1", "--yes"]).says(&["was erased"]);
    // The same work begins anew, and that one can come back although the other had its name.
    story.repository.git(&["branch", "-D", "issue-1"]);
    let again = purged(&story, "1");
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(again.path.join("secret.local").is_file());
}

#[test]
fn only_what_was_removed_and_named_is_erased() {
    let story = Story::new();
    let work = removed(&story, "1");
    story.make(&["--issue", "9"]);
    refused(&story.cli, 4, &["trash", "erase", "issue-9", "--yes"]).says(&["issue-9"]);
    refused(&story.cli, 4, &["trash", "erase", "no-such", "--yes"]);
    assert_eq!(story.show("issue-9").text("status"), "active");
    story.cli.run(&["trash", "erase"]).exits(2);
    story.cli.run(&["trash", "erase", "issue-1", "--before", "2020-01-01"]).exits(2);
    for wrong in ["yesterday", "2020-13-01", ""] {
        story.cli.run(&["trash", "erase", "--before", wrong, "--yes"]).exits(2);
    }
    // One that is wrong keeps no other from going, and is told.
    let told = story.cli.run(&["trash", "erase", "issue-1", "no-such", "--yes"]).exits(4);
    assert!(told.stderr.contains("no-such"), "{}", told.told());
    assert_gone(&story, &work);
}

#[test]
fn all_that_was_removed_before_a_day() {
    let story = Story::new();
    let (one, two) = (purged(&story, "1"), removed(&story, "2"));
    let nothing = story.cli.run(&["trash", "erase", "--before", "2020-01-31", "--yes"]).ok();
    assert!(nothing.stderr.contains("nothing to erase"), "{}", nothing.told());
    story.cli.run(&["trash", "erase", "--before", "1h", "--yes"]).ok();
    assert!(archive(&story, &one).is_file() && trash(&story, &two).exists());
    let done = story.cli.run(&["trash", "erase", "--before", "2999-01-31", "--yes", "--json"]).ok().json();
    let names: Vec<&Value> = done["erased"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["issue-1", "issue-2"], "the oldest first");
    assert_gone(&story, &one);
    assert_gone(&story, &two);
    assert_eq!(story.show("issue-1").text("status"), "purged");
}

#[test]
fn what_a_process_works_in_stays() {
    let story = Story::new();
    let work = removed(&story, "1");
    let inside = Cli::spawn(
        &story.sandbox().cli("/bin/sh").in_directory(trash(&story, &work)),
        &["-c", "echo ready; exec sleep 600"],
    );
    let told = story.cli.run(&["trash", "erase", "issue-1", "--yes"]).exits(5);
    assert!(told.stderr.contains("still works in its files"), "{}", told.told());
    assert_eq!(story.show("issue-1").text("status"), "trashed");
    inside.kill();
    story.cli.run(&["trash", "erase", "issue-1", "--yes"]).ok();
    assert_gone(&story, &work);
}

#[test]
fn nothing_is_called_erased_that_is_there_still() {
    let story = Story::new();
    let work = purged(&story, "1");
    let place = archive(&story, &work);
    // Nothing can be deleted in a directory that is not there as one.
    fs::rename(&place, place.with_extension("kept")).unwrap();
    fs::create_dir(&place).unwrap();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    let Some(mount) = crate::support::lost::mount::bind(story.sandbox(), &outside, &place) else { return };
    story.cli.run(&["trash", "erase", "issue-1", "--yes"]).exits(1);
    assert!(story.show("issue-1").0["metadata"].get("erased").is_none());
    drop(mount);
    let next = story.cli.run(&["ls"]).ok();
    assert!(next.stderr.contains("was finished"), "{}", next.told());
    assert_gone(&story, &work);
}

#[test]
fn nothing_is_erased_while_the_trash_is_away() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("precious.txt", "precious");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let (trash, away) = (story.sandbox().spinney_home().join("trash"), story.sandbox().path().join("away"));
    fs::rename(&trash, &away).unwrap();
    for more in ["--dry-run", "--yes"] {
        let ran = story.cli.run(&["trash", "erase", "issue-1", more]).exits(1);
        assert!(ran.stderr.contains("the files of issue-1 are not there"), "{}", ran.told());
    }
    let _ = fs::remove_dir(&trash);
    fs::rename(&away, &trash).unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("precious.txt")).unwrap(), "precious");
}

#[test]
fn a_workspace_that_is_back_though_the_store_is_older_is_not_called_erased() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("precious.txt", "precious");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let (home, older) = (story.sandbox().spinney_home(), story.sandbox().path().join("older"));
    fs::create_dir(&older).unwrap();
    let copy = |from: &Path, to: &Path| {
        for name in ["spinney.db", "spinney.db-wal", "spinney.db-shm"] {
            let _ = fs::remove_file(to.join(name));
            let _ = fs::copy(from.join(name), to.join(name));
        }
    };
    copy(&home, &older);
    story.cli.run(&["restore", "issue-1"]).ok();
    copy(&older, &home);
    refused(&story.cli, 1, &["trash", "erase", "issue-1", "--yes"]).says(&["issue-1 is active"]);
    story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(story.show("issue-1").text("status"), "active");
}

#[test]
fn commits_that_were_dropped_before_a_job_go_too() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let tip = work.commit("a.txt", "a");
    let name = format!("refs/spinney/before/{}/{}", work.id, &tip[..16]);
    work.git(&["update-ref", &name, &tip]);
    work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let dry = story.cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
    assert!(dry.contains("1 commit"), "{dry}");
    story.cli.run(&["trash", "erase", "issue-1", "--yes"]).ok();
    assert_gone(&story, &work);
}

#[test]
fn another_workspace_loses_nothing() {
    let story = Story::new();
    let other = Work::new(&story, "2");
    let tokens = Tokens::plant(story.sandbox(), &other.path, Plant::PLAIN);
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    for issue in ["1", "3"] {
        purged(&story, issue);
    }
    story.cli.run(&["trash", "erase", "issue-1", "issue-3", "--yes"]).ok();
    tokens.assert_safe(&story.repository, &[]);
    story.cli.run(&["restore", "issue-2"]).ok();
    tokens.assert_safe(&story.repository, &[]);
}

/// A workspace with a commit that no branch has, in the trash.
fn detached(story: &Story, issue: &str, at: Option<&str>) -> (Work, String) {
    let work = Work::new(story, issue);
    work.git(&["checkout", "--quiet", "--detach"]);
    let commit = match at {
        Some(commit) => {
            work.git(&["checkout", "--quiet", "--detach", commit]);
            commit.to_owned()
        }
        None => work.commit("c.txt", "a day of work"),
    };
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    (work, commit)
}

#[test]
fn what_goes_together_is_no_other_place_for_each_other() {
    let story = Story::new();
    let (_, commit) = detached(&story, "1", None);
    detached(&story, "2", Some(&commit));
    let alone = story.cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
    assert!(alone.contains("no commits that are nowhere else"), "{alone}");
    for arguments in [&["issue-1", "issue-2"][..], &["--before", "2999-01-01"]] {
        let both = story.cli.run(&[&["trash", "erase", "--dry-run"], arguments].concat()).ok().stdout;
        assert_eq!(both.matches("1 commit that is nowhere else").count(), 2, "{both}");
    }
}

#[test]
fn repositories_inside_are_named() {
    for is_purged in [false, true] {
        let story = Story::new();
        let work = Work::new(&story, "1");
        work.nested_repository("nested", "a day of work");
        let bare = work.path.join("bare.git");
        work.git(&["init", "--quiet", "--bare", bare.to_str().unwrap()]);
        story.cli.run(&["rm", "issue-1", "--force"]).ok();
        if is_purged {
            story.cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        let dry = story.cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
        assert!(dry.contains("all that was committed in bare.git, nested: "), "{dry}");
        assert!(!dry.contains("no commits that are nowhere else"), "{dry}");
        let told = story.cli.run(&["trash", "erase", "issue-1", "--dry-run", "--json"]).ok().json();
        assert_eq!(told["would_erase"][0]["repositories"], json!(["bare.git", "nested"]));
    }
}

#[test]
fn what_only_a_bundle_has_is_told() {
    let remote = Story::new();
    let sandbox = remote.sandbox();
    let mirror = sandbox.path().join("mirror.git");
    sandbox.git(sandbox.path(), &["clone", "--quiet", "--mirror", remote.remote().url(), mirror.to_str().unwrap()]);
    let cli = sandbox.cli(BINARY).in_directory(&mirror);
    let work = Work::of(&remote, &crate::support::common::make(&cli, &["--issue", "1"]));
    work.git(&["checkout", "--quiet", "--detach"]);
    work.commit("c.txt", "a day of work");
    cli.run(&["rm", "issue-1", "--force"]).ok();
    for is_purged in [false, true] {
        if is_purged {
            cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        sandbox.git(&mirror, &["fetch", "--quiet", "--prune"]);
        let dry = cli.run(&["trash", "erase", "issue-1", "--dry-run"]).ok().stdout;
        assert!(dry.contains("its commits, which only a bundle"), "{dry}");
    }
}

#[test]
fn a_repository_inside_with_live_workspaces_keeps_the_tree() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    // One that was known before it came into the workspace.
    let other = story.sandbox().repository("nested");
    let live = crate::support::common::make(&story.cli.in_directory(other.path()), &["--task", "inner"]);
    let nested = work.path.join("nested");
    fs::rename(other.path(), &nested).unwrap();
    let inner = story.cli.in_directory(&nested);
    inner.run(&["ls"]).ok();
    for consent in [&["--force"][..], &["--allow", "nested_repository,untracked"]] {
        let refusal = refused(&story.cli, 5, &[&["rm", "issue-1"], consent].concat());
        refusal.says(&["issue-1 holds the repository local/nested", "task-inner"]);
    }
    assert!(work.path.is_dir() && live.path().join("README.md").is_file());
    // Once they are gone, it may go with all that it holds.
    inner.run(&["rm", "task-inner"]).ok();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
}

#[test]
fn in_a_repository_only_its_own_are_erased() {
    let story = Story::new();
    removed(&story, "1");
    let other = story.sandbox().repository("other");
    let cli = story.sandbox().cli(BINARY).in_directory(other.path());
    crate::support::common::make(&cli, &["--issue", "2"]);
    cli.run(&["rm", "issue-2"]).ok();
    let dry = cli.run(&["trash", "erase", "--before", "2999-01-01", "--dry-run"]).ok();
    assert!(dry.stdout.contains("issue-2 ") && !dry.stdout.contains("issue-1"), "{}", dry.told());
    let outside = story.sandbox().cli(BINARY).in_directory(story.sandbox().path());
    let dry = outside.run(&["trash", "erase", "--before", "2999-01-01", "--dry-run"]).ok();
    assert!(dry.stdout.contains("issue-2 ") && dry.stdout.contains("issue-1 "), "{}", dry.told());
}
