//! Sweeps: what goes, what stays and why, what fails; and what they may free without removing anything.

use std::fs::{self, File};
use std::path::Path;

use crate::support::common::{Story, refused};
use crate::support::lost::Work;
use crate::support::lost::work::codes;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use spinney_testkit::{Cli, Sandbox};

/// Everything is stale at once; what is younger by its files is so by a time to come.
const EAGER: &str = "[cleanup]\nstale_after = \"1ms\"\n";

#[track_caller]
fn cleanup(cli: &Cli, arguments: &[&str]) -> Report {
    Report(cli.run(&[&["cleanup", "--json"], arguments].concat()).ok().json())
}

#[derive(Debug)]
struct Report(Value);

impl Report {
    #[track_caller]
    fn removed(&self) -> Vec<String> {
        let mut names: Vec<_> = self.rows("removed").iter().map(|row| text(&row["name"])).collect();
        names.sort();
        names
    }

    /// Names with the codes of what kept them.
    #[track_caller]
    fn kept(&self) -> Vec<(String, Vec<String>)> {
        let row = |row: &Value| (text(&row["workspace"]["name"]), codes(&row["reasons"]));
        let mut kept: Vec<_> = self.rows("kept").iter().map(row).collect();
        kept.sort();
        kept
    }

    #[track_caller]
    fn rows(&self, key: &str) -> &[Value] {
        self.0[key].as_array().unwrap()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn kept(name: &str, codes: &[&str]) -> (String, Vec<String>) {
    (name.to_owned(), codes.iter().map(|code| (*code).to_owned()).collect())
}

/// A workspace whose branch the remote has merged; nobody here has fetched that yet.
fn merged(story: &Story, issue: &str) -> Work {
    let work = Work::new(story, issue);
    work.commit(&format!("{issue}.txt"), "merged");
    work.push();
    story.remote().merge(&work.name);
    work
}

fn status(story: &Story, name: &str) -> String {
    story.show(name).text("status").to_owned()
}

/// Makes every file of a workspace, and git's record of it, as old or as new as `touch` says.
#[track_caller]
fn touch(work: &Work, when: &str) {
    for place in [&work.path, &work.admin_dir()] {
        let script = "find \"$0\" -exec touch --no-dereference --date \"$1\" {} +";
        work.sandbox().cli("/bin/sh").run(&["-c", script, place.to_str().unwrap(), when]).ok();
    }
}

#[test]
fn what_is_merged_goes_and_what_is_open_stays_with_its_reasons() {
    let story = Story::new();
    merged(&story, "1");
    let squashed = Work::new(&story, "2");
    squashed.commit("a.txt", "a");
    squashed.commit("b.txt", "b");
    squashed.push();
    story.remote().squash_merge("issue-2");
    let dirty = merged(&story, "3");
    dirty.write("README.md", "edited");
    dirty.write("new.txt", "new");
    let open = Work::new(&story, "4");
    open.commit("open.txt", "open");
    Work::new(&story, "5");

    let dry = cleanup(&story.cli, &["merged", "--dry-run"]);
    assert_eq!((dry.removed(), &dry.0["dry_run"]), (vec!["issue-1".to_owned(), "issue-2".to_owned()], &json!(true)));
    let report = cleanup(&story.cli, &["merged"]);
    assert_eq!(report.removed(), ["issue-1", "issue-2"]);
    let expected = [kept("issue-3", &["dirty", "untracked"]), kept("issue-4", &["unpushed", "unmerged"])];
    assert_eq!(report.kept(), expected);
    assert_eq!(report.rows("failed"), &[] as &[Value]);
    for row in report.rows("removed") {
        assert_eq!(row["status"], "trashed");
        assert!(!row["why"].as_str().unwrap().is_empty());
    }
    assert!(dirty.path.is_dir() && open.path.is_dir());
    assert_eq!(status(&story, "issue-5"), "active", "unstarted is not merged");
    assert_eq!(story.branches(), ["issue-3", "issue-4", "issue-5", "main"]);
    assert_eq!(cleanup(&story.cli, &["merged"]).removed(), Vec::<String>::new());
    for name in ["issue-1", "issue-2"] {
        story.cli.run(&["restore", name]).ok();
    }
    // For people: what went and why, what stays and why.
    let told = story.cli.run(&["cleanup"]).ok();
    assert!(
        told.stdout.contains("removed issue-1: ") && told.stdout.contains("kept issue-3: dirty (1 file), "),
        "{told:?}"
    );
    assert!(told.stderr.contains("2 workspaces"), "{told:?}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let story = Story::new();
    story.sandbox().write_config(EAGER);
    let (one, two) = (merged(&story, "1"), Work::new(&story, "2"));
    two.write("target/app", "built");
    story.foreign_worktree("theirs", "feature");
    story.cli.run(&["repo", "sync"]).ok();
    // Whoever asks git notes that a branch was pushed by hand.
    story.cli.run(&["ls", "-l"]).ok();
    let state = || {
        let rows = story.cli.run(&["ls", "--all", "--json"]).ok().stdout;
        let refs = story.repository.git(&["for-each-ref"]);
        (rows, refs, story.worktrees(), crate::support::lost::work::files(&two.path), one.path.is_dir())
    };
    let before = state();
    for what in ["merged", "stale", "orphans", "caches", "all"] {
        cleanup(&story.cli, &[what, "--dry-run"]);
        assert_eq!(state(), before, "{what}");
    }
}

#[test]
fn stale_is_what_neither_row_nor_commits_nor_files_moved_in() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let stale = |after: &str| {
        let cli = story.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", after);
        cleanup(&cli, &["stale", "--dry-run"]).removed() == ["issue-1"]
    };
    touch(&work, "2 days ago");
    assert!(!stale("1d"), "the row is fresh: somebody asked for it just now");
    assert!(stale("1ms"));
    assert!(!stale("0"), "turned off");
    // Each alone keeps it: a file, a file deep down, what git logs.
    for path in ["README.md", "src/lib.rs", "docs"] {
        let file = work.path.join(path);
        let set = |when: &str| work.sandbox().cli("/bin/touch").run(&["--date", when, file.to_str().unwrap()]).ok();
        set("1 hour");
        assert!(!stale("1ms"), "{path}");
        set("2 days ago");
    }
    touch(&work, "2 days ago");
    assert!(stale("1ms"));
    let log = work.admin_dir().join("logs/HEAD");
    let set = |when: &str| work.sandbox().cli("/bin/touch").run(&["--date", when, log.to_str().unwrap()]).ok();
    set("1 hour");
    assert!(!stale("1ms"), "a commit");
    set("2 days ago");
    // A cache that something rebuilds is nobody's work.
    work.write("target/debug/app", "built");
    touch(&work, "2 days ago");
    let built = work.path.join("target/debug/app");
    work.sandbox().cli("/bin/touch").run(&["--date", "1 hour", built.to_str().unwrap()]).ok();
    assert!(stale("1ms"));
}

#[test]
fn what_is_stale_goes_unless_it_holds_work() {
    let story = Story::new();
    let (quiet, held, pushed) = (Work::new(&story, "1"), Work::new(&story, "2"), Work::new(&story, "3"));
    held.commit("a.txt", "a");
    pushed.commit("b.txt", "b");
    pushed.push();
    story.sandbox().write_config(EAGER);
    let report = cleanup(&story.cli, &["stale"]);
    assert_eq!(report.removed(), ["issue-1", "issue-3"]);
    assert_eq!(report.kept(), [kept("issue-2", &["unpushed"])]);
    assert!(!quiet.path.exists() && held.path.is_dir());
    assert_eq!(story.branches(), ["issue-2", "issue-3", "main"], "an unmerged branch stays");
}

#[test]
fn what_is_older_than_max_age_goes_although_it_moves() {
    let story = Story::new();
    let (work, held) = (Work::new(&story, "1"), Work::new(&story, "2"));
    held.write("new.txt", "");
    touch(&work, "1 hour");
    let old = story.cli.with_variable("SPINNEY_CLEANUP__MAX_AGE", "1ms");
    let report = cleanup(&old, &["stale"]);
    assert_eq!(report.removed(), ["issue-1"]);
    assert_eq!(report.kept(), [kept("issue-2", &["untracked"])]);
}

#[test]
fn lasting_platforms_are_left_out_of_every_sweep() {
    let story = Story::new();
    story.sandbox().write_config(EAGER);
    let work = Work::of(&story, &story.make(&["--issue", "1", "--platform", "telegram"]));
    work.commit("a.txt", "a");
    work.push();
    story.remote().merge("issue-1");
    let old = story.cli.with_variable("SPINNEY_CLEANUP__MAX_AGE", "1ms");
    for what in ["merged", "stale", "all"] {
        assert_eq!(cleanup(&old, &[what]).removed(), Vec::<String>::new(), "{what}");
    }
    let full = story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "1");
    refused(&full, 3, &["new", "--issue", "2"]);
    assert!(work.path.is_dir());
    let none = story.cli.with_variable("SPINNEY_CLEANUP__PERSISTENT_PLATFORMS", "slack");
    assert_eq!(cleanup(&none, &["merged"]).removed(), ["issue-1"]);
}

#[test]
fn pinned_shared_adopted_and_running_stay() {
    let story = Story::new();
    story.sandbox().write_config(EAGER);
    merged(&story, "1");
    story.cli.run(&["pin", "issue-1"]).ok();
    merged(&story, "2");
    story.make(&["--pr", "7", "--links", "2"]);
    let theirs = story.foreign_worktree("theirs", "feature");
    story.cli.run(&["adopt", theirs.to_str().unwrap()]).ok();
    let running = merged(&story, "4");
    let process = story.sandbox().cli("/bin/sleep").in_directory(&running.path).spawn(&["1000"]);
    let old = story.cli.with_variable("SPINNEY_CLEANUP__MAX_AGE", "1ms");
    let report = cleanup(&old, &["all"]);
    assert_eq!(report.removed(), Vec::<String>::new());
    let expected = [
        kept("issue-1", &["pinned"]),
        kept("issue-2", &["shared"]),
        kept("issue-4", &["in_use"]),
        kept("task-feature", &["adopted"]),
    ];
    assert_eq!(report.kept(), expected);
    drop(process);
    story.cli.run(&["unpin", "issue-1"]).ok();
    let takes = story.cli.with_variable("SPINNEY_CLEANUP__ADOPTED", "true");
    assert_eq!(cleanup(&takes, &["all"]).removed(), ["issue-1", "issue-4", "task-feature"]);
    assert!(!theirs.exists() && story.branches().contains(&"feature".to_owned()), "their branch stays theirs");
    story.cli.run(&["restore", "task-feature"]).ok();
    assert!(theirs.join("README.md").is_file());
}

#[test]
fn one_failure_does_not_stop_the_sweep_and_is_tried_again() {
    let story = Story::new();
    let (one, two, three) = (merged(&story, "1"), merged(&story, "2"), merged(&story, "3"));
    // Something is in the way of one of them.
    let obstacle = story.sandbox().spinney_home().join("trash").join(&two.id);
    fs::create_dir_all(obstacle.join("in the way")).unwrap();
    let ran = story.cli.run(&["cleanup", "merged", "--json"]).exits(1);
    let report = Report(ran.json());
    assert_eq!(report.removed(), ["issue-1", "issue-3"], "{}", ran.told());
    assert_eq!(report.rows("failed").len(), 1);
    assert_eq!(report.rows("failed")[0]["name"], "issue-2");
    assert!(!report.rows("failed")[0]["error"].as_str().unwrap().is_empty());
    assert!(!one.path.exists() && two.path.join("README.md").is_file() && !three.path.exists());
    let shown = story.show("issue-2");
    assert_eq!(shown.text("status"), "broken");
    assert!(!shown.text("error").is_empty(), "the row says why");
    fs::rename(&obstacle, story.sandbox().path().join("aside")).unwrap();
    story.cli.run(&["cleanup", "merged"]).ok();
    assert_eq!(status(&story, "issue-2"), "trashed");
    story.cli.run(&["restore", "issue-2"]).ok();
    assert_eq!(two.git(&["status", "--porcelain"]), "");
}

#[test]
fn one_repository_that_is_gone_does_not_stop_the_others() {
    let sandbox = Sandbox::new();
    let other = sandbox.repository("other").with_remote();
    let story = Story::of(sandbox.repository("app").with_remote());
    merged(&story, "1");
    story.cli.in_directory(other.path()).run(&["new", "--issue", "1"]).ok();
    fs::rename(other.path(), sandbox.path().join("moved")).unwrap();
    let ran = story.cli.in_directory(sandbox.path()).run(&["cleanup", "merged", "--json"]).exits(1);
    let report = Report(ran.json());
    assert_eq!(report.removed(), ["issue-1"]);
    assert_eq!(report.rows("failed")[0]["name"], "local/other");
    fs::rename(sandbox.path().join("moved"), other.path()).unwrap();
}

#[test]
fn a_second_sweeper_leaves() {
    let story = Story::new();
    merged(&story, "1");
    let lock = File::create(story.sandbox().spinney_home().join("sweep.lock")).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    for arguments in [&["cleanup", "merged"][..], &["cleanup"], &["trash", "purge", "--all"]] {
        refused(&story.cli, 5, arguments).says(&["another cleanup or purge is running"]);
    }
    assert_eq!(status(&story, "issue-1"), "active");
    drop(lock);
    assert_eq!(cleanup(&story.cli, &["merged"]).removed(), ["issue-1"]);
}

#[test]
fn branches_stay_or_go_as_configured() {
    let story = Story::new();
    story.sandbox().write_config("[cleanup]\nstale_after = \"1ms\"\ndelete_merged_branches = false\n");
    merged(&story, "1");
    assert_eq!(cleanup(&story.cli, &["merged"]).removed(), ["issue-1"]);
    assert_eq!(story.branches(), ["issue-1", "main"]);
    let pushed = Work::new(&story, "2");
    let tip = pushed.commit("a.txt", "a");
    pushed.push();
    let prunes = story.cli.with_variable("SPINNEY_CLEANUP__PRUNE_UNMERGED_BRANCHES", "true");
    assert_eq!(cleanup(&prunes, &["stale"]).removed(), ["issue-2"]);
    assert_eq!(story.branches(), ["issue-1", "main"], "stale and unmerged: the branch goes too");
    let rescue = format!("refs/spinney/rescue/{}", pushed.id);
    let kept = story.repository.git(&["rev-list", &rescue]);
    assert!(kept.contains(&tip), "and the rescue ref has it");
    story.cli.run(&["restore", "issue-2"]).ok();
    assert_eq!(story.repository.git(&["rev-parse", "issue-2"]), tip);
}

#[test]
fn caches_go_and_nothing_else() {
    let story = Story::new();
    story.change(|repository| {
        // Named like a cache, and somebody's file all the same.
        repository.write("web/target/kept.txt", "tracked");
        repository.write("gen/target/kept.txt", "tracked");
        repository.write(".gitignore", "/target/\nnode_modules/\n.env\n*.local\nbuild/\n/gen/target/*.o\n");
        repository.commit("more");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("target/debug/app", vec![1; 1 << 20]);
    work.write("web/node_modules/x/index.js", vec![1; 1 << 20]);
    work.write("gen/target/a.o", "ignored beside what is tracked");
    work.write("build/out", "ignored, but no cache");
    work.write("node_modules.local", "ignored, but no cache");
    work.write("web/target/new.txt", "untracked");
    let dry = cleanup(&story.cli, &["caches", "--dry-run"]);
    assert_eq!(dry.rows("caches")[0]["directories"], json!(["target", "web/node_modules"]));
    assert!(work.path.join("target/debug/app").is_file());
    let ran = story.cli.run(&["cleanup", "caches"]).ok();
    assert!(ran.stderr.contains("freed 2.") && ran.stderr.contains("MB of caches"), "{}", ran.told());
    assert!(!work.path.join("target").exists() && !work.path.join("web/node_modules").exists());
    for path in ["gen/target/a.o", "gen/target/kept.txt", "build/out", "node_modules.local", "web/target/new.txt"] {
        assert!(work.path.join(path).is_file(), "{path}");
    }
    assert_eq!(status(&story, "issue-1"), "active");
    assert_eq!(fs::read_dir(story.sandbox().spinney_home().join("trash")).unwrap().count(), 0);
    // Not where a repository lies, not through a link, not where somebody works.
    work.write("target/debug/app", "built");
    work.nested_repository("target/tool", "work");
    let shared = story.sandbox().path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("kept.txt"), "kept").unwrap();
    std::os::unix::fs::symlink(&shared, work.path.join("web/node_modules")).unwrap();
    assert_eq!(cleanup(&story.cli, &["caches"]).rows("caches"), &[] as &[Value]);
    assert!(work.path.join("target/debug/app").is_file() && shared.join("kept.txt").is_file());
    fs::rename(work.path.join("target/tool"), story.sandbox().path().join("tool")).unwrap();
    let process = story.sandbox().cli("/bin/sleep").in_directory(&work.path).spawn(&["1000"]);
    assert_eq!(cleanup(&story.cli, &["caches"]).rows("caches"), &[] as &[Value], "in use");
    drop(process);
    assert_eq!(cleanup(&story.cli, &["caches"]).rows("caches").len(), 1);
    assert!(Path::new(&work.path).join("web/node_modules").is_symlink());
}

#[test]
fn old_jobs_are_forgotten_with_their_logs() {
    let story = Story::new();
    let agent = format!("[agents.coder]\nruntime = \"command\"\ncommand = [{:?}]\n", spinney_testkit::scripted_agent());
    story.sandbox().write_config(&agent);
    let job = story.cli.run(&["run", "--json", "print nothing to do"]).ok().json();
    let nothing = json!({ "jobs": 0, "workspaces": 0, "conversations": 0, "events": 0, "files": 0 });
    assert_eq!(cleanup(&story.cli, &["all"]).0["forgotten"], nothing);
    story.sandbox().write_config(&format!("{agent}[cleanup]\njob_retention = \"1ms\"\n"));
    assert_eq!(cleanup(&story.cli, &["all", "--dry-run"]).0["forgotten"]["jobs"], 0);
    assert_eq!(cleanup(&story.cli, &["merged"]).0["forgotten"]["jobs"], 0);
    let told = story.cli.run(&["cleanup", "all"]).ok();
    assert!(told.stdout.contains("forgot 1 old job"), "{}", told.told());
    assert_eq!(story.cli.run(&["jobs", "--all", "--json"]).ok().json()["jobs"], json!([]));
    assert!(!story.sandbox().spinney_home().join("logs").join(format!("{}.jsonl", text(&job["id"]))).exists());
}
