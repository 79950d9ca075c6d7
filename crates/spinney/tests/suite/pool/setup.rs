//! Preparation in the pool: refreshed where base or settings moved, and every way in which a set-up goes wrong.

use std::fs;
use std::path::PathBuf;

use crate::support::common::{make, refused};
use crate::support::pool::{LONG, Pool, read};
use spinney_testkit::wait_until;

/// Each run of set-up in a tree adds a line to an ignored file there.
const COUNT: &str = "echo run >> runs.local";

fn runs(tree: &std::path::Path) -> usize {
    read(tree, "runs.local").unwrap_or_default().lines().count()
}

#[test]
fn a_member_behind_base_is_brought_up_to_date_where_it_is() {
    let pool = Pool::new(2);
    pool.set_up_with(COUNT);
    pool.fill();
    let mut before: Vec<PathBuf> = pool.members().into_iter().map(|member| member.path).collect();
    let base = pool.move_base("moved.txt");
    assert_eq!(pool.states(), ["behind", "behind"]);
    let status = pool.status();
    assert_eq!((&status["ready"], &status["behind"]), (&2.into(), &2.into()), "{status}");

    let filled = pool.fill();
    assert_eq!((&filled["made"], &filled["refreshed"]), (&0.into(), &2.into()), "{filled}");
    assert_eq!(pool.states(), ["ready", "ready"]);
    let mut after: Vec<PathBuf> = pool.members().into_iter().map(|member| member.path).collect();
    before.sort();
    after.sort();
    assert_eq!(after, before);
    for tree in &after {
        assert_eq!(runs(tree), 2, "set-up ran again in the same tree");
        assert!(tree.join("moved.txt").is_file());
        assert_eq!(pool.git(tree, &["rev-parse", "HEAD"]), base);
    }
    assert_eq!(pool.claim(&["--issue", "1"]).text("set_up_at"), base);
    assert_eq!(pool.fill()["made"], 1);
    assert_eq!(pool.fill()["made"], 0, "there is nothing left to do");
}

