//! The removal matrix: kinds of content × states of a workspace × who removes it. Each case plants unique tokens;
//! afterwards every one must be readable from tree, branch, trash, rescue ref or archive.
//!
//! In every state one workspace holds all kinds at once. Sweeps must leave it as it is; a person's plain `rm` too. Forced,
//! it goes to the trash, a person does their worst in git, it is purged, they do it again, and it comes back identical.
//! Kinds one by one, on a merged branch, then show what each alone means to a sweep.

use std::fs;

use crate::support::common::{Story, Workspace, refused};
use crate::support::lost::Work;
use crate::support::lost::kinds::{HISTORY, Kind, TREE};
use crate::support::lost::tokens::{EVERYWHERE, Place, Tokens};
use crate::support::lost::work::codes;
use serde_json::Value;
use spinney_testkit::{Cli, Sandbox};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Clean,
    Detached,
    MidRebase,
    MidMerge,
    Locked,
    Missing,
}

/// A repository that has what the kinds change, and a submodule; a provider makes its workspaces.
fn story(provider: &str) -> Story {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library").with_remote();
    let repository = sandbox.repository("app");
    repository.write("lib/a.txt", "a").write("plain", "plain").write("plain.sh", "#!/bin/sh\n");
    let url = library.remote().url().to_owned();
    repository.git(&["submodule", "--quiet", "add", &url, "sub"]);
    repository.commit("more");
    Story::of(repository.with_remote()).by(provider)
}

/// Fills a workspace with every kind, and brings it into a state.
fn plant(work: &Work, state: State, tokens: &mut Tokens) {
    let sub = work.path.join("sub");
    fs::write(sub.join("own.txt"), tokens.make("submodule-unpushed")).unwrap();
    work.sandbox().git(&sub, &["add", "--all"]);
    work.sandbox().git(&sub, &["commit", "--quiet", "--message", "unpushed"]);
    work.git(&["commit", "--quiet", "--all", "--message", "the submodule's commit"]);
    for kind in HISTORY {
        (kind.plant)(work, tokens);
    }
    match state {
        State::Clean | State::Missing => {}
        State::Detached => {
            work.git(&["switch", "--quiet", "--detach"]);
            // Only HEAD's own log leads to the first.
            work.commit("detached.txt", &tokens.make("detached-and-left"));
            work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
            work.commit("detached.txt", &tokens.make("detached-commit"));
        }
        State::MidRebase => {
            work.stop_at_a_conflict("rebase", &tokens.make("rebased-ours"), &tokens.make("rebased-theirs"));
        }
        State::MidMerge => {
            work.stop_at_a_conflict("merge", &tokens.make("merged-ours"), &tokens.make("merged-theirs"));
        }
        State::Locked => {
            fs::write(work.admin_dir().join("locked"), "on a portable disk").unwrap();
        }
    }
    for kind in TREE {
        (kind.plant)(work, tokens);
    }
}

/// What a person may run in the repository, and no tool should.
fn do_the_worst(story: &Story) {
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["worktree", "prune"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
}

fn is_in_git(kind: &str) -> bool {
    let listed = || HISTORY.iter().chain(TREE).any(|known| known.in_git && kind.starts_with(known.name));
    listed() || kind == "submodule-unpushed"
}

/// The cells of one state: make-room, cleanup, and `rm`, plain and forced.
fn removers_meet(provider: &str, state: State) {
    let story = story(provider);
    let work = Work::new(&story, "1");
    assert_eq!(story.show("issue-1").text("provider"), provider);
    let mut tokens = Tokens::default();
    plant(&work, state, &mut tokens);
    let before = work.snapshot();
    if state == State::Missing {
        // Gone, with all that was in the tree alone; what git has must stay.
        fs::rename(&work.path, story.sandbox().path().join("gone")).unwrap();
        tokens = tokens.of(is_in_git);
        assert!(tokens.len() >= 10);
    }
    let unchanged = |who: &str| {
        let when = format!("{state:?}, after {who}");
        if state != State::Missing {
            before.assert_same(&work.snapshot(), &when);
        }
        tokens.assert_readable(&story, &EVERYWHERE, &when);
        assert_ne!(story.show("issue-1").text("status"), "trashed", "{when}");
    };

    let full = story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "1");
    if state != State::Missing {
        refused(&full, 3, &["new", "--issue", "2"]).says(&["limit 1"]);
        unchanged("make-room");
    }
    let eager = story.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", "1ms");
    let report = eager.run(&["cleanup", "all", "--json"]).ok().json();
    assert_eq!(report["removed"], Value::Array(vec![]), "{state:?}: {report}");
    assert_eq!(report["kept"][0]["workspace"]["name"], "issue-1", "{state:?}: {report}");
    unchanged("cleanup");
    refused(&story.cli, 3, &["rm", "issue-1"]);
    unchanged("rm");

    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert!(!work.path.exists());
    tokens.assert_readable(&story, &EVERYWHERE, &format!("{state:?}, in the trash"));
    do_the_worst(&story);
    tokens.assert_readable(&story, &[Place::Trash, Place::Refs], &format!("{state:?}, in the trash, after gc"));
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_back(state, &work, &before, "restored from the trash");
    tokens.assert_readable(&story, &[Place::Trees, Place::Live, Place::Refs], &format!("{state:?}, restored"));

    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    assert_eq!(story.show("issue-1").text("status"), "purged");
    do_the_worst(&story);
    tokens.assert_readable(&story, &[Place::Archives, Place::Refs], &format!("{state:?}, purged"));
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_back(state, &work, &before, "restored from the archive");
    tokens.assert_readable(
        &story,
        &[Place::Trees, Place::Live, Place::Refs],
        &format!("{state:?}, restored from the archive"),
    );
}

