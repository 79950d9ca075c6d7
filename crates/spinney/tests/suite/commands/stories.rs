//! Every command as a person or a program meets it: help, JSON, exit statuses, names, colours.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::support::common::{BINARY, Story, refused};
use serde_json::Value;
use spinney_testkit::{Cli, GitWrapper, Ran, Running, Sandbox, postgres_database};

const COMMANDS: [&str; 28] = [
    "new",
    "ls",
    "show",
    "path",
    "cd",
    "status",
    "why",
    "rm",
    "restore",
    "undo",
    "adopt",
    "import",
    "exec",
    "run",
    "jobs",
    "logs",
    "cancel",
    "retry",
    "repo",
    "account",
    "token",
    "init",
    "trust",
    "config",
    "doctor",
    "completions",
    "shell-init",
    "demo",
];

/// The subcommands that a help page lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // What is indented further goes on with a description.
    let lines = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The commands that the first page lists, each after its group or below another one.
fn first_page(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Start ")).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.get(17..)?.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn every_command_shows_an_example() {
    let cli = Sandbox::new().cli(BINARY);
    let help = cli.run(&["--help"]).ok().stdout;
    let commands = first_page(&help);
    for command in COMMANDS {
        assert!(commands.iter().any(|listed| listed == command), "{command} is not in\n{help}");
    }
    for command in &commands {
        let help = cli.run(&[command, "--help"]).ok().stdout;
        let example = |help: &str| help.contains(&format!("spinney {command}"));
        assert!(help.contains("Example") && example(&help), "{help}");
        for subcommand in listed(&help) {
            let help = cli.run(&[command, &subcommand, "--help"]).ok().stdout;
            let example = format!("spinney {command} {subcommand}");
            assert!(help.contains("Example") && help.contains(&example), "{command} {subcommand}: {help}");
        }
    }
    assert_eq!(cli.run(&["--version"]).ok().stdout, concat!("spinney ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn json_is_one_document_on_stdout() {
    let story = Story::new();
    story.foreign_worktree("theirs", "feature");
    let other = story.sandbox().repository("other");
    let other = other.path().to_str().unwrap();
    let document = |arguments: &[&str], keys: &[&str]| {
        let document = story.cli.run(&[arguments, &["--json"]].concat()).ok().json();
        for key in keys {
            assert!(document.get(key).is_some(), "no `{key}` for {arguments:?} in {document}");
        }
        document
    };
    let made = document(&["new", "--issue", "42", "--title", "A title"], &["id", "method", "warm"]);
    assert_eq!((&made["method"], &made["warm"], &made["title"]), (&"created".into(), &false.into(), &"A title".into()));
    for arguments in [&["ls"][..], &["ls", "-l"], &["ls", "--all"], &["ls", "--status", "active"]] {
        let list = document(arguments, &["workspaces"]);
        assert_eq!(list["workspaces"][0]["name"], "issue-42", "{arguments:?}");
    }
    document(&["show", "issue-42"], &["id", "works", "ports", "state", "changed", "untracked", "ahead", "behind"]);
    assert_eq!(document(&["path", "issue-42"], &[])["path"], made["path"]);
    document(&["status"], &["repositories", "free_disk"]);
    let why = document(&["why", "issue-42"], &["workspace", "removable", "reasons", "evidence"]);
    assert_eq!((&why["removable"], &why["workspace"]["id"]), (&true.into(), &made["id"]));
    assert_eq!(document(&["rm", "issue-42", "--dry-run"], &["id"])["status"], "active");
    assert_eq!(document(&["rm", "issue-42"], &["id", "removed_at"])["status"], "trashed");
    assert_eq!(document(&["restore", "issue-42"], &["id"])["status"], "active");
    assert_eq!(document(&["adopt", "--all"], &["workspaces"])["workspaces"][0]["branch"], "feature");
    assert_eq!(document(&["adopt", "--all"], &[])["workspaces"], Value::Array(vec![]));
    document(&["import"], &["found", "imported", "skipped", "failed"]);
    let removed = document(&["rm", "issue-42", "feature"], &["workspaces", "failed"]);
    assert_eq!(removed["workspaces"].as_array().unwrap().len(), 2);
    assert_eq!(document(&["repo", "add", other], &["id", "workspaces"])["name"], "local/other");
    assert_eq!(document(&["repo", "ls"], &["repositories"])["repositories"].as_array().unwrap().len(), 2);
    document(&["repo", "sync"], &["repository", "default_branch", "fetched_at"]);
    assert_eq!(document(&["repo", "rm", "local/other"], &["id"])["name"], "local/other");
    assert_eq!(document(&["trust"], &["repository", "setup"])["trusted"], true);
    document(&["config", "show"], &["config"]);
    assert_eq!(document(&["config", "validate"], &[])["valid"], true);
    assert_eq!(document(&["doctor"], &["checks"])["healthy"], true);
    for command in ["completions", "shell-init"] {
        assert!(document(&[command, "bash"], &["shell"])["script"].as_str().unwrap().contains("SPINNEY_COMPLETE"));
    }
    let init = story.change(|_| document(&["init"], &["path"]));
    assert!(fs::read_to_string(init["path"].as_str().unwrap()).unwrap().contains("max_workspaces"));
}

#[test]
fn a_workspace_has_every_documented_field() {
    let story = Story::new();
    let made = story.make(&["--issue", "42", "--platform", "api"]).0;
    let fields = "id name title repository kind key path link branch base_branch base_commit provider populate status \
        method warm platform pushed pull_request created_at last_activity_at";
    for field in fields.split_whitespace() {
        assert!(made.get(field).is_some(), "no `{field}` in {made}");
    }
    assert_eq!((&made["kind"], &made["key"], &made["name"]), (&"issue".into(), &"42".into(), &"issue-42".into()));
    assert_eq!((&made["platform"], &made["status"]), (&"api".into(), &"active".into()));
    assert_eq!((&made["provider"], &made["populate"]), (&"worktree".into(), &"checkout".into()));
    assert_eq!((&made["base_branch"], &made["base_commit"]), (&"main".into(), &story.repository.head().into()));
    assert_eq!(fs::read_link(made["link"].as_str().unwrap()).unwrap().to_str(), made["path"].as_str());
    let time = made["created_at"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.contains('T'), "{time}");
    // The same fields wherever a workspace is told of.
    let row = &story.cli.run(&["ls", "--json"]).ok().json()["workspaces"][0];
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let extra: BTreeSet<_> = keys(&made).difference(&keys(row)).cloned().collect();
    assert_eq!(extra, ["kept", "method", "warm", "set_up_at", "stderr"].map(str::to_owned).into());
}

#[test]
fn a_failure_is_one_line_of_json_and_nothing_on_stdout() {
    let story = Story::new();
    for arguments in [
        &["show", "nope"][..],
        &["path", "nope"],
        &["cd", "nope"],
        &["why", "nope"],
        &["rm", "nope"],
        &["restore", "nope"],
        &["exec", "nope", "--", "true"],
        &["adopt", "nope"],
        &["import", "--from", "nope"],
        &["repo", "add", "--", "-x"],
        &["repo", "rm", "no/pe"],
        &["new"],
        &["new", "--issue", "x"],
        &["new", "--issue", "1", "--base", "nope"],
        &["ls", "--status", "nope"],
        &["ls", "--nope"],
        &["nope"],
        &["completions", "nope"],
        &["config", "show", "--config", "/nope/nope.toml"],
        &["trust", "extra"],
        &["run"],
        &["run", "x"],
        &["logs", "nope"],
        &["cancel", "nope"],
        &["retry", "nope"],
        &["jobs", "--status", "nope"],
    ] {
        let ran = story.cli.run(&[&["--json"], arguments].concat());
        assert!(ran.status != 0 && ran.stdout.is_empty(), "{}", ran.told());
        let error = ran.error_json();
        let keys: BTreeSet<_> = error["error"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(["hints", "kind", "message"]), "{}", ran.told());
        assert!(!error["error"]["hints"].as_array().unwrap().is_empty(), "no hint: {}", ran.told());
        assert_eq!(error.as_object().unwrap().len(), 1);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.told());
        // The same without `--json`, for people.
        let plain = story.cli.run(arguments);
        assert_eq!((plain.status, plain.stdout.as_str()), (ran.status, ""), "{}", plain.told());
        assert!(plain.stderr.starts_with("error: ") && plain.stderr.contains("\n\nhint: "), "{}", plain.told());
    }
}

#[test]
fn exit_statuses_say_what_kind_of_failure_it_is() {
    let story = Story::new();
    let path = story.make(&["--issue", "1"]).path();
    fs::write(path.join("new.txt"), "").unwrap();
    let limited = story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "1");
    let closed = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH", "require");
    let gone = story.sandbox().path().join("gone.git");
    let table: [(&Cli, i32, &str, &[&str]); 12] = [
        (&story.cli, 2, "usage", &["new"]),
        (&story.cli, 2, "usage", &["new", "--issue", "1", "--pr", "2"]),
        (&story.cli, 2, "usage", &["new", "--head", "x"]),
        (&story.cli, 2, "usage", &["new", "--issue", "1", "--sha", &"a".repeat(40)]),
        (&story.cli, 2, "usage", &["--config", "/nope", "ls"]),
        (&story.cli, 3, "blocked", &["rm", "issue-1"]),
        (&limited, 3, "blocked", &["new", "--issue", "2"]),
        (&story.cli, 3, "blocked", &["repo", "rm"]),
        (&story.cli, 4, "not_found", &["show", "nope"]),
        (&story.cli, 4, "not_found", &["new", "--issue", "3", "--base", "nope"]),
        (&story.cli, 4, "not_found", &["--repo", "no/pe", "ls"]),
        (&story.cli, 5, "held", &["new", "--branch", "main"]),
    ];
    for (cli, status, kind, arguments) in table {
        let refusal = refused(cli, status, arguments);
        assert_eq!(refusal.0.error_json()["error"]["kind"], kind, "{arguments:?}");
    }
    story.change(|repository| repository.git(&["remote", "set-url", "origin", gone.to_str().unwrap()]));
    assert_eq!(refused(&closed, 1, &["new", "--issue", "4"]).0.error_json()["error"]["kind"], "failed");
    assert_eq!(story.names(), ["issue-1"]);
}

