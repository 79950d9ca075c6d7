//! What happens when a creation fails or dies half way, and when a workspace is damaged from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::common::{Story, make, refused};
use rustix::process::{Pid, Signal, kill_process};
use spinney_testkit::{Cli, GitWrapper, Running, Sandbox, wait_until};

const LONG: Duration = Duration::from_secs(60);

/// The ports that the store has given away.
fn ports(home: &Path) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store =
            spinney_store::Store::open(&spinney_store::StoreUrl::Sqlite(home.join("spinney.db"))).await.unwrap();
        let node = fs::read_to_string(home.join("node")).unwrap().trim().parse().unwrap();
        store.read().await.unwrap().ports(&node).await.unwrap().len()
    })
}

/// A person's configuration with these set-up lines, and all else that can be left over.
fn configure(story: &Story, setup: &[&str]) {
    let lines = serde_json::to_string(setup).unwrap();
    story.sandbox().write_config(&format!("[workspace]\ncopy = [\".env\"]\nports = [\"web\"]\nsetup = {lines}\n"));
    story.change(|repository| repository.write(".env", "SECRET=1").fingerprint());
}

#[track_caller]
fn assert_rolled_back(story: &Story) {
    story.assert_nothing_made();
    let home = story.sandbox().spinney_home();
    assert_eq!(ports(&home), 0, "ports");
    assert_eq!(crate::support::common::files_below(&home.join("links"), 3), Vec::<PathBuf>::new());
    assert_eq!(crate::support::common::files_below(&home.join("trash"), 0), Vec::<PathBuf>::new());
    assert!(!story.repository.path().join(".git/worktrees").exists() || story.worktrees().is_empty());
}

#[test]
fn a_failing_setup_rolls_everything_back() {
    let story = Story::new();
    configure(&story, &["echo made > made.txt", "mkdir -p deep/er && echo x > deep/er/file", "exit 7", "touch never"]);
    story.refused(1, &["--issue", "1"]).says(&["`exit 7`", "status 7"]);
    assert_rolled_back(&story);
    configure(&story, &[]);
    assert_eq!(story.make(&["--issue", "1"]).identity(), ("issue-1", "issue-1", "created"));
    assert_eq!(ports(&story.sandbox().spinney_home()), 1);
}

#[test]
fn what_a_failing_setup_made_read_only_goes_too() {
    let story = Story::new();
    configure(&story, &["mkdir -p a/b && touch a/b/c && chmod -R a-w a", "exit 1"]);
    story.refused(1, &["--issue", "1"]).says(&["`exit 1`"]);
    assert_rolled_back(&story);
}

#[test]
fn a_setup_that_takes_too_long_is_ended_and_rolled_back() {
    let story = Story::new();
    let pid = story.sandbox().path().join("pid");
    configure(&story, &[&format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 600; true", pid.display())]);
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__SETUP_TIMEOUT", "1s");
    refused(&cli, 1, &["new", "--issue", "1"]).says(&["did not end within 1s"]);
    assert_rolled_back(&story);
    let process = Path::new("/proc").join(fs::read_to_string(pid).unwrap().trim());
    wait_until(|| !is_alive(&process), LONG);
}

/// Whether a process runs; one that only waits for its parent to look does not.
fn is_alive(process: &Path) -> bool {
    fs::read_to_string(process.join("status")).is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
fn a_failing_submodule_rolls_everything_back() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let library = sandbox.repository("library");
    repository.add_submodule("libs/one", &library);
    repository.push();
    let story = Story::of(repository);
    fs::rename(library.path(), sandbox.path().join("away")).unwrap();
    story.refused(1, &["--issue", "1"]).says(&["submodule", "libs/one"]);
    assert_rolled_back(&story);
}

#[test]
fn a_file_that_can_not_be_carried_over_rolls_everything_back() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("conf", "a file in this commit").commit("a file");
        repository.push();
        repository.git(&["rm", "--quiet", "conf"]);
        repository.write("conf/.env", "here it is a directory").commit("a directory");
    });
    story.sandbox().write_config("[workspace]\ncopy = [\"conf/.env\"]\n");
    story.refused(1, &["--issue", "1"]).says(&["conf"]);
    assert_rolled_back(&story);
}

#[test]
fn a_failing_checkout_rolls_everything_back() {
    let story = Story::new();
    let git = GitWrapper::failing("reset", 128, "fatal: the disk has a bad day");
    refused(&story.cli.with_path_first(git.directory()), 1, &["new", "--issue", "1"]).says(&["the disk has a bad day"]);
    assert_rolled_back(&story);
}

