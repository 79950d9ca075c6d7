//! Many at once: claims that never share a member, and the process that fills the pool behind everybody's back.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{Story, make, names};
use crate::support::pool::{LONG, Pool, SIZE};
use serde_json::Value;
use spinney_testkit::{Cli, Running, postgres_database, wait_until};

const PROCESSES: usize = 16;
const MEMBERS: usize = 24;
const WORKS: usize = 32;

/// Lets 16 processes at a time claim until 32 works have their workspace, while base moves and is synced; gives what they
/// were told.
#[track_caller]
fn claim_in_a_crowd(story: &Story, cli: &Cli) -> Vec<Value> {
    let cli = cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "500");
    let mut answers = Vec::new();
    let mut syncs = Vec::new();
    for first in (1..=WORKS).step_by(PROCESSES) {
        let mut running: Vec<Running> = Vec::new();
        for number in first..first + PROCESSES {
            running.push(cli.spawn(&["new", "--json", "--issue", &number.to_string()]));
            if number % 6 == 0 {
                story.remote().advance("moving.txt");
                syncs.push(cli.spawn(&["repo", "sync"]));
            }
        }
        answers.extend(running.into_iter().map(|running| running.wait().ok().json()));
    }
    syncs.into_iter().for_each(|sync| drop(sync.wait().ok()));
    answers
}

#[track_caller]
fn assert_none_shared(story: &Story, cli: &Cli, answers: &[Value], members: &BTreeSet<PathBuf>) {
    let path = |answer: &Value| PathBuf::from(answer["path"].as_str().unwrap());
    let paths: BTreeSet<PathBuf> = answers.iter().map(path).collect();
    assert_eq!(paths.len(), WORKS, "each has its own");
    let warm: BTreeSet<PathBuf> = answers.iter().filter(|answer| answer["warm"] == true).map(path).collect();
    assert_eq!(&warm, members, "the whole pool was used, and the rest made cold");
    for answer in answers {
        let (tree, branch) = (path(answer), answer["branch"].as_str().unwrap());
        assert_eq!(story.sandbox().git(&tree, &["branch", "--show-current"]), branch);
        assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), "");
        assert_eq!(story.sandbox().git(&tree, &["rev-parse", "HEAD"]), answer["base_commit"].as_str().unwrap());
    }
    assert_eq!(names(cli).len(), WORKS);
    story.assert_nothing_left_over();
}

#[test]
fn a_crowd_claims_while_base_moves_and_nobody_shares() {
    let pool = Pool::new(MEMBERS);
    pool.fill();
    let members = pool.members().into_iter().map(|member| member.path).collect();
    let answers = claim_in_a_crowd(&pool.story, &pool.story.cli);
    assert_none_shared(&pool.story, &pool.story.cli, &answers, &members);
}

#[test]
fn a_crowd_on_postgresql() {
    let database = postgres_database();
    let pool = Pool::new(MEMBERS);
    let on_server = |cli: &Cli| cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    let pool = Pool { cli: on_server(&pool.cli), story: pool.story };
    pool.fill();
    let members = pool.members().into_iter().map(|member| member.path).collect();
    let cli = on_server(&pool.story.cli);
    let answers = claim_in_a_crowd(&pool.story, &cli);
    assert_none_shared(&pool.story, &cli, &answers, &members);
}

#[test]
fn a_crowd_for_one_work_takes_one_member() {
    let pool = Pool::new(3);
    pool.fill();
    let running: Vec<_> = (0..8).map(|_| pool.story.cli.spawn(&["new", "--json", "--issue", "1"])).collect();
    let paths: BTreeSet<String> =
        running.into_iter().map(|running| running.wait().ok().json()["path"].to_string()).collect();
    assert_eq!(paths.len(), 1);
    assert_eq!(pool.states(), ["ready", "ready"]);
}