#[test]
fn exec_gives_the_commands_own_status_or_125() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let exec = |arguments: &[&str]| story.cli.run(&[&["exec"], arguments].concat());
    let ran = exec(&["issue-42", "--", "sh", "-c", "pwd; echo \"$PWD\"; echo $SPINNEY_WORKTREE_BRANCH; exit 7"]);
    let path = workspace.text("path");
    assert_eq!(ran.exits(7).stdout, format!("{path}\n{path}\nissue-42\n"));
    exec(&["issue-42", "--", "true"]).ok();
    exec(&["issue-42", "--", "sh", "-c", "kill -9 $$"]).exits(137);
    assert_eq!(exec(&["issue-42", "--", "echo", "--json", "-h"]).ok().stdout, "--json -h\n");
    for ours in [&["nope", "--", "true"][..], &["issue-42", "--", "/nope/nope"], &["issue-42"], &["issue-42", "--", ""]]
    {
        exec(ours).exits(125);
    }
    story.cli.with_variable("SPINNEY_X__Y", "1").run(&["exec", "issue-42", "--", "true"]).exits(125);
    story.sandbox().cli("/bin/mv").run(&[path, &format!("{path}-away")]).ok();
    let moved = refused(&story.cli, 125, &["exec", "issue-42", "--", "true"]);
    moved.says(&["the files of issue-42 are not there", path]);
    story.sandbox().cli("/bin/mv").run(&[format!("{path}-away").as_str(), path]).ok();
}

