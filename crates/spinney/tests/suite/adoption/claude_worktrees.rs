//! Claude Code's own worktrees are workspaces: its hooks, with the inputs that it really sends, and the program itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::common::{BINARY, Story};
use serde_json::{Value, json};
use spinney_testkit::{AgentCli, Cli, Ran, StubModel, wait_until};

/// What Claude Code 2.1 sends, but for the paths.
fn create_input(story: &Story, name: &str) -> Value {
    json!({
        "session_id": "06446cb3-d4e7-4514-b579-ba83ef93fbac",
        "transcript_path": "/home/person/.claude/projects/-app/06446cb3-d4e7-4514-b579-ba83ef93fbac.jsonl",
        "cwd": story.repository.path(),
        "hook_event_name": "WorktreeCreate",
        "name": name,
    })
}

fn remove_input(story: &Story, path: &Path) -> Value {
    json!({
        "session_id": "06446cb3-d4e7-4514-b579-ba83ef93fbac",
        "transcript_path": "/home/person/.claude/projects/-app/06446cb3-d4e7-4514-b579-ba83ef93fbac.jsonl",
        "cwd": story.repository.path(),
        "prompt_id": "a field that came later",
        "hook_event_name": "WorktreeRemove",
        "worktree_path": path,
    })
}

/// A shell with the program first on its path, as a hook has it.
fn shell(story: &Story) -> Cli {
    let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
    shell.with_path_first(Path::new(BINARY).parent().unwrap())
}

/// Runs a hook with a text on its stdin.
fn hook_with(story: &Story, hook: &str, input: &str) -> Ran {
    let file = story.sandbox().path().join("input.json");
    fs::write(&file, input).unwrap();
    shell(story).run(&["-c", "exec spinney hook \"$1\" < \"$2\"", "hook", hook, file.to_str().unwrap()])
}

fn create(story: &Story, name: &str) -> Ran {
    hook_with(story, "worktree-create", &create_input(story, name).to_string())
}

fn remove(story: &Story, path: &Path) -> Ran {
    hook_with(story, "worktree-remove", &remove_input(story, path).to_string())
}

/// The path that a WorktreeCreate answered, which is all of its stdout.
#[track_caller]
fn path(ran: Ran) -> PathBuf {
    let ran = ran.ok();
    let path = PathBuf::from(ran.stdout.strip_suffix('\n').unwrap());
    assert!(path.is_absolute() && path.join(".git").is_file(), "{}", ran.told());
    path
}

#[test]
fn a_worktree_is_the_workspace_of_the_task_it_is_named_after() {
    let story = Story::new();
    let made = create(&story, "Dark.mode/first_try");
    assert!(made.stderr.contains("new on `task-dark-mode-first-try` from `origin/main`"), "{}", made.told());
    let made = path(made);
    let shown = story.show("task-dark-mode-first-try");
    assert_eq!((shown.path(), shown.text("title")), (made.clone(), "Dark.mode/first_try"));

    let again = create(&story, "Dark.mode/first_try");
    assert!(again.stderr.contains("already here"), "{}", again.told());
    assert_eq!(path(again), made);
}

#[test]
fn the_name_of_a_workspace_means_that_workspace() {
    let story = Story::new();
    let issue = story.make(&["--issue", "42"]);
    assert_eq!(path(create(&story, "issue-42")), issue.path());
    assert_eq!(story.names(), ["issue-42"]);
    // From within a workspace, the main repository is meant all the same.
    let mut input = create_input(&story, "helper");
    input["cwd"] = json!(issue.path());
    path(hook_with(&story, "worktree-create", &input.to_string()));
    assert_eq!(story.names(), ["issue-42", "task-helper"]);
}

#[test]
fn a_create_that_fails_prints_no_path() {
    let story = Story::new();
    let other = path(create(&story, "one"));
    fs::write(other.join("work"), "not committed").unwrap();
    story.sandbox().write_config("[limits]\nmax_workspaces = 1\n");
    let blocked = create(&story, "too-many").exits(3);
    assert_eq!(blocked.stdout, "");
    assert!(blocked.stderr.starts_with("error: "), "{}", blocked.told());

    let nameless = create(&story, "///").exits(2);
    assert!(nameless.stderr.contains("has no letter or digit"), "{}", nameless.told());
    let mut elsewhere = create_input(&story, "x");
    elsewhere["cwd"] = json!(story.sandbox().path());
    hook_with(&story, "worktree-create", &elsewhere.to_string()).exits(4);
    assert_eq!(story.names(), ["task-one"]);
}