#[test]
fn the_first_error_is_told_also_when_undoing_fails_and_the_next_command_undoes() {
    let story = Story::new();
    configure(&story, &["exit 7"]);
    let git = GitWrapper::failing("update-ref", 128, "fatal: the second error");
    let refusal = refused(&story.cli.with_path_first(git.directory()), 1, &["new", "--issue", "1"]);
    refusal.says(&["`exit 7`", "status 7"]);
    assert!(!refusal.message().contains("second"), "{}", refusal.message());
    assert!(refusal.0.stderr.contains("the second error"), "{}", refusal.0.stderr);
    assert_eq!(story.branches(), ["issue-1", "main"]);
    story.cli.run(&["ls"]).ok();
    assert_rolled_back(&story);
}

#[test]
fn a_branch_that_was_there_before_survives_the_rollback() {
    let story = Story::new();
    configure(&story, &["exit 7"]);
    story.repository.git(&["branch", "issue-1"]);
    let there = story.remote().advance_branch("feature/there", "there.txt");
    story.refused(1, &["--issue", "1"]).says(&["`exit 7`"]);
    story.refused(1, &["--branch", "feature/there"]).says(&["`exit 7`"]);
    assert_eq!(story.branches(), ["issue-1", "main"]);
    assert_eq!(story.remote().tip("feature/there"), there);
    assert!(story.names().is_empty() && story.worktrees().is_empty());
}

#[test]
fn a_commit_that_setup_made_before_it_failed_is_kept_for_a_person_to_look_at() {
    let story = Story::new();
    configure(&story, &["git commit --quiet --allow-empty --message generated", "exit 7"]);
    story.refused(1, &["--issue", "1"]).says(&["`exit 7`"]);
    let workspace = story.show("issue-1");
    assert_eq!(workspace.text("status"), "broken");
    assert_eq!(story.sandbox().git(workspace.path(), &["log", "-1", "--format=%s"]), "generated");
}

/// Starts `new` with a set-up that says when it runs and then waits, and kills it there. Gives the set-up's process.
fn kill_during_setup(story: &Story, arguments: &[&str]) -> PathBuf {
    let ready = story.sandbox().path().join("ready");
    configure(
        story,
        &[&format!("echo made > made.txt; echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 600; true", ready.display())],
    );
    let running = story.cli.spawn(&[&["new"], arguments].concat());
    wait_until(|| ready.exists(), LONG);
    running.kill();
    Path::new("/proc").join(fs::read_to_string(ready).unwrap().trim())
}

#[test]
fn killed_during_setup_the_next_command_undoes_it_and_the_one_after_finds_nothing_to_do() {
    let story = Story::new();
    let setup = kill_during_setup(&story, &["--issue", "1"]);
    assert_eq!(story.worktrees().len(), 1);
    let next = story.cli.run(&["ls"]).ok();
    assert!(next.stderr.contains("issue-1") && next.stderr.contains("undone"), "{}", next.stderr);
    assert_rolled_back(&story);
    wait_until(|| !is_alive(&setup), LONG);
    let after = story.cli.run(&["ls"]).ok();
    assert!(!after.stderr.contains("undone"), "{}", after.stderr);
    assert_rolled_back(&story);
}

#[test]
fn killed_during_setup_the_same_request_makes_it_anew() {
    let story = Story::new();
    kill_during_setup(&story, &["--issue", "1"]);
    configure(&story, &[]);
    let workspace = story.make(&["--issue", "1"]);
    assert_eq!(workspace.identity(), ("issue-1", "issue-1", "created"));
    assert!(!workspace.path().join("made.txt").exists());
    assert_eq!(story.worktrees(), [workspace.path()]);
    assert_eq!(story.branches(), ["issue-1", "main"]);
}