#[test]
fn a_workspace_is_found_by_name_id_prefix_and_branch() {
    let story = Story::new();
    let workspace = story.make(&["--branch", "feature/auth"]);
    let (id, path) = (workspace.text("id"), workspace.text("path"));
    for name in ["task-feature-auth", "feature/auth", id, &id[..4]] {
        assert_eq!(story.cli.run(&["path", name]).ok().stdout.trim_end(), path, "{name}");
    }
    // Where a shell stands does not matter, when the name is the only one.
    let elsewhere = story.cli.in_directory(story.sandbox().path());
    assert_eq!(elsewhere.run(&["path", "feature/auth"]).ok().stdout.trim_end(), path);
    assert_eq!(elsewhere.run(&["--repo", "local/app", "path", id]).ok().stdout.trim_end(), path);
    let inside = story.cli.in_directory(path);
    assert_eq!(inside.run(&["path", "feature/auth"]).ok().stdout.trim_end(), path);
}

#[test]
fn an_ambiguous_name_lists_its_candidates() {
    let story = Story::new();
    let other = story.sandbox().repository("other").with_remote();
    let one = story.make(&["--issue", "7"]);
    let two = crate::support::common::make(&story.cli.in_directory(other.path()), &["--issue", "7"]);
    let elsewhere = story.cli.in_directory(story.sandbox().path());
    for command in ["path", "show", "why", "rm"] {
        let refusal = refused(&elsewhere, 4, &[command, "issue-7"]);
        refusal.says(&["`issue-7` could be any of", one.text("id"), two.text("id"), "local/app", "local/other"]);
        refusal.hints(&["the whole name or the id", "--repo"]);
    }
    // In a repository its own is meant.
    assert_eq!(story.cli.run(&["path", "issue-7"]).ok().stdout.trim_end(), one.text("path"));
    assert_eq!(elsewhere.run(&["--repo", "local/other", "path", "issue-7"]).ok().stdout.trim_end(), two.text("path"));
    assert_eq!(elsewhere.run(&["path", one.text("id")]).ok().stdout.trim_end(), one.text("path"));
}