#[test]
fn claims_and_a_refresh_at_once_never_meet_in_one_tree() {
    let pool = Pool::new(6);
    pool.set_up_with("echo run >> runs.local; sleep 0.1");
    pool.fill();
    let base = pool.move_base("moved.txt");
    let filling = pool.cli.spawn(&["pool", "fill"]);
    let running: Vec<_> =
        (1..=6).map(|number| pool.story.cli.spawn(&["new", "--json", "--issue", &number.to_string()])).collect();
    let answers: Vec<Value> = running.into_iter().map(|running| running.wait().ok().json()).collect();
    filling.wait().ok();
    let paths: BTreeSet<&str> = answers.iter().map(|answer| answer["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 6);
    for answer in &answers {
        let tree = PathBuf::from(answer["path"].as_str().unwrap());
        assert_eq!(pool.git(&tree, &["branch", "--show-current"]), answer["branch"].as_str().unwrap());
        assert_eq!(pool.git(&tree, &["rev-parse", "HEAD"]), base);
        assert_eq!(pool.git(&tree, &["status", "--porcelain"]), "");
    }
    assert_eq!(pool.states(), vec!["ready"; 6]);
    assert!(pool.members().iter().all(|member| !paths.contains(member.path.to_str().unwrap())));
}

/// A set-up that waits for a word, and says when it began.
fn waiting(pool: &Pool) -> (PathBuf, PathBuf) {
    let place = pool.story.sandbox().path();
    let (begun, go_on) = (place.join("begun"), place.join("go-on"));
    pool.set_up_with(&format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.02; done",
        begun.display(),
        go_on.display()
    ));
    (begun, go_on)
}

fn niceness(process: u32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().nth(16).unwrap().parse().unwrap()
}

#[test]
fn the_pool_is_refilled_behind_a_claim_by_one_that_gives_way_and_leaves() {
    let pool = Pool::new(2);
    pool.fill();
    let (begun, go_on) = waiting(&pool);
    fs::write(&go_on, "").unwrap();
    pool.fill();
    fs::remove_file(&go_on).unwrap();
    fs::remove_file(&begun).unwrap();
    assert_eq!(pool.make_and_refill(&["--issue", "1"]).0["warm"], true);
    wait_until(|| begun.exists(), LONG);
    let fillers = pool.fillers();
    assert_eq!(fillers.len(), 1);
    assert_eq!(niceness(fillers[0]), 19);
    let status = pool.status();
    assert_eq!((&status["filling"], &status["ready"]), (&true.into(), &1.into()), "{status}");
    // The next ones are given what is there, and start no second filler.
    assert_eq!(pool.make_and_refill(&["--issue", "2"]).0["warm"], true);
    assert_eq!(pool.fillers(), fillers);
    fs::write(&go_on, "").unwrap();
    wait_until(|| pool.status()["ready"] == 2, LONG);
    pool.wait_for_fillers();
    assert_eq!(pool.states(), ["ready", "ready"]);
    assert_eq!(pool.status()["filling"], false);
}

#[test]
fn many_new_at_once_have_one_filler_at_work() {
    let pool = Pool::new(3);
    let place = pool.story.sandbox().path();
    let (busy, met) = (place.join("busy"), place.join("met"));
    let line = format!(
        "case $SPINNEY_WORKSPACE_NAME in warm-*) mkdir '{busy}' || touch '{met}'; sleep 0.3; rmdir '{busy}';; esac",
        busy = busy.display(),
        met = met.display()
    );
    pool.set_up_with(&line);
    let running: Vec<_> = (1..=4).map(|number| pool.cli.spawn(&["new", "--issue", &number.to_string()])).collect();
    running.into_iter().for_each(|running| drop(running.wait().ok()));
    wait_until(|| pool.status()["ready"] == 3, LONG);
    pool.wait_for_fillers();
    assert!(!met.exists(), "two fillers were at work");
    assert_eq!(pool.states(), ["ready", "ready", "ready"]);
}

#[test]
fn the_background_reads_the_same_configuration() {
    let pool = Pool::new(0);
    fs::write(pool.story.sandbox().path().join("mine.toml"), "[pool]\nsize = 1\n").unwrap();
    let cli = pool.story.cli.in_directory(pool.story.sandbox().path());
    make(&cli, &["--config", "mine.toml", "--repo", pool.story.repository.path().to_str().unwrap(), "--issue", "1"]);
    wait_until(|| pool.states() == ["ready"], LONG);
    pool.wait_for_fillers();
    let named = cli.with_variable("SPINNEY_CONFIG", "mine.toml");
    make(&named, &["--repo", pool.story.repository.path().to_str().unwrap(), "--issue", "2"]);
    wait_until(|| pool.states() == ["ready"], LONG);
    pool.wait_for_fillers();
}

#[test]
fn looking_at_the_pool_keeps_nobody_from_filling_it() {
    let pool = Pool::new(1);
    pool.status();
    let locks = crate::support::common::files_below(&pool.story.sandbox().spinney_home().join("pools"), 0);
    // As `pool status` does for a moment.
    let looking = fs::File::open(&locks[0]).unwrap();
    looking.lock_shared().unwrap();
    let mut filling = pool.cli.spawn(&["pool", "fill", "--background"]);
    let open = format!("/proc/{}/fd", filling.id());
    let holds = |place: &Path| fs::read_link(place).is_ok_and(|target| target == locks[0]);
    let waits = || fs::read_dir(&open).is_ok_and(|mut files| files.any(|file| holds(&file.unwrap().path())));
    wait_until(|| waits() || !filling.is_running(), LONG);
    drop(looking);
    filling.wait().ok();
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn what_the_background_can_not_do_is_not_tried_for_ever() {
    let pool = Pool::new(2);
    pool.fill();
    let shell = pool.story.sandbox().cli("/bin/sh");
    let inside: Vec<_> = pool
        .members()
        .iter()
        .map(|member| shell.in_directory(&member.path).spawn(&["-c", "exec sleep 1000"]))
        .collect();
    let smaller = pool.cli.with_variable(SIZE, "1");
    smaller.run(&["pool", "fill", "--background"]).ok();
    assert_eq!(pool.states().len(), 2);
    drop(inside);
    smaller.run(&["pool", "fill"]).ok();
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn a_filling_waits_for_another_one() {
    let pool = Pool::new(1);
    let (begun, go_on) = waiting(&pool);
    let first = pool.cli.spawn(&["pool", "fill"]);
    wait_until(|| begun.exists(), LONG);
    assert_eq!(pool.status()["filling"], true);
    assert_eq!(pool.states(), ["preparing"]);
    let mut second = pool.cli.spawn(&["pool", "fill", "--json"]);
    let mut third = pool.cli.spawn(&["pool", "drain", "--json"]);
    pool.cli.run(&["pool", "fill", "--background"]).ok();
    assert!(second.is_running() && third.is_running());
    fs::write(&go_on, "").unwrap();
    first.wait().ok();
    second.wait().ok();
    third.wait().ok();
    pool.story.assert_nothing_left_over();
}