#[test]
fn interrupted_during_setup_it_is_undone_at_once() {
    let story = Story::new();
    let ready = story.sandbox().path().join("ready");
    configure(&story, &[&format!("touch '{}'; sleep 600; true", ready.display())]);
    let running = story.cli.spawn(&["new", "--issue", "1"]);
    wait_until(|| ready.exists(), LONG);
    kill_process(Pid::from_raw(running.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    running.wait().exits(130);
    assert_rolled_back(&story);
}

/// Starts `new` with a git that stops at a call, before or after it does its work, until the file `go` appears.
fn stopped_at(story: &Story, call: &str, before: bool) -> (GitWrapper, Running) {
    let wait = r#"touch "$HERE/reached"; while [ ! -e "$HERE/go" ]; do sleep 0.02; done"#;
    let act = if before {
        format!(r#"{wait}; exec "$GIT" "$@""#)
    } else {
        format!(r#""$GIT" "$@"; status=$?; {wait}; exit $status"#)
    };
    let git = GitWrapper::new(&format!("case \" $* \" in *' {call} '*) {act} ;; *) exec \"$GIT\" \"$@\" ;; esac\n"));
    let running = story.cli.with_path_first(git.directory()).spawn(&["new", "--issue", "1"]);
    wait_until(|| git.directory().join("reached").exists(), LONG);
    (git, running)
}

#[test]
fn killed_at_any_call_of_git_the_next_command_leaves_nothing() {
    for (call, before) in [("worktree add", true), ("worktree add", false), ("reset", true), ("reset", false)] {
        let story = Story::new();
        let (git, running) = stopped_at(&story, call, before);
        running.kill();
        // The orphaned git goes on, and holds the repository's lock until it has ended.
        let next = story.cli.spawn(&["ls"]);
        fs::write(git.directory().join("go"), "").unwrap();
        next.wait().ok();
        story.cli.run(&["ls"]).ok();
        assert_rolled_back(&story);
        assert_eq!(story.make(&["--issue", "1"]).identity(), ("issue-1", "issue-1", "created"), "{call}");
    }
}

#[test]
fn another_command_leaves_a_creation_alone_whose_process_lives() {
    let story = Story::new();
    let (git, running) = stopped_at(&story, "reset", true);
    let listed = story.cli.run(&["ls", "--json"]).ok();
    assert_eq!(listed.json()["workspaces"][0]["status"], "creating");
    let same = story.cli.spawn(&["new", "--json", "--issue", "1"]);
    fs::write(git.directory().join("go"), "").unwrap();
    let link = PathBuf::from(running.wait().ok().stdout.trim());
    let answer = same.wait().ok().json();
    assert_eq!((answer["link"].as_str(), answer["method"].as_str()), (link.to_str(), Some("reused")));
}

fn commit_in(story: &Story, tree: &Path, file: &str) -> String {
    fs::write(tree.join(file), file).unwrap();
    story.sandbox().git(tree, &["add", "."]);
    story.sandbox().git(tree, &["commit", "--quiet", "--message", file]);
    story.sandbox().git(tree, &["rev-parse", "HEAD"])
}

#[test]
fn a_workspace_whose_directory_vanished_is_made_again_from_its_branch() {
    let story = Story::new();
    let first = story.make(&["--issue", "1"]);
    let tip = commit_in(&story, &first.path(), "work.txt");
    fs::write(first.path().join("staged.txt"), "only staged").unwrap();
    story.sandbox().git(first.path(), &["add", "."]);
    let staged = story.sandbox().git(first.path(), &["rev-parse", ":staged.txt"]);
    fs::rename(first.path(), story.sandbox().path().join("vanished")).unwrap();

    let ran = story.cli.run(&["new", "--issue", "1"]).ok();
    assert!(ran.stderr.contains("continues the branch `issue-1`"), "{}", ran.stderr);
    let again = story.show("issue-1");
    assert_eq!((again.text("id"), again.path()), (first.text("id"), first.path()));
    assert_eq!(again.text("status"), "active");
    assert_eq!(again.text("base_commit"), first.text("base_commit"));
    assert_eq!(story.sandbox().git(again.path(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(fs::read_to_string(again.path().join("work.txt")).unwrap(), "work.txt");
    // What only the vanished tree's index named outlives a garbage collection.
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(story.repository.git(&["cat-file", "-p", &staged]), "only staged");
}

#[test]
fn a_lost_workspace_whose_branch_is_gone_too_starts_where_it_once_did() {
    let story = Story::new();
    let first = story.make(&["--issue", "1"]);
    fs::rename(first.path(), story.sandbox().path().join("vanished")).unwrap();
    story.repository.git(&["update-ref", "-d", "refs/heads/issue-1"]);
    let again = story.make(&["--issue", "1"]);
    assert_eq!(story.sandbox().git(again.path(), &["rev-parse", "HEAD"]), first.text("base_commit"));
}

#[test]
fn a_setup_that_fails_when_a_lost_workspace_is_made_again_leaves_it_lost_with_its_branch() {
    let story = Story::new();
    let first = story.make(&["--issue", "1"]);
    let tip = commit_in(&story, &first.path(), "work.txt");
    fs::rename(first.path(), story.sandbox().path().join("vanished")).unwrap();
    configure(&story, &["exit 7"]);
    story.refused(1, &["--issue", "1"]).says(&["`exit 7`"]);
    assert_eq!(story.show("issue-1").text("status"), "lost");
    assert_eq!(story.repository.git(&["rev-parse", "issue-1"]), tip);
    configure(&story, &[]);
    let again = story.make(&["--issue", "1"]);
    assert_eq!(story.sandbox().git(again.path(), &["rev-parse", "HEAD"]), tip);
}

#[test]
fn while_the_disk_of_the_trees_is_not_mounted_nothing_is_judged_lost() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    let root = workspace.path().parent().unwrap().to_owned();
    let away = story.sandbox().path().join("unmounted");
    let statuses = || {
        let list = story.cli.run(&["ls", "--all", "--json"]).ok().json();
        list["workspaces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["status"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    fs::rename(&root, &away).unwrap();
    for mount_point in [false, true] {
        if mount_point {
            fs::create_dir(&root).unwrap();
        }
        story.refused(1, &["--issue", "1"]).says(&[root.to_str().unwrap(), "is its disk mounted?"]);
        // A new one beside it would mark the empty mount point as a whole tree root.
        story.refused(1, &["--issue", "2"]).says(&[root.to_str().unwrap(), "is its disk mounted?"]);
        refused(&story.cli, 3, &["rm", "issue-1"]).says(&["unverifiable"]);
        assert_eq!(statuses(), ["active"]);
    }
    assert_eq!(root.read_dir().unwrap().count(), 0);
    fs::remove_dir(&root).unwrap();
    fs::rename(&away, &root).unwrap();
    assert_eq!(story.make(&["--issue", "1"]).identity(), ("issue-1", "issue-1", "reused"));
    assert_eq!(story.branches(), ["issue-1", "main"]);
}

#[test]
fn a_damaged_git_file_is_a_clear_error_and_nothing_changes() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    let tree = workspace.path();
    fs::write(tree.join("work.txt"), "work").unwrap();
    let pointer = fs::read(tree.join(".git")).unwrap();
    for damage in ["", "garbage", "gitdir: /nowhere\n", "gitdir: ../../../../..\n"] {
        fs::write(tree.join(".git"), damage).unwrap();
        let refusal = story.refused(1, &["--issue", "1"]);
        refusal.says(&[tree.to_str().unwrap()]);
        refused(&story.cli, 3, &["rm", "issue-1"]).says(&["unverifiable"]);
        assert_eq!(fs::read_to_string(tree.join(".git")).unwrap(), damage);
        assert_eq!(fs::read_to_string(tree.join("work.txt")).unwrap(), "work");
        let listed = story.cli.run(&["ls", "--json"]).ok().json();
        assert_eq!(listed["workspaces"][0]["status"], "active");
    }
    fs::write(tree.join(".git"), pointer).unwrap();
    assert_eq!(story.make(&["--issue", "1"]).text("method"), "reused");
}

#[test]
fn a_file_where_the_directory_was_is_not_touched() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    fs::rename(workspace.path(), story.sandbox().path().join("vanished")).unwrap();
    fs::write(workspace.path(), "somebody's file").unwrap();
    story.refused(1, &["--issue", "1"]).says(&[workspace.text("path")]);
    assert_eq!(fs::read_to_string(workspace.path()).unwrap(), "somebody's file");
}

#[test]
fn many_requests_after_a_kill_agree_on_one_workspace() {
    let story = Story::new();
    kill_during_setup(&story, &["--issue", "1"]);
    configure(&story, &[]);
    let cli: &Cli = &story.cli;
    let running: Vec<_> = (0..6).map(|_| cli.spawn(&["new", "--issue", "1"])).collect();
    let mut paths: Vec<_> = running.into_iter().map(|one| one.wait().ok().stdout).collect();
    paths.dedup();
    assert_eq!(paths.len(), 1, "{paths:?}");
    assert_eq!(make(cli, &["--issue", "1"]).text("method"), "reused");
    assert_eq!(story.worktrees().len(), 1);
}