#[test]
fn a_name_on_the_other_side_of_the_trash_is_told_so() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "7"]);
    refused(&story.cli, 4, &["restore", "issue-7"]).says(&["issue-7 is not in the trash"]);
    story.cli.run(&["rm", "issue-7"]).ok();
    for command in ["path", "why", "rm"] {
        let refusal = refused(&story.cli, 4, &[command, "issue-7"]);
        refusal.says(&["issue-7 is in the trash"]).hints(&[&format!("spinney restore {}", workspace.text("id"))]);
    }
    let shown = story.cli.run(&["show", "issue-7"]).ok();
    assert!(shown.stdout.contains("trashed") && shown.stderr.contains("spinney restore"), "{}", shown.told());
}

#[test]
fn ls_looks_everywhere_outside_of_a_repository() {
    let story = Story::new();
    let other = story.sandbox().repository("other").with_remote();
    story.make(&["--issue", "1"]);
    crate::support::common::make(&story.cli.in_directory(other.path()), &["--task", "Tidy up", "--platform", "slack"]);
    story.make(&["--issue", "2"]);
    story.cli.run(&["rm", "issue-2"]).ok();
    let elsewhere = story.cli.in_directory(story.sandbox().path());
    let names = |cli: &Cli, arguments: &[&str]| {
        let list = cli.run(&[&["ls", "--json"], arguments].concat()).ok().json();
        let name = |row: &Value| row["name"].as_str().unwrap().to_owned();
        list["workspaces"].as_array().unwrap().iter().map(name).collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names(&elsewhere, &[]), set(&["issue-1", "task-tidy-up"]));
    assert_eq!(names(&elsewhere, &["--all"]), set(&["issue-1", "issue-2", "task-tidy-up"]));
    assert_eq!(names(&elsewhere, &["--status", "trashed"]), set(&["issue-2"]));
    assert_eq!(names(&story.cli, &[]), set(&["issue-1"]));
    assert_eq!(names(&elsewhere, &["--repo", "local/other"]), set(&["task-tidy-up"]));
    let table = elsewhere.run(&["ls", "-l"]).ok();
    assert!(table.stderr.starts_with("all repositories: 2 workspaces"), "{}", table.told());
    let row = table.stdout.lines().find(|line| line.starts_with("task-tidy-up")).unwrap();
    assert!(row.contains("slack") && row.ends_with("local/other"), "{row}");
    // An empty repository's list says what to type first.
    let empty = story.sandbox().repository("empty");
    let ran = story.cli.in_directory(empty.path()).run(&["ls"]).ok();
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("spinney new --issue 42"), "{}", ran.told());
}

