//! What Spinney copied is remembered by its content, for all workspaces of a repository: it goes to no remote unseen, under
//! whatever name, out of whichever workspace, and whatever became of its source.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::common::refused;
use crate::support::job::{Job, Workshop};

const SECRET: &str = "PASSWORD=hunter2\n";
const HELD: &str = "agent/coder/issue-3";

fn with_secret() -> Workshop {
    let workshop = Workshop::new("[workspace]\ncopy = [\"*.key\"]\n");
    workshop.story.change(|repository| {
        repository.write(".gitignore", "/target/\n*.key\n").write("secrets.key", SECRET);
    });
    workshop
}

fn source(workshop: &Workshop) -> PathBuf {
    workshop.story.repository.path().join("secrets.key")
}

fn rotate(workshop: &Workshop) {
    workshop.story.change(|_| fs::write(source(workshop), "PASSWORD=rotated\n").unwrap());
}

/// No commit of the remote has the secret.
#[track_caller]
fn assert_safe(workshop: &Workshop, what: &str) {
    let found = workshop.story.remote().git(&["log", "--all", "-Shunter2", "--format=%H %D"]);
    assert_eq!(found, "", "{what}");
}

#[track_caller]
fn assert_held(workshop: &Workshop, job: &Job, what: &str) {
    assert_safe(workshop, what);
    assert_eq!((job.text("push"), &job.0["held"]["commit"]), ("held", &job.0["commit"]), "{what}: {:#}", job.0);
}

type Change = fn(&Workshop, &Path);