/// Asserts that a workspace is as it was; where its files were gone before, that git's part is.
#[track_caller]
fn assert_back(state: State, work: &Work, before: &crate::support::lost::work::Snapshot, when: &str) {
    let now = work.snapshot();
    if state == State::Missing {
        before.assert_same_in_git(&now, &format!("{state:?}, {when}"));
    } else {
        before.assert_same(&now, &format!("{state:?}, {when}"));
    }
}

/// The cells of one state where the database is lost: with the workspace alive, and with it in the trash.
fn reconcile_meets(provider: &str, state: State) {
    let story = story(provider);
    let work = Work::new(&story, "1");
    let mut tokens = Tokens::default();
    plant(&work, state, &mut tokens);
    let before = work.snapshot();
    if state == State::Missing {
        fs::rename(&work.path, story.sandbox().path().join("gone")).unwrap();
        tokens = tokens.of(is_in_git);
    }
    lose_the_database(&story);
    reconciled(&story.cli);
    assert_eq!(story.show("issue-1").text("id"), work.id, "{state:?}");
    if state != State::Missing {
        before.assert_same(&work.snapshot(), &format!("{state:?}, taken in again"));
    }
    tokens.assert_readable(&story, &EVERYWHERE, &format!("{state:?}, taken in again"));

    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    lose_the_database(&story);
    reconciled(&story.cli);
    assert_eq!(story.show("issue-1").text("status"), "trashed", "{state:?}");
    do_the_worst(&story);
    tokens.assert_readable(&story, &EVERYWHERE, &format!("{state:?}, in the trash"));
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_back(state, &work, &before, "restored");
    tokens.assert_readable(&story, &[Place::Trees, Place::Live, Place::Refs], &format!("{state:?}, restored"));
}

fn lose_the_database(story: &Story) {
    for name in ["spinney.db", "spinney.db-wal", "spinney.db-shm"] {
        let _ = fs::remove_file(story.sandbox().spinney_home().join(name));
    }
}

/// Reconciles, and again: the second time there is nothing to do.
#[track_caller]
fn reconciled(cli: &Cli) -> Value {
    let first = cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    let second = cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    let done = second["findings"].as_array().unwrap().iter().filter(|finding| !finding["done"].is_null());
    assert_eq!(done.count(), 0, "{second}");
    first
}

/// The same cells, whatever makes the workspaces.
macro_rules! states {
    ($($name:ident, $reconcile:ident => $state:ident;)*) => {
        mod worktree {
            $(
                #[test]
                fn $name() {
                    super::removers_meet("worktree", super::State::$state);
                }

                #[test]
                fn $reconcile() {
                    super::reconcile_meets("worktree", super::State::$state);
                }
            )*
        }

        #[cfg(feature = "fail-points")]
        mod clone {
            $(
                #[test]
                fn $name() {
                    super::removers_meet("clone", super::State::$state);
                }

                #[test]
                fn $reconcile() {
                    super::reconcile_meets("clone", super::State::$state);
                }
            )*
        }
    };
}

states! {
    removers_meet_a_clean_head, reconcile_meets_a_clean_head => Clean;
    removers_meet_a_detached_head, reconcile_meets_a_detached_head => Detached;
    removers_meet_a_rebase, reconcile_meets_a_rebase => MidRebase;
    removers_meet_a_merge, reconcile_meets_a_merge => MidMerge;
    removers_meet_a_persons_lock, reconcile_meets_a_persons_lock => Locked;
    removers_meet_a_missing_directory, reconcile_meets_a_missing_directory => Missing;
}

