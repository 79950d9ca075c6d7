//! What an agent writes into the repository's own git configuration: no command of ours runs it before a person agreed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{Story, refused};
use spinney_testkit::GitWrapper;

/// A program that notes that it ran; and the note.
fn program(story: &Story) -> (String, PathBuf) {
    let (script, mark) = (story.sandbox().path().join("program"), story.sandbox().path().join("ran"));
    fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
    story.sandbox().command("chmod").args(["+x", script.to_str().unwrap()]).status().unwrap();
    (script.to_str().unwrap().to_owned(), mark)
}

/// A workspace with an edit, in a repository all of whose files have the attribute `filter=x merge=x`.
fn story() -> (Story, PathBuf) {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitattributes", "* filter=x merge=x\n").commit("attributes");
        repository.push();
    });
    let tree = story.make(&["--issue", "1"]).path();
    // As long as before: git must read it to know.
    let text = fs::read_to_string(tree.join("README.md")).unwrap();
    fs::write(tree.join("README.md"), text.to_uppercase()).unwrap();
    (story, tree)
}

/// An agent works in the workspace, and writes a setting for all.
fn set(story: &Story, tree: &Path, key: &str, value: &str) {
    story.change(|repository| repository.sandbox().git(tree, &["config", key, value]));
}

fn why(story: &Story) -> String {
    story.cli.run(&["why", "issue-1", "--json"]).json().to_string()
}

#[test]
fn a_filter_that_an_agent_wrote_is_named_and_not_run() {
    let (story, tree) = story();
    let (program, mark) = program(&story);
    assert!(!why(&story).contains("unverifiable"));
    set(&story, &tree, "filter.x.clean", &program);
    set(&story, &tree, "filter.x.smudge", &program);
    let told = why(&story);
    assert!(told.contains("unverifiable") && told.contains("filter.x.clean") && told.contains(&program), "{told}");
    assert!(story.cli.run(&["why", "issue-1"]).told().contains("spinney trust"));
    for command in [["ls", "-l"].as_slice(), &["show", "issue-1"], &["conflicts"], &["rm", "issue-1"], &["status"]] {
        story.cli.run(command);
    }
    refused(&story.cli, 1, &["new", "--issue", "2"]).says(&["filter.x.smudge", &program]).hints(&["spinney trust"]);
    assert!(!mark.exists());
    // What needs no such program goes on.
    story.cli.run(&["ls"]).ok();
    story.cli.run(&["path", "issue-1"]).ok();
    assert_eq!(story.names(), ["issue-1"]);
    refused(&story.cli, 2, &["trust"]);
    let shown = story.cli.run(&["trust", "--yes"]).ok().stderr;
    assert!(shown.contains(&format!("filter.x.clean = {program}")), "{shown}");
    assert!(!why(&story).contains("unverifiable"));
    assert!(mark.exists(), "what is trusted runs");
    story.make(&["--issue", "2"]);
    set(&story, &tree, "filter.x.clean", "another");
    assert!(why(&story).contains("another"));
}

#[test]
fn what_was_there_when_it_was_added_is_trusted() {
    let story = Story::new();
    let (program, mark) = program(&story);
    story.change(|repository| {
        repository.write(".gitattributes", "* filter=x\n").commit("attributes");
        repository.push();
        repository.git(&["config", "filter.x.smudge", &program]);
    });
    story.make(&["--issue", "1"]);
    assert!(mark.exists());
    let trusted = story.cli.run(&["trust", "--json"]).ok().json();
    assert_eq!(trusted["settings"][0]["key"], "filter.x.smudge");
}

