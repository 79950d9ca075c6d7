//! What a command that died in the pool must not bring about. That nothing leaks at any step is asked in `crash.rs`.

mod common;
mod pool_support;

use std::fs;

use pool_support::{LONG, Pool, read};
use spinney_testkit::wait_until;

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
