//! What people type, in their own words: short names, addresses, nothing at all, a slip of the finger.

use std::fs;

use crate::support::common::{BINARY, Story, make, names, refused};
use spinney_core::{Work, names::earlier_slug};
use spinney_testkit::{Cli, Ran, Sandbox};

/// A repository whose remote looks as if it were on a forge.
fn on_a_forge() -> Story {
    let story = Story::new();
    story.change(|repository| {
        let url = repository.git(&["remote", "get-url", "origin"]);
        repository.git(&["remote", "set-url", "origin", "https://github.com/acme/app.git"]);
        repository.git(&["config", "--global", &format!("url.{url}.insteadOf"), "https://github.com/acme/app.git"]);
    });
    story
}

fn path_of(cli: &Cli, name: &str) -> String {
    cli.run(&["path", name]).ok().stdout.trim_end().to_owned()
}

#[test]
fn spinney_alone_helps() {
    let cli = Sandbox::new().cli(BINARY);
    let nowhere = Sandbox::new();
    let ran = cli.in_directory(nowhere.path()).run::<&str>(&[]).ok();
    assert!(ran.stdout.contains("Usage: spinney") && ran.stderr.is_empty(), "{}", ran.told());
    assert!(ran.stdout.lines().count() <= 24, "one screen: {}", ran.stdout);
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let ran = story.cli.run::<&str>(&[]).ok();
    assert!(ran.stdout.contains("local/app") && ran.stderr.contains("`spinney ls`"), "{}", ran.told());
}

#[test]
fn a_group_of_commands_alone_is_its_list() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    story.cli.run(&["rm", "issue-1"]).ok();
    assert!(story.cli.run(&["trash"]).ok().stdout.contains("issue-1"));
    assert!(story.cli.run(&["repo"]).ok().stdout.contains("local/app"));
    assert!(story.cli.run(&["config"]).ok().stdout.contains("limits.max_workspaces"));
    for group in ["account", "token", "platform"] {
        let ran = story.cli.run(&[group]);
        assert!(!ran.stderr.contains("error:"), "{group}: {}", ran.told());
    }
}

#[test]
fn commands_have_the_names_that_people_try() {
    let story = Story::new();
    story.cli.run(&["create", "--issue", "1"]).ok();
    assert!(story.cli.run(&["list"]).ok().stdout.contains("issue-1"));
    story.cli.run(&["remove", "issue-1"]).ok();
    assert_eq!(names(&story.cli), ["issue-1"]);
    for (typed, meant) in [("remov", "remove"), ("statsu", "status"), ("conflict", "conflicts")] {
        refused(&story.cli, 2, &[typed]).hints(&[&format!("did you mean `{meant}`?")]);
    }
    for typed in ["delete", "frobnicate", "x"] {
        let hints = refused(&story.cli, 2, &[typed]).0.error_json()["error"]["hints"].to_string();
        assert!(!hints.contains("did you mean"), "{typed}: {hints}");
    }
}

#[test]
fn undo_brings_back_what_was_removed_last() {
    let story = Story::new();
    refused(&story.cli, 4, &["undo"]).says(&["nothing is in the trash"]);
    for issue in ["1", "2"] {
        story.make(&["--issue", issue]);
    }
    let path = story.show("issue-2").path();
    fs::write(path.join("note.txt"), "mine").unwrap();
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    assert!(story.cli.run(&["undo"]).ok().stderr.contains("issue-2 is back"));
    assert_eq!(fs::read_to_string(path.join("note.txt")).unwrap(), "mine");
    assert!(story.cli.run(&["undo"]).ok().stderr.contains("issue-1 is back"));
}

#[test]
fn a_workspace_is_found_by_number_part_and_address() {
    let story = on_a_forge();
    let issue = story.make(&["--issue", "42"]);
    let review = story.make(&["--review", "9", "--sha", &story.repository.head()]);
    let task = story.make(&["--task", "Add dark mode"]);
    for name in
        ["42", "#42", "https://github.com/acme/app/issues/42", "https://github.com/Acme/App/issues/42#x", "sue-42"]
    {
        assert_eq!(path_of(&story.cli, name), issue.text("path"), "{name}");
    }
    for name in ["9", "https://github.com/acme/app/pull/9/files"] {
        assert_eq!(path_of(&story.cli, name), review.text("path"), "{name}");
    }
    for name in ["dark", "DARK-mode"] {
        assert_eq!(path_of(&story.cli, name), task.text("path"), "{name}");
    }
    // Another repository's page, a number that is nobody's, a part of a number.
    for name in ["https://github.com/acme/other/issues/42", "4", "issue-4", "7", "da"] {
        refused(&story.cli, 4, &["path", name]);
    }
    refused(&story.cli, 4, &["show", "isue-42"]).hints(&["did you mean `issue-42`?"]);
    story.make(&["--pr", "42", "--sha", &story.repository.head()]);
    refused(&story.cli, 4, &["path", "42"]).says(&["`42` could be any of", "issue-42", "pr-42"]);
}