#[test]
fn a_remote_is_not_reached_by_a_program_that_an_agent_wrote() {
    for key in ["remote.origin.uploadpack", "core.sshCommand", "core.gitProxy"] {
        let (story, tree) = story();
        let (program, mark) = program(&story);
        set(&story, &tree, key, &program);
        let again = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
        let said = again.run(&["new", "--issue", "2"]).ok().stderr;
        assert!(said.contains("could not fetch") && said.contains(&key.to_lowercase()), "{said}");
        refused(&again.with_variable("SPINNEY_WORKSPACE__FETCH", "require"), 1, &["new", "--issue", "3"])
            .says(&[&key.to_lowercase()])
            .hints(&["spinney trust"]);
        story.cli.run(&["cleanup", "merged"]).ok();
        assert!(!mark.exists(), "{key}");
    }
}

#[test]
fn a_merge_driver_and_what_an_included_file_says_count_too() {
    let (story, tree) = story();
    let (program, mark) = program(&story);
    let included = story.repository.path().join(".git/more");
    fs::write(&included, "[user]\n\tname = A\n").unwrap();
    set(&story, &tree, "include.path", "more");
    assert!(!why(&story).contains("unverifiable"), "{}", why(&story));
    fs::write(&included, format!("[merge \"x\"]\n\tdriver = {program} %A\n[filter \"x\"]\n\tclean = {program}\n"))
        .unwrap();
    let told = why(&story);
    assert!(told.contains("unverifiable") && told.contains("filter.x.clean"), "{told}");
    // Both sides changed one file: a driver would be asked.
    story.sandbox().git(&tree, &["-c", "filter.x.clean=", "commit", "--quiet", "--all", "--message", "ours"]);
    story.remote().advance("README.md");
    story.cli.run(&["cleanup", "merged"]).ok();
    story.cli.run(&["conflicts"]);
    assert!(!mark.exists());
}

#[test]
fn a_worktrees_own_configuration_counts_where_it_is_used() {
    let (story, tree) = story();
    let (program, mark) = program(&story);
    set(&story, &tree, "extensions.worktreeConfig", "true");
    story.sandbox().git(&tree, &["config", "--worktree", "filter.x.clean", &program]);
    let told = why(&story);
    assert!(told.contains("unverifiable") && told.contains("filter.x.clean"), "{told}");
    assert!(!mark.exists());
    story.make(&["--issue", "2"]);
    story.cli.run(&["trust", "--yes"]).ok();
    assert!(!why(&story).contains("unverifiable"));
}

#[test]
fn a_rewritten_commondir_leads_no_purge_elsewhere() {
    let (story, tree) = story();
    let (program, mark) = program(&story);
    let elsewhere = story.sandbox().path().join("elsewhere");
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", story.remote().url(), "elsewhere"]);
    for name in ["clean", "smudge"] {
        story.sandbox().git(&elsewhere, &["config", &format!("filter.x.{name}"), &program]);
    }
    let id = tree.file_name().unwrap().to_str().unwrap().to_owned();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let admin_dir = story.repository.path().join(".git/spinney").join(&id);
    fs::write(admin_dir.join("commondir"), format!("{}/.git\n", elsewhere.display())).unwrap();
    story.cli.run(&["trash", "purge", "issue-1"]);
    assert!(!mark.exists());
    story.cli.run(&["restore", "issue-1"]);
    assert!(!mark.exists());
}

#[test]
fn git_lfs_and_gits_own_notes_ask_nobody() {
    let (story, tree) = story();
    set(&story, &tree, "filter.lfs.clean", "git-lfs clean -- %f");
    set(&story, &tree, "filter.lfs.process", "git-lfs filter-process");
    set(&story, &tree, "branch.main.description", "x");
    set(&story, &tree, "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
    assert!(!why(&story).contains("unverifiable"), "{}", why(&story));
    let said = story.cli.run(&["trust"]).ok().stderr;
    assert!(said.contains("nothing that needs trust"), "{said}");
}

#[test]
fn looking_at_the_configuration_takes_no_git() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let git = GitWrapper::recording();
    let cli = story.cli.with_path_first(git.directory());
    cli.run(&["rm", "issue-1"]).ok();
    let asked: Vec<_> = git.calls().into_iter().filter(|call| call.contains(" config --file ")).collect();
    assert!(asked.is_empty(), "{asked:?}");
}