#[test]
fn members_are_prepared_again_when_settings_change() {
    let pool = Pool::new(1);
    pool.set_up_with(COUNT);
    pool.fill();
    let tree = pool.member().path;
    pool.set_up_with(&format!("{COUNT}; touch second.local"));
    assert_eq!(pool.states(), ["behind"]);
    assert_eq!(pool.fill()["refreshed"], 1);
    assert_eq!((pool.member().path, runs(&tree)), (tree.clone(), 2));
    assert!(tree.join("second.local").is_file());
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn work_is_not_given_a_member_that_other_settings_prepared() {
    let pool = Pool::new(1);
    pool.set_up_with(COUNT);
    pool.fill();
    pool.set_up_with("touch second.local");
    let made = pool.make_cold(&["--issue", "1"]);
    assert!(made.path().join("second.local").is_file());
    assert_eq!(pool.fill()["refreshed"], 1);
    let claimed = pool.claim(&["--issue", "2"]);
    assert!(claimed.path().join("second.local").is_file());
}

#[test]
fn set_up_of_a_repositorys_own_runs_only_after_trust_and_then_in_the_pool_too() {
    let pool = Pool::new(1);
    pool.story.change(|repository| {
        repository.write("spinney.toml", format!("[workspace]\nsetup = [{COUNT:?}]\n")).commit("set-up");
        repository.push();
    });
    pool.story.cli.run(&["repo", "sync"]).ok();
    pool.fill();
    let tree = pool.member().path;
    assert_eq!((runs(&tree), pool.states()), (0, vec!["ready".to_owned()]));
    pool.story.cli.run(&["trust", "--yes"]).ok();
    assert_eq!(pool.states(), ["behind"]);
    assert_eq!(runs(&pool.make_cold(&["--issue", "1"]).path()), 1, "no workspace without its set-up");
    assert_eq!(pool.fill()["refreshed"], 1);
    assert_eq!((pool.member().path, runs(&tree)), (tree, 1));
}

#[test]
fn a_set_up_that_fails_is_shown_and_not_tried_on_a_second_member() {
    let pool = Pool::new(3);
    let line = format!("echo run >> '{}'; echo the compiler is missing; exit 7", pool.log().display());
    pool.set_up_with(&line);
    let ran = pool.fill_in_vain();
    assert!(
        ran.stderr.contains("the pool is not full") && ran.stderr.contains("failed with status 7"),
        "{}",
        ran.told()
    );
    assert_eq!(pool.logged(), 1);
    let failed = pool.member();
    assert_eq!(failed.state, "failed");
    let shown = pool.cli.run(&["pool", "status"]).ok();
    let told = format!("{}{}", shown.stdout, shown.stderr);
    for text in ["0 of 3 ready", "failed", "setup command `echo run", "failed with status 7", "the compiler is missing"]
    {
        assert!(told.contains(text), "`{text}` is not in: {told}");
    }
    // Work is not held up by it, and is not given the half-prepared one.
    pool.story.refused(1, &["--issue", "1"]).says(&["failed with status 7"]);
    assert_eq!(pool.member().path, failed.path);
    assert_eq!(pool.logged(), 2);

    // A person who asks again is heard, and nothing piles up.
    pool.fill_in_vain();
    assert_eq!(pool.logged(), 3);
    assert_ne!(pool.member().path, failed.path);
    assert!(!failed.path.exists());
    pool.set_up_with(COUNT);
    assert_eq!(pool.fill()["made"], 3);
    assert_eq!(pool.states(), ["ready", "ready", "ready"]);
    assert_eq!(pool.status()["error"], serde_json::Value::Null);
}

#[test]
fn the_background_repeats_no_failure_until_something_changed() {
    let pool = Pool::new(1);
    // It works for a person's `new`, and fails in the pool.
    let fails = format!(
        "echo $SPINNEY_WORKSPACE_NAME >> '{}'; case $SPINNEY_WORKSPACE_NAME in warm-*) exit 7;; esac",
        pool.log().display()
    );
    let tries = || read(&pool.log(), "").map_or_else(|| tries_in(&pool.log()), |_| 0);
    pool.set_up_with(&fails);
    pool.make_and_refill(&["--issue", "1"]);
    wait_until(|| pool.states() == ["failed"], LONG);
    pool.wait_for_fillers();
    assert_eq!(tries(), 1);
    pool.make_and_refill(&["--issue", "2"]);
    pool.wait_for_fillers();
    pool.cli.run(&["pool", "fill", "--background"]).ok();
    assert_eq!((tries(), pool.states()), (1, vec!["failed".to_owned()]));

    // Base moved: it may work by now.
    pool.move_base("moved.txt");
    pool.make_and_refill(&["--issue", "3"]);
    wait_until(|| tries() == 2 && pool.fillers().is_empty(), LONG);
    // The setting was mended.
    pool.set_up_with(COUNT);
    pool.make_and_refill(&["--issue", "4"]);
    wait_until(|| pool.states() == ["ready"], LONG);
    pool.wait_for_fillers();
}

/// How often set-up ran in the pool.
fn tries_in(log: &std::path::Path) -> usize {
    fs::read_to_string(log).unwrap_or_default().lines().filter(|line| line.starts_with("warm-")).count()
}

#[test]
fn a_set_up_that_hangs_is_ended_in_time_with_all_it_started() {
    let pool = Pool::new(2);
    let mark = format!("hang-{}", std::process::id());
    pool.configure(&format!(
        "setup_timeout = \"1s\"\nsetup = [\"echo begun; sh -c 'exec -a {mark} sleep 1000' & exec sleep 1000\"]"
    ));
    let ran = pool.fill_in_vain();
    assert!(ran.stderr.contains("did not end within 1s"), "{}", ran.told());
    let member = pool.member();
    let error = member.error.unwrap();
    assert!(error.contains("did not end within 1s") && error.contains("begun"), "{error}");
    let inside = |id: &str| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|place| place.starts_with(&member.path));
    let left: Vec<_> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|id| id.parse::<u32>().is_ok() && inside(id))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    pool.configure("setup = []");
    assert_eq!(pool.fill()["made"], 2);
}

#[test]
fn a_set_up_that_prints_without_end_fills_neither_memory_nor_store() {
    const PRINTED: &str = "300000000";
    let pool = Pool::new(1);
    pool.set_up_with(&format!("head -c {PRINTED} /dev/zero | tr '\\0' x; exit 3"));
    let child = pool.cli.command(&["pool", "fill", "--quiet"]);
    let peak = peak_kib(child);
    assert!(peak > 0 && peak < 100 * 1024, "{peak} KiB");
    let error = pool.member().error.unwrap();
    assert!(error.contains("failed with status 3") && error.contains("xxx"), "{}", &error[..200]);
    assert!(error.len() < 20_000, "{} bytes are kept", error.len());
    let store: u64 = ["spinney.db", "spinney.db-wal"]
        .iter()
        .filter_map(|name| fs::metadata(pool.story.sandbox().spinney_home().join(name)).ok())
        .map(|found| found.len())
        .sum();
    assert!(store < 8 << 20, "{store} bytes");
}

/// Runs a program to its end; the most memory it held.
fn peak_kib(mut command: std::process::Command) -> u64 {
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    peak
}

#[test]
fn what_a_set_up_prints_can_not_write_to_the_terminal() {
    let pool = Pool::new(1);
    pool.set_up_with("printf '\\033]0;owned\\007\\033[2Jgone\\r\\nnext\\033[31m\\n'; exit 3");
    pool.fill_in_vain();
    // As on a terminal: what is written to a pipe loses its escape sequences anyway.
    let told = pool.cli.with_variable("CLICOLOR_FORCE", "1").run(&["pool", "status"]).ok();
    let told = format!("{}{}", told.stdout, told.stderr);
    assert!(told.contains("\u{1b}[") && told.contains("gone") && told.contains("next"), "{told:?}");
    for hostile in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "\r"] {
        assert!(!told.contains(hostile), "{hostile:?} in {told:?}");
    }
}