#[test]
fn advice_repeats_the_options_that_it_was_given_under() {
    let story = Story::new();
    let elsewhere = Sandbox::new();
    let cli = story.cli.in_directory(elsewhere.path());
    let workspace = story.make(&["--issue", "1"]);
    fs::write(workspace.path().join("new.txt"), "x").unwrap();
    let global = ["--repo", "local/app"];
    let ran = cli.run(&[&global[..], &["rm", "issue-1"]].concat());
    assert!(ran.stderr.contains("let go: spinney --repo local/app rm issue-1 --allow untracked"), "{}", ran.told());
    let why = cli.run(&[&global[..], &["why", "issue-1"]].concat()).ok();
    assert!(why.stdout.contains("keep:   spinney --repo local/app exec issue-1"), "{}", why.told());
    let ran = cli.run(&[&global[..], &["rm", "issue-1", "--force"]].concat()).ok();
    assert!(ran.stderr.contains("undo: spinney --repo local/app restore issue-1"), "{}", ran.told());
    let ran = cli.run(&[&global[..], &["--json", "show", "nope"]].concat());
    assert!(ran.stderr.contains("`spinney --repo local/app ls`"), "{}", ran.told());
    let plain = story.cli.run(&["show", "nope"]);
    assert!(plain.stderr.contains("`spinney ls`"), "{}", plain.told());
}

#[test]
fn in_a_repository_a_name_means_no_workspace_of_another() {
    let story = Story::new();
    let other = story.sandbox().repository("other").with_remote();
    let there = story.cli.in_directory(other.path());
    let here = story.make(&["--issue", "50"]);
    make(&there, &["--issue", "50"]);
    there.run(&["rm", "50"]).ok();
    // Asked again by a number, a name, a part, a branch: it is in the trash, or not here. Nothing of the other one goes.
    for name in ["50", "#50", "issue-50", "sue-50"] {
        refused(&there, 4, &["rm", name]);
    }
    story.make(&["--task", "Dark mode"]);
    for name in ["task-dark-mode", "show"] {
        refused(&there, 4, &["show", name]);
    }
    refused(&there, 4, &["rm", "task-dark-mode"])
        .says(&["no workspace of this repository is called `task-dark-mode`"])
        .hints(&["--repo local/app"]);
    story.cli.run(&["rm", "task-dark-mode"]).ok();
    refused(&there, 4, &["restore", "task-dark-mode"]);
    refused(&there, 4, &["restore", "dark"]);
    assert_eq!(story.show("task-dark-mode").text("status"), "trashed");
    // An id is one workspace wherever it is, and `--repo` names another repository.
    assert_eq!(path_of(&there, here.text("id")), here.text("path"));
    assert_eq!(there.run(&["--repo", "local/app", "path", "50"]).ok().stdout.trim_end(), here.text("path"));
    there.run(&["undo"]).ok();
    assert_eq!(names(&there), ["issue-50"]);
}

#[test]
fn what_removes_refuses_whatever_could_mean_two() {
    let story = Story::new();
    let other = story.sandbox().repository("other").with_remote();
    let there = story.cli.in_directory(other.path());
    for task in ["Dark mode", "Light mode"] {
        story.make(&["--task", task]);
    }
    make(&there, &["--task", "Dark side"]);
    for part in ["mode", "task"] {
        refused(&story.cli, 4, &["rm", part]).says(&["could be any of"]);
    }
    assert!(path_of(&story.cli, "dark").contains("/app/") && path_of(&there, "dark").contains("/other/"));
    story.cli.run(&["rm", "light"]).ok();
    // Once removed, its name is no part of another's.
    story.make(&["--issue", "4"]);
    story.make(&["--task", "issue 4 again"]);
    story.cli.run(&["rm", "issue-4"]).ok();
    refused(&story.cli, 4, &["rm", "issue-4"]).says(&["issue-4 is in the trash"]);
    let left: Vec<_> = story.cli.run(&["ls", "--json"]).ok().json()["workspaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    refused(&story.cli, 4, &["trash", "purge", "zzz"]);
}

#[test]
fn a_point_is_the_workspace_that_one_stands_in() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    fs::create_dir(workspace.path().join("deep")).unwrap();
    let inside = story.cli.in_directory(workspace.path().join("deep"));
    for arguments in [&["show"][..], &["show", "."], &["why"], &["path"], &["exec", ".", "true"]] {
        let ran = inside.run(arguments).ok();
        assert!(arguments[0] == "exec" || ran.told().contains(workspace.text("id")) || ran.stdout.contains("issue-1"));
    }
    // Through the readable link it is the same place.
    let linked = story.cli.in_directory(workspace.text("link"));
    assert_eq!(linked.run(&["path", "."]).ok().stdout.trim_end(), workspace.text("path"));
    for arguments in [&["show"][..], &["why", "."], &["rm"], &["rm", "."], &["path"]] {
        refused(&story.cli, 4, arguments).says(&["is not inside a workspace"]).hints(&["spinney ls"]);
    }
    assert_eq!(names(&story.cli), ["issue-1"], "`rm` outside of a workspace removed something");
}