/// Ways of a copy to another name.
fn moves() -> [(&'static str, Change); 4] {
    fn rename(tree: &Path) {
        fs::rename(tree.join("secrets.key"), tree.join("foo.txt")).unwrap();
    }
    [
        ("moved", |_, tree| rename(tree)),
        ("moved, and its source changed", |workshop, tree| {
            rename(tree);
            rotate(workshop);
        }),
        ("moved, and its source deleted", |workshop, tree| {
            rename(tree);
            workshop.story.change(|_| fs::remove_file(source(workshop)).unwrap());
        }),
        ("copied, and both changed", |workshop, tree| {
            fs::copy(tree.join("secrets.key"), tree.join("foo.txt")).unwrap();
            fs::write(tree.join("secrets.key"), "PASSWORD=rotated\n").unwrap();
            rotate(workshop);
        }),
    ]
}

#[test]
fn a_delivery_leaves_out_a_copy_under_another_name() {
    for (what, change) in moves() {
        let workshop = with_secret();
        let tree = workshop.story.make(&["--issue", "7"]).path();
        change(&workshop, &tree);
        fs::write(tree.join("a.txt"), "a").unwrap();
        let told = workshop.cli.run(&["deliver", "issue-7", "--no-pr", "--json"]).ok().json();
        assert_safe(&workshop, what);
        assert_eq!((&told["push"], &told["committed"]), (&json!("pushed"), &json!(["a.txt"])), "{what}");
        let left_out = told["left_out"].as_array().unwrap();
        assert!(left_out.contains(&json!({ "path": "foo.txt", "reason": "copied" })), "{what}: {told:#}");
    }
}

#[test]
fn a_delivery_holds_a_commit_with_a_copy_under_another_name() {
    for (what, change) in moves() {
        let workshop = with_secret();
        let tree = workshop.story.make(&["--issue", "7"]).path();
        change(&workshop, &tree);
        workshop.git(&tree, &["add", "foo.txt"]);
        workshop.git(&tree, &["commit", "--quiet", "--message", "mine"]);
        let told = workshop.cli.run(&["deliver", "issue-7", "--no-pr"]);
        assert_safe(&workshop, what);
        assert_eq!(told.status, 3, "{what}: {}", told.told());
    }
}

#[test]
fn a_job_leaves_out_and_holds_what_was_copied_before_it_and_moved() {
    for (what, change) in moves() {
        for (prompt, status) in [("write a.txt a", 0), ("git add foo.txt\ngit commit --quiet --message x", 1)] {
            let workshop = with_secret();
            let tree = workshop.story.make(&["--branch", "br7"]).path();
            change(&workshop, &tree);
            let job = workshop.run(status, &["--branch", "br7"], prompt);
            assert_safe(&workshop, what);
            assert_eq!(job.text("push"), if status == 0 { "pushed" } else { "held" }, "{what}");
        }
    }
}

/// A job for issue 3 whose commit is held.
#[track_caller]
fn held(workshop: &Workshop, prompt: &str) -> Job {
    let job = workshop.run(1, &["--issue", "3"], prompt);
    assert_held(workshop, &job, prompt);
    job
}

const COMMIT: &str = "git add --force secrets.key\ngit commit --quiet --message n";

#[test]
fn what_is_held_is_held_below_another_workspace_too() {
    let stacked = ["--issue", "4", "--base", HELD];
    for (what, prompt) in [
        ("on top", "write o.txt o"),
        ("taken out again", "git rm --quiet --cached secrets.key\ngit commit --quiet --message without"),
        ("a claim of the agent's", "write o.txt o\ngit update-ref refs/remotes/origin/known agent/coder/issue-3"),
    ] {
        let workshop = with_secret();
        let below = held(&workshop, COMMIT);
        if what.starts_with("a claim") {
            workshop.git(below.path(), &["update-ref", "refs/remotes/origin/known", HELD]);
        }
        let job = workshop.run(1, &stacked, prompt);
        assert_held(&workshop, &job, what);
        assert_held(&workshop, &workshop.retry(1, below.id()), what);
        assert_eq!(workshop.pushed(), ["main"], "{what}");
    }
}

#[test]
fn a_persons_workspace_on_top_of_a_held_one_is_held() {
    let workshop = with_secret();
    held(&workshop, COMMIT);
    let tree = workshop.story.make(&["--issue", "5", "--base", HELD]).path();
    fs::write(tree.join("z.txt"), "z").unwrap();
    let told = workshop.cli.run(&["deliver", "issue-5", "--no-pr"]);
    assert_safe(&workshop, "a person's");
    assert_eq!(told.status, 3, "{}", told.told());
    refused(&workshop.cli, 3, &["deliver", "issue-5", "--no-pr"]).says(&["`secrets.key`", "nothing is pushed"]);
    // What has nothing to push is not held.
    let job = workshop.complete(&["--issue", "6", "--base", HELD], "print done");
    assert_eq!((job.text("push"), &job.0["held"]), ("nothing", &json!(null)));
}

#[test]
fn what_is_held_is_held_in_every_workspace_that_takes_it_in() {
    let other = "git version && cp secrets.key notes.txt\ngit add notes.txt\ngit commit --quiet --message n";
    let changed = "append secrets.key more\ngit add --force secrets.key\ngit commit --quiet --message n";
    for (made, taken) in [
        (other, "git merge --quiet agent/coder/issue-3"),
        (other, "git cherry-pick agent/coder/issue-3"),
        (changed, "git merge --quiet agent/coder/issue-3 || git merge --quiet -s ours agent/coder/issue-3"),
        (
            changed,
            "git show agent/coder/issue-3:secrets.key > foo.txt\ngit add foo.txt\ngit commit --quiet --message foo",
        ),
    ] {
        for is_trashed in [false, true] {
            let workshop = with_secret();
            let commit = held(&workshop, made).text("commit").to_owned();
            rotate(&workshop);
            if is_trashed {
                workshop.cli.run(&["rm", "issue-3", "--force"]).ok();
            }
            let prompt = format!("{}\nwrite o.txt o", taken.replace(HELD, &commit));
            let job = workshop.run(1, &["--issue", "4"], &prompt);
            assert_held(&workshop, &job, &prompt);
            assert_eq!(workshop.pushed(), ["main"], "{prompt}");
        }
    }
}

#[test]
fn a_secret_of_a_workspace_that_was_made_meanwhile_is_held() {
    let workshop = with_secret();
    let go = workshop.hold("go");
    let prompt = format!("{go}\ngit merge --quiet agent/coder/issue-3\nwrite o.txt o");
    let id = workshop.detach(&["--issue", "4"], &prompt);
    workshop.wait_for_agent("go");
    workshop.story.change(|_| fs::write(source(&workshop), "TOKEN=hunter2-again\n").unwrap());
    held(&workshop, "git version && cp secrets.key notes.txt\ngit add notes.txt\ngit commit --quiet --message n");
    workshop.let_go("go");
    assert_held(&workshop, &workshop.wait_for_end(&id), "made meanwhile");
}

#[test]
fn what_a_person_accepted_is_not_held_again() {
    let workshop = with_secret();
    let below = held(&workshop, COMMIT);
    workshop.cli.run(&["retry", "--accept-held", below.id()]).ok();
    assert_eq!(workshop.story.remote().tip(HELD), below.text("commit"));
    let job = workshop.complete(&["--issue", "4", "--base", HELD], "write o.txt o");
    assert_eq!((job.text("push"), &job.0["held"]), ("pushed", &json!(null)));
    // Also when the remote does not have it any more.
    workshop.story.remote().git(&["branch", "-D", HELD]);
    workshop.story.remote().git(&["branch", "-D", "agent/coder/issue-4"]);
    let job = workshop.complete(&["--issue", "5", "--base", HELD], "write p.txt p");
    assert_eq!((job.text("push"), &job.0["held"]), ("pushed", &json!(null)));
    // So does what a delivery accepted.
    let tree = workshop.story.make(&["--issue", "6"]).path();
    fs::rename(tree.join("secrets.key"), tree.join("foo.txt")).unwrap();
    workshop.git(&tree, &["add", "foo.txt"]);
    workshop.git(&tree, &["commit", "--quiet", "--message", "mine"]);
    refused(&workshop.cli, 3, &["deliver", "issue-6", "--no-pr"]);
    let commit = workshop.git(&tree, &["rev-parse", "HEAD"]);
    workshop.cli.run(&["deliver", "issue-6", "--no-pr", "--accept-held", &commit]).ok();
    workshop.story.remote().git(&["branch", "-D", "issue-6"]);
    let job = workshop.complete(&["--issue", "8", "--base", "issue-6"], "write q.txt q");
    assert_eq!((job.text("push"), &job.0["held"]), ("pushed", &json!(null)));
}

#[test]
fn a_base_that_was_not_pushed_holds_nothing_without_a_copy() {
    let workshop = with_secret();
    let tree = workshop.story.make(&["--issue", "3"]).path();
    fs::write(tree.join("b.txt"), "b").unwrap();
    workshop.git(&tree, &["add", "b.txt"]);
    workshop.git(&tree, &["commit", "--quiet", "--message", "below"]);
    let job = workshop.complete(&["--issue", "4", "--base", "issue-3"], "write o.txt o");
    assert_eq!((job.text("push"), &job.0["held"]), ("pushed", &json!(null)));
    // Nor does a remote that went on meanwhile.
    workshop.story.make(&["--issue", "5"]);
    workshop.story.remote().advance("theirs.txt");
    let job = workshop.complete(&["--issue", "5"], "write p.txt p");
    assert_eq!((job.text("push"), &job.0["held"]), ("pushed", &json!(null)));
}