#[test]
fn an_input_that_is_not_understood_makes_nothing() {
    let story = Story::new();
    let flood = format!("{{\"name\": \"{}\"}}", "x".repeat(2 * 1024 * 1024));
    let swapped = remove_input(&story, story.repository.path()).to_string();
    let other_event = json!({ "hook_event_name": "SessionStart", "name": "x" }).to_string();
    let inputs = [
        "",
        "not json",
        "[]",
        "{\"name\": \"x\"}",
        "{\"hook_event_name\": \"WorktreeCreate\"}",
        &flood,
        &swapped,
        &other_event,
    ];
    for input in inputs {
        let refused = hook_with(&story, "worktree-create", input).exits(2);
        assert_eq!(refused.stdout, "");
        assert!(refused.stderr.contains("spinney init --claude"), "{}", refused.told());
    }
    hook_with(&story, "worktree-remove", &create_input(&story, "x").to_string()).exits(2);
    story.assert_nothing_made();
}

#[test]
fn the_end_of_the_input_is_not_waited_for() {
    let story = Story::new();
    let input = story.sandbox().path().join("input.json");
    fs::write(&input, create_input(&story, "open-pipe").to_string()).unwrap();
    let line = "mkfifo \"$2\"; { cat \"$1\"; exec sleep 60; } > \"$2\" & \
        spinney hook worktree-create < \"$2\"; status=$?; kill $!; exit $status";
    let pipe = story.sandbox().path().join("pipe");
    let started = Instant::now();
    path(shell(&story).run(&["-c", line, "hook", input.to_str().unwrap(), pipe.to_str().unwrap()]));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn only_what_nobody_could_miss_is_removed() {
    let story = Story::new();
    let tree = path(create(&story, "work"));
    fs::write(tree.join("untracked"), "work").unwrap();
    let kept = remove(&story, &tree).exits(3);
    assert_eq!(kept.stdout, "");
    for text in ["untracked", "the workspace stays", "spinney why task-work"] {
        assert!(kept.stderr.contains(text), "{}", kept.told());
    }
    story.sandbox().git(&tree, &["add", "--all"]);
    story.sandbox().git(&tree, &["commit", "--quiet", "--message", "work"]);
    assert!(remove(&story, &tree).exits(3).stderr.contains("unpushed"));
    assert_eq!(fs::read_to_string(tree.join("untracked")).unwrap(), "work");

    story.sandbox().git(&tree, &["push", "--quiet", "origin", "HEAD"]);
    let gone = remove(&story, &tree).ok();
    assert!(gone.stderr.contains("task-work is in the trash") && !tree.exists(), "{}", gone.told());
    assert!(remove(&story, &tree).ok().stderr.contains("was removed before"));
    story.cli.run(&["restore", "task-work"]).ok();
    assert_eq!(fs::read_to_string(tree.join("untracked")).unwrap(), "work");
}

#[test]
fn what_a_sweep_must_leave_is_left() {
    let story = Story::new();
    let pinned = path(create(&story, "pinned"));
    story.cli.run(&["pin", "task-pinned"]).ok();
    assert!(remove(&story, &pinned).exits(3).stderr.contains("pinned"));
    let used = path(create(&story, "used"));
    let mut process = story.sandbox().command("sleep").arg("60").current_dir(&used).spawn().unwrap();
    assert!(remove(&story, &used).exits(5).stderr.contains("in_use"), "a process works in it");
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(pinned.is_dir() && used.is_dir());
}

#[test]
fn what_is_no_workspace_is_refused() {
    let story = Story::new();
    let tree = path(create(&story, "work"));
    let foreign = story.foreign_worktree("foreign", "foreign");
    fs::create_dir(tree.join("below")).unwrap();
    for path in
        [story.repository.path(), &foreign, &tree.join("below"), tree.parent().unwrap(), Path::new("/"), Path::new("")]
    {
        let refused = remove(&story, path).exits(4);
        assert!(refused.stderr.contains("no workspace of Spinney"), "{}", refused.told());
    }
    assert!(foreign.is_dir() && tree.is_dir());
}

#[test]
fn the_settings_are_written_once_and_keep_what_else_they_say() {
    let story = Story::new();
    let file = story.repository.path().join(".claude/settings.json");
    let init = || story.change(|_| story.cli.run(&["init", "--claude", "--json"]));
    let first = init().ok().json();
    assert_eq!(first, json!({ "path": file, "written": true, "to_commit": [".claude/settings.json"] }));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(init().ok().json()["written"], false);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let own = "{\n    \"permissions\": {\"allow\": [\"Bash(ls)\"]},\n    \"model\": \"opus\"\n}\n";
    story.change(|_| fs::write(&file, own).unwrap());
    let told = story.change(|_| story.cli.run(&["init", "--claude"])).ok();
    assert_eq!(told.stdout, format!("{}\n", file.display()));
    assert!(told.stderr.contains("`claude --worktree NAME` now works in a workspace"), "{}", told.told());
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("{\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]},\n  \"model\": \"opus\",\n  \"hooks\""),
        "{text}"
    );

    for broken in ["{ // mine\n}", "{\"hooks\": {\"WorktreeCreate\": [{\"hooks\": [{\"command\": \"mine.sh\"}]}]}}"] {
        story.change(|_| fs::write(&file, broken).unwrap());
        assert!(init().exits(2).stderr.contains("stays as it is"));
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
    assert!(!story.repository.path().join("spinney.toml").exists());
}

/// What `init --claude` says, and the paths that it says are to be committed.
#[track_caller]
fn init(story: &Story) -> (String, Value) {
    let told = story.change(|_| story.cli.run(&["init", "--claude"])).ok().stderr;
    (told, story.change(|_| story.cli.run(&["init", "--claude", "--json"])).ok().json()["to_commit"].clone())
}

/// Whether a file has both hooks.
fn has_hooks(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    ["WorktreeCreate", "WorktreeRemove"].iter().all(|event| text.contains(event))
}

#[test]
fn new_workspaces_have_the_hooks_before_they_are_committed() {
    let story = Story::new();
    let (told, to_commit) = init(&story);
    assert!(told.contains("commit `.claude/settings.json`, so that it is in `origin/main`"), "{told}");
    assert_eq!(to_commit, json!([".claude/settings.json"]));
    assert_eq!(story.repository.git(&["status", "--porcelain"]), "?? .claude/", "nothing else is to be committed");

    let tree = story.make(&["--task", "one"]).path();
    assert!(has_hooks(&tree.join(".claude/settings.local.json")) && !tree.join(".claude/settings.json").exists());
    // No commit of an agent takes the copy along, and the copy keeps no workspace.
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), "");
    remove(&story, &tree).ok();

    story.change(|repository| {
        repository.git(&["add", ".claude/settings.json"]);
        repository.commit("Claude Code works in workspaces");
        repository.push();
    });
    let (told, to_commit) = init(&story);
    assert!(told.contains("`origin/main` has them"), "{told}");
    assert_eq!(to_commit, json!([]));
    assert!(has_hooks(&story.make(&["--task", "two"]).path().join(".claude/settings.json")));
}

