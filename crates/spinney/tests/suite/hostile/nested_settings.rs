//! A repository inside of a workspace whose own configuration runs something: no command of ours is what runs it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::Story;
use spinney_testkit::Sandbox;

/// A story with a workspace `issue-1` that has a repository as a gitlink, at `sub`; and the file that must not appear.
fn story() -> (Story, PathBuf, PathBuf) {
    let story = Story::new();
    let tree = story.make(&["--issue", "1"]).path();
    let sub = tree.join("sub");
    let git = |directory: &Path, arguments: &[&str]| story.sandbox().git(directory, arguments);
    git(&tree, &["init", "--quiet", "sub"]);
    fs::write(sub.join("a"), "a\n").unwrap();
    git(&sub, &["add", "a"]);
    git(&sub, &["commit", "--quiet", "--message", "inside"]);
    git(&tree, &["add", "sub"]);
    let mark = story.sandbox().path().join("ran");
    (story, sub, mark)
}

/// Looks at the workspace in every way that there is.
fn look(story: &Story) -> String {
    let commands: [&[&str]; 8] = [
        &["ls", "-l"],
        &["show", "issue-1"],
        &["why", "issue-1"],
        &["conflicts"],
        &["cleanup", "merged"],
        &["cleanup", "caches"],
        &["status"],
        &["rm", "issue-1"],
    ];
    commands.iter().map(|command| story.cli.run(command)).map(|ran| ran.stdout + &ran.stderr).collect()
}

#[test]
fn what_a_nested_repository_names_is_not_run_and_is_told() {
    for (key, attributes) in [
        ("filter.x.clean", "* filter=x\n"),
        ("filter.x.process", "* filter=x\n"),
        ("core.fsmonitor", ""),
        ("include.path", ""),
    ] {
        let (story, sub, mark) = story();
        let script = story.sandbox().path().join("script");
        fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
        story.sandbox().command("chmod").args(["+x", script.to_str().unwrap()]).status().unwrap();
        let included = sub.join(".git/more");
        fs::write(&included, format!("[core]\n\tfsmonitor = {}\n", script.display())).unwrap();
        let value = if key == "include.path" { "more" } else { script.to_str().unwrap() };
        story.sandbox().git(&sub, &["config", key, value]);
        fs::write(sub.join(".git/info/attributes"), attributes).unwrap();
        // As long as before: git must read it to know.
        fs::write(sub.join("a"), "b\n").unwrap();
        let said = look(&story);
        assert!(!mark.exists(), "`{key}` ran");
        let reasons = story.cli.run(&["why", "issue-1", "--json"]).json().to_string();
        let shown = if key == "include.path" { "core.fsmonitor" } else { key };
        assert!(reasons.contains("unverifiable") && reasons.contains(shown), "{reasons}");
        assert!(said.contains(shown) && said.contains("sub"), "{said}");
        assert_eq!(story.names(), ["issue-1"]);
        // Git itself would have.
        story.sandbox().git(sub.parent().unwrap(), &["status"]);
        assert!(mark.exists(), "`{key}` does not run at all");
    }
}

#[test]
fn a_git_file_or_commondir_that_leads_elsewhere_is_not_followed() {
    for way in ["pointer", "commondir"] {
        let (story, sub, mark) = story();
        let elsewhere = story.sandbox().path().join("elsewhere");
        story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", sub.to_str().unwrap(), "elsewhere"]);
        story.sandbox().git(&elsewhere, &["config", "core.fsmonitor", &format!("touch '{}'", mark.display())]);
        if way == "pointer" {
            fs::rename(sub.join(".git"), story.sandbox().path().join("aside")).unwrap();
            fs::write(sub.join(".git"), format!("gitdir: {}/.git\n", elsewhere.display())).unwrap();
        } else {
            fs::write(sub.join(".git/commondir"), format!("{}/.git\n", elsewhere.display())).unwrap();
        }
        fs::write(sub.join("a"), "changed, and longer\n").unwrap();
        look(&story);
        assert!(!mark.exists(), "{way}");
        let reasons = story.cli.run(&["why", "issue-1", "--json"]).json().to_string();
        assert!(reasons.contains("unverifiable") && reasons.contains("leads"), "{reasons}");
    }
}

#[test]
fn a_harmless_one_is_still_looked_into() {
    let (story, sub, _) = story();
    let dirty = |story: &Story| {
        let reasons = story.cli.run(&["why", "issue-1", "--json"]).json()["reasons"].clone();
        let of = |code: &str| reasons.as_array().unwrap().iter().find(|it| it["code"] == code).cloned();
        assert_eq!(of("unverifiable"), None, "{reasons}");
        of("dirty").map(|reason| reason["items"].to_string()).unwrap_or_default()
    };
    story.sandbox().git(sub.parent().unwrap(), &["commit", "--quiet", "--message", "a gitlink"]);
    assert!(!dirty(&story).contains("sub"));
    fs::write(sub.join("a"), "changed, and longer\n").unwrap();
    assert!(dirty(&story).contains("sub"));
    story.sandbox().git(&sub, &["checkout", "--quiet", "a"]);
    fs::write(sub.join("new"), "new\n").unwrap();
    assert!(dirty(&story).contains("sub"));
}

#[test]
fn submodules_of_a_person_keep_working() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library").with_remote();
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("lib", &library);
    repository.push();
    let story = Story::of(repository);
    let tree = story.make(&["--issue", "1"]).path();
    assert!(tree.join("lib/README.md").exists() || tree.join("lib/src").exists());
    let reasons = || story.cli.run(&["why", "issue-1", "--json"]).json().to_string();
    assert!(!reasons().contains("unverifiable"), "{}", reasons());
    fs::write(tree.join("lib/new.txt"), "new\n").unwrap();
    assert!(reasons().contains("dirty"), "{}", reasons());
    story.sandbox().git(tree.join("lib"), &["add", "new.txt"]);
    story.sandbox().git(tree.join("lib"), &["commit", "--quiet", "--message", "inside"]);
    assert!(reasons().contains("submodule_unpushed"), "{}", reasons());
    story.sandbox().git(tree.join("lib"), &["config", "core.sshCommand", "x"]);
    assert!(reasons().contains("unverifiable") && reasons().contains("core.sshcommand"), "{}", reasons());
}
