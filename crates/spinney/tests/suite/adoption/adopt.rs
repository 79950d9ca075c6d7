//! Worktrees that somebody else made: which are taken in, which are refused, and what stays as it was.

use std::fs;
use std::path::Path;

use crate::support::common::{Story, refused};
use spinney_testkit::TestRepository;

/// Puts work of every kind into a worktree; gives what git says about it.
fn work_in(story: &Story, tree: &Path) -> String {
    let git = |arguments: &[&str]| story.sandbox().git(tree, arguments);
    fs::write(tree.join("committed.txt"), "committed").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "work"]);
    fs::write(tree.join("staged.txt"), "staged").unwrap();
    git(&["add", "."]);
    fs::write(tree.join("README.md"), "changed").unwrap();
    fs::write(tree.join("untracked.txt"), "untracked").unwrap();
    fs::write(tree.join(".env"), "SECRET=1").unwrap();
    state(story, tree)
}

fn state(story: &Story, tree: &Path) -> String {
    let git = |arguments: &[&str]| story.sandbox().git(tree, arguments);
    [git(&["status", "--porcelain=v2", "--branch", "--ignored"]), git(&["rev-parse", "HEAD"]), git(&["diff"])]
        .join("\n")
}

#[test]
fn a_worktree_is_adopted_as_it_is() {
    let story = Story::new();
    let tree = story.foreign_worktree("foreign tree", "feature/auth");
    let before = work_in(&story, &tree);
    let adopted = story.cli.run(&["adopt", "../../foreign tree", "--json"]).ok().json();
    let adopted = &adopted["workspaces"][0];
    assert_eq!(adopted["path"], tree.to_str().unwrap());
    assert_eq!(adopted["branch"], "feature/auth");
    assert_eq!(adopted["adopted_from"], tree.to_str().unwrap());
    assert_eq!(adopted["base_commit"], story.repository.head());
    assert_eq!(state(&story, &tree), before);
    // A second time it is known.
    let again = story.cli.run(&["adopt", tree.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(again["workspaces"][0]["id"], adopted["id"]);
    assert_eq!(story.make(&["--branch", "feature/auth"]).identity(), ("task-feature-auth", "feature/auth", "reused"));
}

#[test]
fn of_two_worktrees_with_one_branch_one_is_adopted() {
    let story = Story::new();
    let (one, two) = (story.foreign_worktree("one", "feature"), story.foreign_worktree("two", "other"));
    story.sandbox().git(&two, &["checkout", "--quiet", "--ignore-other-worktrees", "feature"]);
    let told = story.cli.run(&["adopt", "--all"]).ok();
    assert_eq!(told.stdout, format!("{}\n", one.display()));
    assert!(told.stderr.contains("branch `feature` belongs to task-feature, which is active"), "{}", told.told());
    refused(&story.cli, 5, &["adopt", two.to_str().unwrap()]).says(&["belongs to task-feature"]);
}

#[test]
fn a_worktree_is_adopted_by_its_branch() {
    let story = Story::new();
    let exact = story.foreign_worktree("one", "issue-1");
    let named = story.foreign_worktree("two", "Feature/Two");
    let head = story.foreign_worktree("three", "feature/three");
    let before = work_in(&story, &exact);
    for (arguments, name, branch, tree) in [
        (vec!["--issue", "1"], "issue-1", "issue-1", &exact),
        (vec!["--branch", "Feature/Two"], "task-feature-two", "Feature/Two", &named),
        (vec!["--pr", "3", "--head", "feature/three"], "pr-3", "feature/three", &head),
    ] {
        let workspace = story.make(&arguments);
        assert_eq!(workspace.identity(), (name, branch, "adopted"));
        assert_eq!(workspace.path(), *tree);
    }
    assert_eq!(state(&story, &exact), before);
}

#[test]
fn a_worktree_is_adopted_by_the_slug_of_a_hint() {
    let story = Story::new();
    let one = story.foreign_worktree("one", "feature-auth");
    let two = story.foreign_worktree("two", "feature-search");
    let suggested = story.make(&["--issue", "1", "--suggest", "Feature/Auth"]);
    assert_eq!(suggested.identity(), ("issue-1", "feature-auth", "adopted"));
    assert_eq!(suggested.path(), one);
    let head = story.make(&["--pr", "2", "--head", "feature/search"]);
    assert_eq!(head.identity(), ("pr-2", "feature-search", "adopted"));
    assert_eq!(head.path(), two);
}

#[test]
fn the_exact_branch_comes_before_the_slug() {
    let story = Story::new();
    story.foreign_worktree("slug", "feature-auth");
    let exact = story.foreign_worktree("exact", "feature/auth");
    assert_eq!(story.make(&["--issue", "1", "--suggest", "feature/auth"]).path(), exact);
}

#[test]
fn the_main_checkout_is_never_adopted() {
    let story = Story::new();
    story.change(|repository| repository.git(&["switch", "--quiet", "-c", "feature/auth"]));
    refused(&story.cli, 2, &["adopt", "."]).says(&["main checkout"]);
    refused(&story.cli, 2, &["adopt", ".git"]).says(&["no linked worktree"]);
    // A suggestion that can't be followed is passed over.
    let workspace = story.make(&["--issue", "1", "--suggest", "feature/auth"]);
    assert_eq!(workspace.identity(), ("issue-1", "issue-1", "created"));
    let workspace = story.make(&["--issue", "2", "--suggest", "feature-auth"]);
    assert_eq!(workspace.identity(), ("issue-2", "issue-2", "created"));
    story.refused(5, &["--pr", "1", "--head", "feature/auth"]).says(&["main checkout"]);
}

/// Another clone of the same remote, with a worktree on `issue-1`.
fn other_clone(story: &Story) -> (Story, std::path::PathBuf) {
    let name = "repositories/clone";
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", story.remote().url(), name]);
    let path = story.sandbox().path().join(name);
    let tree = story.sandbox().path().join("of the clone");
    story.sandbox().git(&path, &["worktree", "add", "--quiet", "-b", "issue-1", tree.to_str().unwrap()]);
    // The kit opens what is there already.
    (Story::of(story.sandbox().empty_repository("clone")), tree)
}

#[test]
fn another_clones_worktree_is_never_adopted() {
    let story = Story::new();
    let (other, tree) = other_clone(&story);
    let place = tree.to_str().unwrap();
    refused(&story.cli, 2, &["adopt", place]).says(&[place, "another repository"]);
    let here = story.make(&["--issue", "1"]);
    assert_eq!(here.text("method"), "created");
    assert_ne!(here.path(), tree);
    story.cli.run(&["adopt", "--all"]).ok();
    assert_eq!(story.names(), ["issue-1"]);

    let there = other.make(&["--issue", "1"]);
    assert_eq!((there.text("method"), there.path()), ("adopted", tree.clone()));
    // Now that it is known as the clone's, it still is not ours.
    refused(&story.cli, 2, &["adopt", place]).says(&[place, "another repository"]);
}

#[test]
fn a_submodule_is_never_adopted() {
    let sandbox = spinney_testkit::Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("libs/one", &sandbox.repository("library"));
    let story = Story::of(repository);
    refused(&story.cli, 2, &["adopt", "libs/one"]).says(&["no linked worktree", "another repository"]);
    assert!(story.names().is_empty());
}

#[test]
fn what_is_no_worktree_is_refused_with_its_reason() {
    let story = Story::new();
    let tree = |name: &str, branch: &str| story.foreign_worktree(name, branch);
    let unreadable = tree("unreadable", "one");
    fs::write(unreadable.join(".git"), [0xff, 0xfe, 0x00]).unwrap();
    let elsewhere = tree("elsewhere", "two");
    fs::write(elsewhere.join(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    let without = tree("without", "three");
    fs::remove_file(without.join(".git")).unwrap();
    let detached = tree("detached", "four");
    story.sandbox().git(&detached, &["switch", "--quiet", "--detach"]);
    fs::create_dir(story.sandbox().path().join("plain")).unwrap();
    for (directory, reason) in [
        ("unreadable", "can't be read"),
        ("elsewhere", "another repository"),
        ("without", "no `.git` file"),
        ("detached", "HEAD is detached"),
        ("plain", "no `.git` file"),
        ("missing", "No such file"),
    ] {
        let path = story.sandbox().path().join(directory);
        refused(&story.cli, 2, &["adopt", path.to_str().unwrap()]).says(&[directory, reason]);
    }
    assert!(story.names().is_empty());
}

#[test]
fn all_unknown_worktrees_are_adopted_at_once_and_a_bad_one_does_not_stop_the_rest() {
    let story = Story::new();
    story.make(&["--issue", "9"]);
    let one = story.foreign_worktree("one", "issue-1");
    let bad = story.foreign_worktree("bad", "bad");
    story.sandbox().git(&bad, &["switch", "--quiet", "--detach"]);
    let two = story.foreign_worktree("two", "feature/two");
    let before = (work_in(&story, &one), work_in(&story, &two));
    let ran = story.cli.run(&["adopt", "--all", "--json"]).ok();
    let adopted = ran.json()["workspaces"].as_array().unwrap().len();
    assert_eq!(adopted, 2);
    assert!(ran.stderr.contains("detached"), "{}", ran.stderr);
    assert_eq!(story.names(), ["issue-1", "issue-9", "task-feature-two"]);
    assert_eq!((state(&story, &one), state(&story, &two)), before);
    let again = story.cli.run(&["adopt", "--all", "--json"]);
    assert_eq!(story.names().len(), 3, "{}", again.told());
}

#[test]
fn what_this_home_made_is_not_adopted_but_taken_back_after_its_store_was_lost() {
    let story = Story::new();
    let path = story.make(&["--issue", "1"]).path();
    let home = story.sandbox().spinney_home();
    for name in ["spinney.db", "spinney.db-wal", "spinney.db-shm"] {
        let _ = fs::remove_file(home.join(name));
    }
    story.cli.run(&["adopt", "--all"]).ok();
    let shown = story.show("issue-1");
    assert_eq!((shown.path(), &shown.0["adopted_from"]), (path, &serde_json::Value::Null));
    assert_eq!((shown.text("kind"), shown.text("key")), ("issue", "1"));
}

#[test]
fn a_worktree_inside_the_main_checkout_is_adopted_without_touching_the_checkout() {
    let story = Story::new();
    story.change(|repository| repository.git(&["worktree", "add", "--quiet", "-b", "inside", "trees/inside"]));
    let adopted = story.cli.run(&["adopt", "trees/inside", "--json"]).ok().json();
    assert_eq!(adopted["workspaces"][0]["branch"], "inside");
    story.change(|_| ());
}

#[test]
fn a_lock_that_somebody_set_stays_theirs() {
    let story = Story::new();
    let tree = story.foreign_worktree("foreign", "issue-1");
    story.repository.git(&["worktree", "lock", "--reason", "mine", tree.to_str().unwrap()]);
    story.make(&["--issue", "1"]);
    let listed = story.repository.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked mine"), "{listed}");
}

#[test]
fn a_registered_worktree_whose_directory_is_missing_is_told_and_nothing_is_made() {
    let story = Story::new();
    let tree = story.foreign_worktree("foreign", "issue-1");
    let moved = story.sandbox().path().join("moved");
    fs::rename(&tree, &moved).unwrap();
    story
        .refused(5, &["--issue", "1"])
        .says(&["`issue-1`", tree.to_str().unwrap(), "missing"])
        .hints(&["git worktree repair"]);
    // As a hint it is passed over.
    let workspace = story.make(&["--issue", "2", "--suggest", "issue-1"]);
    assert_eq!(workspace.identity(), ("issue-2", "issue-2", "created"));
    // Its state is still there for when it comes back.
    fs::rename(&moved, &tree).unwrap();
    assert_eq!(story.make(&["--issue", "1"]).identity(), ("issue-1", "issue-1", "adopted"));
}

#[test]
fn an_adopted_workspace_is_removed_and_comes_back_with_its_branch() {
    let story = Story::new();
    let tree = story.foreign_worktree("foreign", "issue-1");
    let before = work_in(&story, &tree);
    story.make(&["--issue", "1"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert!(!tree.exists());
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(state(&story, &tree), before);
}

#[test]
fn a_base_that_is_missing_is_an_error_also_for_adoption() {
    let repository: TestRepository = spinney_testkit::Sandbox::new().repository("app");
    let story = Story::of(repository);
    let tree = story.foreign_worktree("foreign", "issue-1");
    let place = tree.to_str().unwrap();
    refused(&story.cli, 2, &["adopt", place]).hints(&["--base"]);
    let adopted = story.cli.run(&["adopt", place, "--base", "main", "--json"]).ok().json();
    assert_eq!(adopted["workspaces"][0]["base_branch"], "main");
}
