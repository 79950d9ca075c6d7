//! What a command that died in the pool must not bring about. That nothing leaks at any step is asked in `crash.rs`.

mod common;
mod pool_support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pool_support::{LONG, Pool, read};
use spinney_testkit::{Cli, wait_until};

#[test]
fn a_claim_that_failed_does_not_stop_the_background() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    let died = pool.story.cli.with_variable("SPINNEY_FAIL", "claim.prepared").run(&["new", "--issue", "1"]);
    assert_ne!(died.status, 0, "{}", died.told());
    pool.make_and_refill(&["--issue", "2"]);
    wait_until(|| pool.states() == ["ready"], LONG);
    pool.wait_for_fillers();
    assert_ne!(pool.member().path, tree);
}

#[test]
fn what_came_after_a_drain_that_died_is_kept() {
    let pool = Pool::new(1);
    pool.fill();
    let member = pool.member();
    pool.cli.with_variable("SPINNEY_FAIL", "retire.recorded").run(&["pool", "drain"]).exits(134);
    fs::write(member.path.join("mine.txt"), "mine").unwrap();
    pool.story.cli.run(&["ls"]).ok();
    assert_eq!(read(&member.path, "mine.txt").as_deref(), Some("mine"));
    assert_eq!(pool.drain()["trashed"][0], member.name.as_str());
    pool.story.cli.run(&["restore", &member.name]).ok();
    assert_eq!(read(&member.path, "mine.txt").as_deref(), Some("mine"));
}

/// Dies at a point.
#[track_caller]
fn die_at(cli: &Cli, point: &str, line: &[&str]) {
    cli.with_variable("SPINNEY_FAIL", point).run(line).exits(134);
}

/// A lock that a git left which was killed some time ago.
fn leave_lock(path: &Path) {
    let file = fs::File::create(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

#[track_caller]
fn assert_healed(pool: &Pool) {
    pool.story.cli.run(&["ls"]).ok();
    let doctor = pool.story.cli.run(&["doctor", "--json"]).ok();
    assert_eq!(doctor.json()["healthy"], true, "{}", doctor.told());
    pool.fill();
    assert_eq!(pool.states(), ["ready"]);
    assert_eq!(pool.drain()["deleted"], 1);
    pool.story.assert_nothing_made();
}

#[test]
fn a_lock_on_head_that_a_killed_claim_left_is_cleared_away() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    die_at(&pool.story.cli, "claim.switched", &["new", "--issue", "1"]);
    let admin_dir = PathBuf::from(pool.git(&tree, &["rev-parse", "--absolute-git-dir"]));
    leave_lock(&admin_dir.join("HEAD.lock"));
    assert_healed(&pool);
}

#[test]
fn a_lock_on_the_index_that_a_killed_claim_left_is_cleared_away() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    pool.move_base("moved.txt");
    die_at(&pool.story.cli, "claim.moved", &["new", "--issue", "1"]);
    let admin_dir = PathBuf::from(pool.git(&tree, &["rev-parse", "--absolute-git-dir"]));
    leave_lock(&admin_dir.join("index.lock"));
    pool.story.cli.run(&["cleanup", "orphans"]).ok();
    assert!(!admin_dir.join("index.lock").exists());
    assert_healed(&pool);
}

#[test]
fn a_member_that_git_had_just_begun_is_undone() {
    let pool = Pool::new(1);
    die_at(&pool.cli, "create.registered", &["pool", "fill"]);
    let worktrees = pool.story.repository.path().join(".git/worktrees");
    let admin_dir = fs::read_dir(worktrees).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(admin_dir.join("HEAD")).unwrap();
    assert_healed(&pool);
}

#[test]
fn a_branch_that_somebody_made_meanwhile_and_stands_on_stays() {
    for (point, size) in [("claim.recorded", 1), ("create.recorded", 0)] {
        let pool = Pool::new(size);
        pool.fill();
        die_at(&pool.story.cli, point, &["new", "--issue", "9"]);
        pool.story.change(|repository| repository.git(&["switch", "--quiet", "-c", "issue-9"]));
        pool.story.cli.run(&["ls"]).ok();
        pool.story
            .change(|repository| assert_eq!(repository.git(&["status", "--porcelain", "--branch"]), "## issue-9"));
    }
}