/// Runs a line in a shell that stands in a directory.
fn in_shell(story: &Story, directory: &std::path::Path, line: &str) -> Ran {
    let binaries = std::path::Path::new(BINARY).parent().unwrap();
    let shell = story.sandbox().cli("/bin/bash").in_directory(directory).with_path_first(binaries);
    // A second command keeps the shell from becoming the first.
    shell.run(&["-c", &format!("{line}; status=$?; true; exit $status")])
}

#[test]
fn rm_alone_removes_the_workspace_that_ones_shell_stands_in() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    let path = workspace.path();
    let why = in_shell(&story, &path, "spinney why").ok();
    assert!(why.stdout.contains("your own shell is in it"), "{}", why.told());
    // By its name it is held by the shell; and another process holds it however it is named.
    let held = in_shell(&story, &path, "spinney rm issue-1").exits(5);
    assert!(held.stderr.contains("your own shell is in it"), "{}", held.told());
    let sleeper = story.sandbox().cli("/bin/sleep").in_directory(&path).spawn(&["60"]);
    in_shell(&story, &path, "spinney rm").exits(5);
    sleeper.kill();
    fs::write(path.join("mine.txt"), "").unwrap();
    let refused = in_shell(&story, &path, "spinney rm").exits(3);
    assert!(refused.stderr.contains("let go: spinney rm --allow untracked "), "{}", refused.told());
    fs::remove_file(path.join("mine.txt")).unwrap();
    let gone = in_shell(&story, &path, "spinney rm; spinney new --issue 7; spinney path --main");
    assert!(gone.stderr.contains("issue-1 is in the trash until"), "{}", gone.told());
    assert!(gone.stderr.contains("your shell stands in a directory that was moved"), "{}", gone.told());
    assert!(gone.stderr.contains("error: issue-1 is in the trash"), "what else fails there says why: {}", gone.told());
    assert_eq!(gone.ok().stdout.trim_end(), story.repository.path().to_str().unwrap());
    // A git that is just being started there is no process of somebody else's.
    for number in 11..23 {
        let another = story.make(&["--issue", &number.to_string()]).path();
        in_shell(&story, &another, "spinney rm").ok();
    }
}

#[test]
fn new_takes_words_and_addresses() {
    let story = on_a_forge();
    story.cli.run(&["new", "Add dark mode"]).ok();
    assert_eq!(story.show("task-add-dark-mode").text("title"), "Add dark mode");
    assert_eq!(make(&story.cli, &["Add dark mode"]).text("method"), "reused");
    assert_eq!(make(&story.cli, &["https://github.com/acme/app/issues/42"]).text("name"), "issue-42");
    // From anywhere, where the repository is known.
    let elsewhere = story.cli.in_directory(story.sandbox().path());
    assert_eq!(make(&elsewhere, &["https://github.com/acme/app/issues/42"]).text("method"), "reused");
    refused(&elsewhere, 4, &["new", "https://github.com/acme/nope/issues/1"]).hints(&["spinney repo add"]);
    refused(&story.cli, 2, &["new", "42"]).hints(&["--issue 42", "--pr 42"]);
    refused(&story.cli, 2, &["new", "#42"]).hints(&["--issue 42", "--pr 42"]);
    refused(&story.cli, 2, &["new", "issue-42"]).hints(&["--issue 42"]);
    refused(&story.cli, 2, &["new", "https://github.com/acme/app"]).hints(&["/issues/42"]);
    refused(&story.cli, 2, &["new", "words", "--issue", "42"]);
    refused(&story.cli, 2, &["new"]).hints(&["spinney new --issue 42"]);
}