#[test]
fn settings_that_git_ignores_are_copied_into_new_workspaces() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitignore", "/target/\n.claude/\n");
        repository.commit("ignore");
        repository.push();
    });
    let (told, to_commit) = init(&story);
    assert!(told.contains("git ignores this file: new workspaces get a copy of it"), "{told}");
    assert_eq!(to_commit, json!([]));
    let tree = story.make(&["--task", "one"]).path();
    assert!(has_hooks(&tree.join(".claude/settings.json")) && !tree.join(".claude/settings.local.json").exists());
}

#[test]
fn what_a_person_allowed_in_one_checkout_is_allowed_in_no_other() {
    let story = Story::new();
    let own = "{\"permissions\": {\"allow\": [\"Bash(rm:*)\"]}}";
    story.change(|repository| {
        repository.write(".claude/settings.local.json", own);
    });
    let (told, to_commit) = init(&story);
    assert!(told.contains("until then new workspaces have no hooks"), "{told}");
    assert_eq!(to_commit, json!([".claude/settings.json"]));
    assert_eq!(fs::read_to_string(story.repository.path().join(".claude/settings.local.json")).unwrap(), own);
    assert!(!story.make(&["--task", "one"]).path().join(".claude").exists());
}

#[test]
fn worktrees_of_subagents_make_room_for_the_next() {
    let story = Story::new();
    init(&story);
    story.sandbox().write_config("[limits]\nmax_workspaces = 2\n[cleanup]\nidle_after = \"1s\"\n");
    let name = |number: u32| format!("agent-a93c61f{number}");
    path(create(&story, &name(1)));
    let kept = path(create(&story, &name(2)));
    fs::write(kept.join("result.txt"), "work").unwrap();
    for (number, gone) in [(3, 1), (4, 3)] {
        // What has just been made is not idle yet.
        wait_until(|| create(&story, &name(number)).status == 0, Duration::from_secs(30));
        for (number, status) in [(gone, "trashed"), (2, "active"), (number, "active")] {
            assert_eq!(story.show(&format!("task-{}", name(number))).text("status"), status);
        }
    }
    assert!(kept.join("result.txt").is_file());
}