/// Each kind alone, in a workspace whose branch is merged: what a sweep does. Gives all names, and those that went.
fn sweep_meets_each_kind(
    provider: &str,
    sweep: impl Fn(&Story, &[(&Kind, Work)]) -> Vec<String>,
) -> (Story, Tokens, Vec<String>, Vec<String>) {
    let story = story(provider);
    let mut tokens = Tokens::default();
    let mut works = Vec::new();
    story.sandbox().write_config("[limits]\nmax_workspaces = 100\n[workspace]\nsubmodules = false\n");
    for (number, kind) in HISTORY.iter().chain(TREE).enumerate() {
        let work = Work::new(&story, &(number + 1).to_string());
        work.commit(&format!("merged-{number}.txt"), "merged");
        work.push();
        works.push((kind, work));
    }
    // One merge of all of them, as fast as a test can.
    let clone = story.sandbox().path().join("merger");
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", story.remote().url(), clone.to_str().unwrap()]);
    let branches: Vec<String> = works.iter().map(|(_, work)| format!("origin/{}", work.name)).collect();
    let merge =
        [&["merge", "--quiet", "--message", "all"], &branches.iter().map(String::as_str).collect::<Vec<_>>()[..]];
    story.sandbox().git(&clone, &merge.concat());
    story.sandbox().git(&clone, &["push", "--quiet", "origin", "main"]);
    for (kind, work) in &works {
        (kind.plant)(work, &mut tokens);
    }
    let removed = sweep(&story, &works);
    for (kind, work) in &works {
        let taken = removed.contains(&work.name);
        assert_eq!(taken, kind.code.is_none(), "{} alone is held back by {:?}", kind.name, kind.code);
        assert_eq!(work.path.exists(), !taken, "{}", kind.name);
    }
    tokens.assert_readable(&story, &EVERYWHERE, "after the sweep");
    let names = works.into_iter().map(|(_, work)| work.name).collect();
    (story, tokens, names, removed)
}

fn cleanup_meets_each_kind(provider: &str) {
    let (story, tokens, names, removed) = sweep_meets_each_kind(provider, |story, works| {
        let report = story.cli.run(&["cleanup", "all", "--json"]).ok().json();
        let row = |name: &str| {
            let kept = report["kept"].as_array().unwrap().iter();
            kept.clone().find(|kept| kept["workspace"]["name"] == name).map(|kept| codes(&kept["reasons"]))
        };
        for (kind, work) in works {
            let kept = row(&work.name).unwrap_or_default();
            // What refs rule out is told by that, without a look at its files.
            let is_told = kept.iter().any(|code| Some(code.as_str()) == kind.code || code == "unmerged");
            assert_eq!(is_told, kind.code.is_some(), "{}: {kept:?}", kind.name);
        }
        names_of(&report["removed"])
    });
    let rest: Vec<&str> = names.iter().filter(|name| !removed.contains(name)).map(String::as_str).collect();
    story.cli.run(&[&["rm", "--force"], &rest[..]].concat()).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    do_the_worst(&story);
    tokens.assert_readable(&story, &[Place::Archives, Place::Refs], "purged");
    for name in &names {
        story.cli.run(&["restore", name]).ok();
    }
    tokens.assert_readable(&story, &[Place::Trees, Place::Live, Place::Refs], "restored");
}

fn make_room_meets_each_kind(provider: &str) {
    sweep_meets_each_kind(provider, |story, works| {
        story.cli.run(&["repo", "sync"]).ok();
        let limit = works.len().to_string();
        let full = story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", &limit);
        let mut issue = 100;
        // Each new one takes the room of one that may go, until none is left.
        while full.run(&["new", "--issue", &issue.to_string(), "--json"]).status == 0 {
            issue += 1;
        }
        let list = story.cli.run(&["trash", "ls", "--json"]).ok().json();
        names_of(&list["trash"])
    });
}

fn names_of(rows: &Value) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| Workspace(row.clone()).text("name").to_owned()).collect()
}

#[test]
fn cleanup_meets_each_kind_alone() {
    cleanup_meets_each_kind("worktree");
}

#[test]
#[cfg(feature = "fail-points")]
fn cleanup_meets_each_kind_alone_in_a_clone() {
    cleanup_meets_each_kind("clone");
}

#[test]
fn make_room_meets_each_kind_alone() {
    make_room_meets_each_kind("worktree");
}

#[test]
#[cfg(feature = "fail-points")]
fn make_room_meets_each_kind_alone_in_a_clone() {
    make_room_meets_each_kind("clone");
}