#[test]
fn exec_needs_no_dashes() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let exec = |arguments: &[&str]| story.cli.run(&[&["exec", "issue-1"], arguments].concat()).ok().stdout;
    assert_eq!(exec(&["echo", "a", "-n", "--json"]), "a -n --json\n");
    assert_eq!(exec(&["echo", "a", "--", "b"]), "a -- b\n");
    assert_eq!(exec(&["--", "echo", "a", "--", "b"]), "a -- b\n");
}

#[test]
fn names_read_well_in_ascii_and_work_named_before_is_found() {
    let story = Story::new();
    let words = "Unicode: café, résumé";
    let made = story.make(&["--task", words]);
    assert_eq!(made.identity(), ("task-unicode-cafe-resume", "task-unicode-cafe-resume", "created"));
    // A workspace that an earlier version named.
    let earlier = earlier_slug("Größe ändern", 92).unwrap();
    let before = story.make(&["--task", &earlier, "--title", "Größe ändern"]);
    assert_ne!(Work::task("Größe ändern").unwrap().key, earlier);
    let again = story.make(&["--task", "Größe ändern"]);
    assert_eq!((again.text("id"), again.text("method")), (before.text("id"), "reused"));
}

#[test]
fn what_is_told_fits_the_case() {
    let story = Story::of(Sandbox::new().repository("app"));
    for issue in ["1", "2"] {
        story.make(&["--issue", issue]);
    }
    let cleanup = story.cli.run(&["cleanup"]).ok();
    assert!(cleanup.stderr.contains("all 2 workspaces stay"), "{}", cleanup.told());
    let conflicts = story.cli.run(&["conflicts"]).ok();
    assert!(conflicts.stderr.contains("none of 2 workspaces has commits of its own"), "{}", conflicts.told());
    let path = story.show("issue-1").path();
    fs::write(path.join("a.txt"), "a").unwrap();
    story.sandbox().git(&path, &["add", "a.txt"]);
    story.sandbox().git(&path, &["commit", "--quiet", "--message", "a"]);
    let why = story.cli.run(&["why", "issue-1"]).ok();
    assert!(why.stdout.contains("git merge issue-1") && !why.stdout.contains("git push"), "{}", why.told());
    let hints = refused(&story.cli, 2, &["run", "x"]).0.error_json()["error"]["hints"].to_string();
    let own = story.sandbox().config_file();
    assert!(hints.contains(own.to_str().unwrap()) && !hints.contains("XDG_CONFIG_HOME"), "{hints}");
}

#[test]
fn what_brings_a_lost_workspace_back_is_told() {
    let story = Story::new();
    let path = story.make(&["--issue", "1"]).path();
    fs::write(path.join("a.txt"), "a").unwrap();
    story.sandbox().git(&path, &["add", "a.txt"]);
    story.sandbox().git(&path, &["commit", "--quiet", "--message", "a"]);
    fs::rename(&path, story.sandbox().path().join("away")).unwrap();
    story.cli.run(&["ls"]).ok();
    let why = story.cli.run(&["why", "issue-1"]).ok();
    assert!(why.stdout.contains("spinney new --issue 1") && !why.stdout.contains("spinney exec"), "{}", why.told());
    assert!(story.make(&["--issue", "1"]).path().join("a.txt").is_file());
}

#[test]
fn what_force_can_not_override_is_told_with_all_that_has_to_be_allowed() {
    let story = Story::new();
    let path = story.make(&["--issue", "1"]).path();
    fs::write(path.join("a.txt"), "a").unwrap();
    let process = story.sandbox().cli("sleep").in_directory(&path).spawn(&["100"]);
    let line = "spinney rm issue-1 --allow untracked,in_use";
    refused(&story.cli, 5, &["rm", "--force", "issue-1"]).says(&["in_use"]).hints(&[line]);
    story.cli.run(&["rm", "issue-1", "--allow", "untracked,in_use"]).ok();
    process.kill();
}

#[test]
fn a_submodule_on_this_machine_says_what_to_set() {
    let story = Story::new();
    let library = story.sandbox().repository("library");
    story.change(|repository| {
        repository.add_submodule("library", &library);
        repository.git(&["push", "--quiet", "origin", "main"]);
        repository.git(&["config", "--global", "protocol.file.allow", "user"]);
    });
    story
        .refused(1, &["--issue", "1"])
        .says(&["does not allow the transport `file`"])
        .hints(&["git config --global protocol.file.allow always"]);
    story.repository.git(&["config", "--global", "protocol.file.allow", "always"]);
    assert!(story.make(&["--issue", "1"]).path().join("library/README.md").exists());
}