/// Replaces what differs from run to run.
fn redacted(story: &Story, text: &str) -> String {
    let mut text = text.replace(story.sandbox().path().to_str().unwrap(), "[sandbox]");
    let list = story.cli.run(&["ls", "--all", "--json"]).ok().json();
    for row in list["workspaces"].as_array().unwrap() {
        text = text.replace(row["id"].as_str().unwrap(), "[id]");
        text = text.replace(&row["base_commit"].as_str().unwrap()[..7], "[base]");
        let tip = story.repository.try_git(&["rev-parse", "--short=7", row["branch"].as_str().unwrap()]);
        if tip.status == 0 {
            text = text.replace(tip.stdout.trim_end(), "[tip]");
        }
    }
    text
}

/// Both outputs, redacted.
fn told(story: &Story, ran: &Ran) -> String {
    redacted(story, &format!("{}---\n{}", ran.stdout, ran.stderr))
}

#[test]
fn what_people_see() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42", "--title", "Dark mode", "--platform", "github"]);
    let path = workspace.path();
    fs::write(path.join("README.md"), "# Changed\n").unwrap();
    story.sandbox().git(&path, &["add", "README.md"]);
    story.sandbox().git(&path, &["commit", "--quiet", "--message", "try the other parser"]);
    fs::write(path.join("README.md"), "# Changed again\n").unwrap();
    fs::create_dir(path.join("notes")).unwrap();
    fs::write(path.join("notes/plan.md"), "").unwrap();
    // Ages are of this very second; a slower machine must not fail for that.
    let ages = |text: String| {
        let word = |word: &str| {
            let (age, comma) = word.strip_suffix(',').map_or((word, ""), |age| (age, ","));
            match age.strip_suffix('s').map(str::parse::<u32>) {
                Some(Ok(_)) => format!("0s{comma}"),
                _ => word.to_owned(),
            }
        };
        let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
        text.lines()
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
            .replace("1 s ago", "just now")
            .replace("2 s ago", "just now")
    };
    let see = |arguments: &[&str]| ages(told(&story, &story.cli.run(arguments)));
    insta::assert_snapshot!("ls", see(&["ls"]));
    insta::assert_snapshot!("ls_long", see(&["ls", "-l"]));
    insta::assert_snapshot!("show", see(&["show", "issue-42"]));
    insta::assert_snapshot!("why", see(&["why", "issue-42"]));
    insta::assert_snapshot!("rm_refused", see(&["rm", "issue-42"]));
    insta::assert_snapshot!("rm_partial_consent", see(&["rm", "issue-42", "--allow", "dirty"]));
    let removed = see(&["rm", "issue-42", "--allow", "dirty,untracked,unpushed"]);
    let (before, after) = removed.split_once("until ").unwrap();
    let after = after.split_once(", with").unwrap().1;
    insta::assert_snapshot!("rm", format!("{before}until [date], with{after}"));
    insta::assert_snapshot!("restore", see(&["restore", "issue-42"]));
}

fn is_coloured(text: &str) -> bool {
    text.contains('\u{1b}')
}

#[test]
fn colours_are_for_terminals_and_for_who_asks() {
    let story = Story::new();
    story.make(&["--issue", "42"]);
    let plain = story.cli.run(&["ls"]).ok();
    assert!(!is_coloured(&plain.stdout) && !is_coloured(&plain.stderr), "{}", plain.told());
    assert!(!is_coloured(&story.cli.run(&["show", "nope"]).stderr));
    assert!(is_coloured(&story.cli.run(&["ls", "--color", "always"]).ok().stdout));
    assert!(is_coloured(&story.cli.run(&["show", "nope", "--color", "always"]).stderr));
    assert!(!is_coloured(&story.cli.run(&["ls", "--json", "--color", "always"]).ok().stdout));
    let quiet = story.cli.run(&["ls", "--quiet"]).ok();
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (plain.stdout, ""));
}

/// Runs it on a terminal of its own, by the `script` that every Debian has; gives all that the terminal got.
fn on_terminal(story: &Story, variables: &[(&str, &str)], arguments: &str) -> String {
    let mut script = story.sandbox().cli("/usr/bin/script").in_directory(story.repository.path());
    script = script.with_variable("TERM", "xterm-256color");
    for (name, value) in variables {
        script = script.with_variable(*name, *value);
    }
    script.run(&["--quiet", "--return", "--command", &format!("{BINARY} {arguments}"), "/dev/null"]).stdout
}