#[test]
fn a_pool_larger_than_the_disk_is_made_as_far_as_it_fits() {
    let pool = Pool::new(3);
    pool.cli.with_variable("SPINNEY_POOL__SIZE", "1").run(&["pool", "fill"]).ok();
    let tight = pool.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", "900TB");
    let ran = tight.run(&["pool", "fill"]).exits(1);
    assert!(ran.stderr.contains("the pool is not full") && ran.stderr.contains("free"), "{}", ran.told());
    assert_eq!(pool.states(), ["ready"]);
    let status = pool.status();
    assert!(status["error"].as_str().unwrap().contains("free"), "{status}");
    let shown = pool.cli.run(&["pool", "status"]).ok().stderr;
    assert!(shown.contains("the last filling stopped"), "{shown}");
    pool.story.assert_nothing_left_over();
    assert_eq!(pool.story.worktrees().len(), 1);
    // Room again: filled, and the message is gone.
    assert_eq!(pool.fill()["made"], 2);
    assert_eq!(pool.status()["error"], serde_json::Value::Null);
}

#[test]
fn a_smaller_pool_gives_the_rest_up() {
    let pool = Pool::new(3);
    pool.fill();
    let smaller = pool.cli.with_variable("SPINNEY_POOL__SIZE", "1").run(&["pool", "fill", "--json"]).ok().json();
    assert_eq!(smaller["retired"]["deleted"], 2, "{smaller}");
    assert_eq!(pool.states(), ["ready"]);
    let none = pool.story.cli.run(&["pool", "fill", "--json"]).ok().json();
    assert_eq!(none["retired"]["deleted"], 1, "{none}");
    pool.story.assert_nothing_made();
}

#[test]
fn a_set_up_that_changes_tracked_files_does_not_hold_the_pool_up() {
    let pool = Pool::new(1);
    pool.set_up_with("echo changed by set-up >> README.md; touch new.txt");
    pool.fill();
    let first = pool.member().path;
    pool.move_base("README.md");
    // The refresh can't overwrite it; a filling that is asked again makes another, and deletes what set-up alone made.
    pool.cli.run(&["pool", "fill"]);
    pool.cli.run(&["pool", "fill"]).ok();
    assert_eq!(pool.states(), ["ready"]);
    assert_ne!(pool.member().path, first);
    assert!(!first.exists());
    assert_eq!(
        crate::support::common::files_below(&pool.story.sandbox().spinney_home().join("trash"), 0),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn a_set_up_that_can_not_be_run_twice_gets_a_new_member() {
    let pool = Pool::new(1);
    pool.set_up_with("mkdir made.local");
    pool.fill();
    let before = pool.member();
    pool.move_base("moved.txt");
    let filled = pool.fill();
    assert_eq!(filled["ready"], 1, "{filled}");
    assert_ne!(pool.member().path, before.path);
    pool.claim(&["--issue", "1"]);
}

#[test]
fn a_full_disk_does_not_keep_warm_workspaces_from_work() {
    let pool = Pool::new(2);
    pool.fill();
    let cli = pool.story.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", "1000000GiB");
    for issue in ["1", "2"] {
        assert_eq!(make(&cli, &["--issue", issue]).0["warm"], true);
    }
    refused(&cli, 3, &["new", "--issue", "3"]);
}

#[test]
fn what_set_up_made_of_a_copied_file_is_not_lost_when_its_source_changes() {
    let pool = Pool::new(1);
    pool.story.change(|repository| {
        repository.write("app.local", "A=1\n");
    });
    pool.configure("copy = [\"app.local\"]\nsetup = [\"echo PORT=5 >> app.local\"]");
    pool.fill();
    pool.story.change(|repository| {
        repository.write("app.local", "A=22\n");
    });
    // As a cold one would have it.
    let made = pool.make_cold(&["--issue", "1"]);
    assert_eq!(fs::read_to_string(made.path().join("app.local")).unwrap(), "A=22\nPORT=5\n");
    pool.fill();
    let warm = pool.claim(&["--issue", "2"]);
    assert_eq!(fs::read_to_string(warm.path().join("app.local")).unwrap(), "A=22\nPORT=5\n");
}

#[test]
fn artifacts_that_are_named_later_are_brought_by_the_next_filling() {
    let pool = Pool::new(1);
    pool.story.change(|repository| {
        repository.write(".git/info/exclude", "node_modules\n").write("node_modules/x.js", "x");
    });
    pool.fill();
    pool.configure("artifacts = [\"node_modules\"]");
    pool.fill();
    assert!(pool.claim(&["--issue", "1"]).path().join("node_modules/x.js").exists());
}

#[test]
fn a_filling_that_can_not_begin_is_told_by_the_status() {
    let pool = Pool::new(1);
    pool.fill();
    pool.configure("fetch = \"require\"");
    fs::rename(pool.story.remote().path(), pool.story.remote().path().with_extension("away")).unwrap();
    pool.cli.run(&["pool", "fill", "--background"]);
    let status = pool.cli.run(&["pool", "status"]).ok();
    assert!(status.stderr.contains("the last filling stopped"), "{}", status.told());
}