/// Claude Code in the main checkout, with our settings.
struct Claude {
    model: StubModel,
    cli: Cli,
}

impl Claude {
    /// None where it is not installed.
    fn new(story: &Story) -> Option<Self> {
        let claude = AgentCli::claude()?;
        story.change(|_| story.cli.run(&["init", "--claude"])).ok();
        let model = StubModel::start();
        let cli = story.sandbox().cli(claude.program()).in_directory(story.repository.path());
        let cli = cli.with_path_first(Path::new(BINARY).parent().unwrap());
        let variables = claude.environment(&model, &story.sandbox().home());
        let cli = variables.into_iter().fold(cli, |cli, (name, value)| cli.with_variable(name, value));
        Some(Self { model, cli })
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], prompt: &str) -> Ran {
        self.run_by(&self.cli, arguments, prompt)
    }

    #[track_caller]
    fn run_by(&self, cli: &Cli, arguments: &[&str], prompt: &str) -> Ran {
        let permissions = ["--permission-mode", "acceptEdits", "--allowedTools=EnterWorktree,ExitWorktree"];
        cli.run(&[&["-p", prompt], arguments, &permissions].concat())
    }

    /// Whether a tool's answer, or anything else, told the model so.
    fn was_told(&self, text: &str) -> bool {
        self.model.requests().iter().any(|request| request.mentions(text))
    }
}

#[test]
fn claude_works_in_the_workspace_that_it_was_given() {
    let story = Story::new();
    let Some(claude) = Claude::new(&story) else { return };
    let ran = claude.run(&["--worktree", "dark-mode"], "STUB:WRITE hello.txt from claude").ok();
    assert!(ran.stdout.starts_with("done"), "{}", ran.told());
    let tree = story.show("task-dark-mode").path();
    assert_eq!(fs::read_to_string(tree.join("hello.txt")).unwrap(), "from claude\n");
    // At the end of such a run nothing is removed, and the next one finds the same workspace.
    claude.run(&["--worktree", "dark-mode"], "STUB:WRITE again.txt once more").ok();
    assert_eq!(fs::read_to_string(tree.join("again.txt")).unwrap(), "once more\n");
    assert_eq!(story.names(), ["task-dark-mode"]);
}

#[test]
fn claude_says_why_it_gets_no_workspace() {
    let story = Story::new();
    let Some(claude) = Claude::new(&story) else { return };
    let other = story.make(&["--task", "one"]).path();
    fs::write(other.join("work"), "not committed").unwrap();
    story.sandbox().write_config("[limits]\nmax_workspaces = 1\n");
    let ran = claude.run(&["--worktree", "dark-mode"], "STUB:WRITE hello.txt nowhere").exits(1);
    assert!(ran.stderr.contains("has 1 active workspaces (limit 1)"), "{}", ran.told());
    assert_eq!(claude.model.requests().len(), 0, "it must not work anywhere else");
}

#[test]
fn claude_removes_only_what_nobody_could_miss() {
    let story = Story::new();
    let Some(claude) = Claude::new(&story) else { return };
    let leave = "STUB:CALL ExitWorktree {\"action\":\"remove\",\"discard_changes\":true}";
    claude.run(&[], &format!("STUB:CALL EnterWorktree {{\"name\":\"empty\"}}\n{leave}")).ok();
    let row = story.show("task-empty");
    assert_eq!(row.text("status"), "trashed");
    assert!(!row.path().exists());

    let prompt = format!("STUB:CALL EnterWorktree {{\"name\":\"work\"}}\nSTUB:WRITE hello.txt work\n{leave}");
    let ran = claude.run(&[], &prompt).ok();
    let row = story.show("task-work");
    assert_eq!(row.text("status"), "active", "{}", ran.told());
    assert_eq!(fs::read_to_string(row.path().join("hello.txt")).unwrap(), "work\n");
    assert!(claude.was_told("could not remove it"), "{}", ran.told());
}

#[test]
fn claude_has_the_hooks_in_a_workspace() {
    let story = Story::new();
    let Some(claude) = Claude::new(&story) else { return };
    let tree = story.make(&["--task", "outer"]).path();
    let there = claude.cli.in_directory(&tree);
    let leave = "STUB:CALL ExitWorktree {\"action\":\"remove\",\"discard_changes\":true}";
    claude.run_by(&there, &[], &format!("STUB:CALL EnterWorktree {{\"name\":\"inner\"}}\n{leave}")).ok();
    assert_eq!(story.show("task-inner").text("status"), "trashed");
    assert!(!tree.join(".claude/worktrees").exists(), "Claude Code made none of its own");
}