#[test]
fn a_terminal_gets_colours_unless_told_otherwise() {
    let story = Story::new();
    story.make(&["--issue", "42"]);
    assert!(is_coloured(&on_terminal(&story, &[], "ls")));
    assert!(!is_coloured(&on_terminal(&story, &[("NO_COLOR", "1")], "ls")));
    assert!(!is_coloured(&on_terminal(&story, &[("TERM", "dumb")], "ls")));
    assert!(!is_coloured(&on_terminal(&story, &[], "ls --color never")));
}

#[test]
fn a_spinner_shows_what_lasts_and_leaves_nothing() {
    let story = Story::new();
    let slow = GitWrapper::new("for a; do if [ \"$a\" = ls-remote ]; then sleep 1; fi; done\nexec \"$GIT\" \"$@\"\n");
    let outer = story.sandbox().environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let path = format!("{}:{}", slow.directory().display(), outer.to_str().unwrap());
    // Each run asks the remote, however short ago the last one did.
    let fetching = [("PATH", path.as_str()), ("SPINNEY_WORKSPACE__FETCH", "require")];
    let seen = on_terminal(&story, &fetching, "new --issue 1");
    let last_of_spinner = seen.rfind("fetching from origin").expect("a spinner");
    let cleared = seen[last_of_spinner..].find("\u{1b}[2K").expect("the spinner is cleared");
    let rest = &seen[last_of_spinner + cleared..];
    assert!(rest.contains("new on `issue-1`") && !rest.contains("fetching"), "{seen:?}");
    let in_ci = on_terminal(&story, &[&fetching[..], &[("CI", "true")]].concat(), "new --issue 2");
    assert!(in_ci.contains("issue-2") && !in_ci.contains("fetching"), "{in_ci:?}");
    let started = Instant::now();
    let quick = on_terminal(&story, &[], "ls -l");
    // A busy machine may well need longer than that.
    assert!(!quick.contains("asking git") || started.elapsed() > Duration::from_millis(500), "{quick:?}");
}

#[test]
fn a_pipe_that_closes_is_no_failure() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
    let ran = shell.run(&["-c", "{ \"$0\" config show; echo $? >&2; } | true", BINARY]).ok();
    assert!(!ran.stderr.contains("panic"), "{}", ran.told());
    assert!(ran.stderr.ends_with("0\n"), "{}", ran.told());
}

#[test]
fn the_same_on_postgresql() {
    let database = postgres_database();
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    let running: Vec<_> = (0..4).map(|_| cli.spawn(&["new", "--issue", "42", "--json"])).collect();
    let made: Vec<_> = running.into_iter().map(|running| running.wait().ok().json()).collect();
    assert!(made.iter().all(|row| row["id"] == made[0]["id"]), "{made:?}");
    assert_eq!(made.iter().filter(|row| row["method"] == "created").count(), 1);
    let path = made[0]["path"].as_str().unwrap();
    fs::write(format!("{path}/new.txt"), "kept").unwrap();
    refused(&cli, 3, &["rm", "issue-42"]).says(&["untracked (1 file)"]);
    let two = [cli.spawn(&["rm", "issue-42", "--force"]), cli.spawn(&["rm", "issue-42", "--force"])];
    let mut two = two.map(Running::wait);
    two.sort_by_key(|ran| ran.status);
    assert_eq!(two[0].status, 0, "{}", two[0].told());
    // Held by the other, or gone by the time it looked.
    assert!([4, 5].contains(&two[1].status), "{}", two[1].told());
    assert!(!fs::exists(path).unwrap());
    assert_eq!(cli.run(&["ls", "--json"]).ok().json()["workspaces"], Value::Array(vec![]));
    cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(fs::read_to_string(format!("{path}/new.txt")).unwrap(), "kept");
    assert_eq!(cli.run(&["ls", "--json"]).ok().json()["workspaces"][0]["status"], "active");
    assert!(!story.sandbox().spinney_home().join("spinney.db").exists());
    assert_eq!(database.query("select status from workspaces"), "active");
    let doctor = cli.run(&["doctor"]).ok().stdout;
    assert!(doctor.contains("PostgreSQL"), "{doctor}");
}
