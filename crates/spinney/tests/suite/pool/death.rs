//! What a command that died in the pool must not bring about. That nothing leaks at any step is asked in `crash.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::pool::{LONG, Pool, read};
use spinney_testkit::{Cli, GitWrapper, wait_until};

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
    assert_refilled(pool);
    pool.story.assert_nothing_made();
}

#[track_caller]
fn assert_refilled(pool: &Pool) {
    pool.story.cli.run(&["ls"]).ok();
    let doctor = pool.story.cli.run(&["doctor", "--json"]).ok();
    assert_eq!(doctor.json()["healthy"], true, "{}", doctor.told());
    pool.fill();
    assert_eq!(pool.states(), ["ready"]);
    assert_eq!(pool.drain()["deleted"], 1);
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

/// The calls of git by which a claim follows a base that moved.
const MOVING: [&str; 4] = ["update-ref", "diff-tree", "read-tree", "symbolic-ref"];

/// A git that kills who called it, before or after it did its work.
fn killing(call: &str, after: bool) -> GitWrapper {
    let work = if after { "\"$GIT\" \"$@\"" } else { ":" };
    GitWrapper::new(&format!(
        "case \" $* \" in *' {call} '*) {work}; kill -9 $PPID; exit 1 ;; esac\nexec \"$GIT\" \"$@\"\n"
    ))
}

#[test]
fn a_death_at_any_call_of_git_while_base_is_followed_leaves_a_member_that_is_replaced() {
    for call in MOVING {
        for after in [false, true] {
            println!("killed at `git {call}`, after it: {after}");
            let pool = Pool::new(1);
            pool.fill();
            pool.move_base("README.md");
            pool.move_base("added.txt");
            let git = killing(call, after);
            let died = pool.story.cli.with_path_first(git.directory()).run(&["new", "--issue", "1"]);
            assert_ne!(died.status, 0, "{}", died.told());
            // Nobody put anything there.
            let filled = pool.fill();
            assert_eq!(filled["retired"]["trashed"].as_array().map(Vec::len), Some(0), "{filled}");
            assert_eq!(filled["retired"]["deleted"], 1, "{filled}");
            assert_healed(&pool);
        }
    }
}

#[test]
fn where_a_call_of_git_fails_while_base_is_followed_the_work_is_there_nevertheless() {
    for call in MOVING {
        println!("`git {call}` fails");
        let pool = Pool::new(1);
        pool.fill();
        let new = pool.move_base("README.md");
        let git = GitWrapper::failing(call, 128, "fatal: the disk has a bad day");
        let ran = pool.story.cli.with_path_first(git.directory()).run(&["new", "--issue", "1", "--json"]).ok();
        // What can't be moved the quick way is moved by `git switch`.
        assert_eq!(ran.json()["warm"], call == "read-tree", "{}", ran.told());
        let tree = PathBuf::from(ran.json()["path"].as_str().unwrap());
        assert_eq!(pool.git(&tree, &["rev-parse", "issue-1"]), new);
        assert_eq!(pool.git(&tree, &["status", "--porcelain", "--branch"]), "## issue-1");
        assert_refilled(&pool);
    }
}
