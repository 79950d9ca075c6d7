//! A remote that takes every connection and says nothing, an ssh that hangs, and a lock whose holder is stopped.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::common::{Story, make, refused};
use spinney_testkit::{Cli, wait_until, write_program};

const SOON: Duration = Duration::from_secs(60);

/// The story's remote leads somewhere else from now on; what it had was fetched before.
fn lead_remote_to(story: &Story, url: &str) {
    story.make(&["--issue", "1"]);
    story.change(|repository| repository.git(&["remote", "set-url", "origin", url]));
}

/// A program that git uses for ssh, as the person's own configuration says.
fn ssh_of_person(story: &Story, script: &str) -> PathBuf {
    let program = story.sandbox().path().join("ssh");
    write_program(&program, format!("#!/bin/sh\n{script}\n"));
    story.sandbox().git(story.sandbox().path(), &["config", "--global", "core.sshCommand", program.to_str().unwrap()]);
    program
}

/// Writes down its own process id, and hangs.
fn hanging_ssh(story: &Story) -> PathBuf {
    let note = story.sandbox().path().join("ssh.pid");
    ssh_of_person(story, &format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 1000", note.display()));
    note
}

fn is_running(note: &Path) -> bool {
    let stat = format!("/proc/{}/stat", fs::read_to_string(note).unwrap().trim());
    // One that ended and was not waited for yet is a zombie.
    fs::read_to_string(stat).is_ok_and(|stat| !stat.contains(") Z "))
}

fn with_limit(cli: &Cli, seconds: &str) -> Cli {
    let cli = cli.with_variable("SPINNEY_WORKSPACE__FETCH_TIMEOUT", seconds);
    cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0")
}

#[test]
fn a_remote_that_says_nothing_is_a_warning_with_the_age_of_what_is_known() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    for scheme in ["git", "http"] {
        let story = Story::new();
        lead_remote_to(&story, &format!("{scheme}://{place}/app.git"));
        let cli = with_limit(&story.cli, "1s");
        let started = Instant::now();
        let workspace = make(&cli, &["--issue", "2"]);
        assert!(started.elapsed() < SOON);
        let said = workspace.said();
        assert!(said.contains("could not fetch from `origin` (the remote sent nothing for 1s)"), "{said}");
        assert!(said.contains("continuing with what was fetched"), "{said}");
        let swept = cli.run(&["cleanup", "merged"]).ok();
        assert!(swept.stderr.contains("the remote sent nothing for 1s"), "{}", swept.told());
        assert!(swept.stderr.contains("continuing with what was fetched"), "{}", swept.told());
        let required = cli.with_variable("SPINNEY_WORKSPACE__FETCH", "require");
        refused(&required, 1, &["new", "--issue", "3"])
            .says(&["could not fetch from `origin`", "the remote sent nothing for 1s"])
            .hints(&["SPINNEY_WORKSPACE__FETCH=auto"]);
        assert_eq!(story.names(), ["issue-1", "issue-2"]);
    }
}

#[test]
fn the_limit_is_ten_seconds_unless_somebody_says_otherwise() {
    let story = Story::new();
    let shown = story.cli.run(&["config", "show"]).ok().stdout;
    let line = shown.lines().find(|line| line.starts_with("workspace.fetch_timeout")).unwrap_or_default();
    assert!(line.ends_with("default  \"10s\""), "{shown}");
}

#[test]
fn a_clone_of_a_remote_that_says_nothing_ends_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let story = Story::new();
    let url = format!("http://{}/app.git", listener.local_addr().unwrap());
    refused(&with_limit(&story.cli, "1s"), 1, &["repo", "add", &url]).says(&["the remote sent nothing for 1s"]);
}

#[test]
fn an_ssh_that_hangs_ends_with_the_fetch() {
    let story = Story::new();
    let note = hanging_ssh(&story);
    lead_remote_to(&story, "ssh://nowhere.invalid/app.git");
    let workspace = make(&with_limit(&story.cli, "1s"), &["--issue", "2"]);
    assert!(workspace.said().contains("the remote sent nothing for 1s"), "{}", workspace.said());
    wait_until(|| !is_running(&note), SOON);
}

#[test]
fn who_is_told_to_end_leaves_no_git_and_no_ssh_behind() {
    for command in [["new", "--issue", "2"].as_slice(), &["cleanup", "merged"]] {
        let story = Story::new();
        let note = hanging_ssh(&story);
        lead_remote_to(&story, "ssh://nowhere.invalid/app.git");
        let running = with_limit(&story.cli, "0").spawn(command);
        wait_until(|| note.exists(), SOON);
        assert!(is_running(&note));
        let ended = running.terminate().exits(143);
        assert!(ended.stderr.contains("ended by a signal"), "{}", ended.told());
        wait_until(|| !is_running(&note), SOON);
        assert_eq!(story.names(), ["issue-1"]);
    }
}

#[test]
fn a_remote_that_is_slow_but_moves_is_waited_for() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    for number in 0..60 {
        story.remote().git(&["branch", &format!("some/long-name-of-a-branch-{number}"), "main"]);
    }
    let tip = story.remote().advance("new.txt");
    let (remote, part) = (story.remote().path().to_owned(), story.sandbox().path().join("part"));
    // Less than a second passes between two parts, and far more than one until all came.
    let slow = format!(
        "while dd bs=200 count=1 of='{0}' 2>/dev/null; [ -s '{0}' ]; do cat '{0}'; sleep 0.1; done",
        part.display()
    );
    ssh_of_person(&story, &format!("git upload-pack '{}' | {slow}", remote.display()));
    story.change(|repository| repository.git(&["remote", "set-url", "origin", "ssh://nowhere.invalid/app.git"]));
    let started = Instant::now();
    let workspace = make(&with_limit(&story.cli, "1s"), &["--issue", "2"]);
    assert!(started.elapsed() > Duration::from_secs(2), "it was not slow: {:?}", started.elapsed());
    assert!(!workspace.said().contains("could not fetch"), "{}", workspace.said());
    assert_eq!(workspace.text("base_commit"), tip);
}

#[test]
fn many_who_wait_for_a_silent_remote_do_not_ask_it_one_after_the_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let story = Story::new();
    lead_remote_to(&story, &format!("git://{}/app.git", listener.local_addr().unwrap()));
    let cli = with_limit(&story.cli, "4s");
    let started = Instant::now();
    let running: Vec<_> = (2..8).map(|number| cli.spawn(&["new", "--issue", &format!("{number}")])).collect();
    for one in running {
        let ran = one.wait().ok();
        assert!(ran.stderr.contains("the remote sent nothing for 4s"), "{}", ran.told());
    }
    assert!(started.elapsed() < Duration::from_secs(16), "{:?}", started.elapsed());
}

#[test]
fn a_stopped_holder_of_the_lock_is_named_while_somebody_waits() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let lock = story.repository.path().join(".git/spinney/lock");
    let (ready, pid) = (story.sandbox().path().join("ready"), story.sandbox().path().join("pid"));
    let hold = format!(
        "exec 9<>'{0}'; flock 9; echo \"$$ $(date +%s)000 rm issue-1\" > '{0}'; echo $$ > '{1}'; touch '{2}'; kill -STOP $$",
        lock.display(),
        pid.display(),
        ready.display()
    );
    let mut holder = story.sandbox().command("sh").args(["-c", &hold]).spawn().unwrap();
    wait_until(|| ready.exists(), SOON);
    let waiting = story.cli.spawn(&["new", "--issue", "2"]);
    wait_until(|| waiting.stderr_so_far().contains("holds a lock of this repository"), SOON);
    let said = waiting.stderr_so_far();
    assert!(
        said.contains(&format!("waiting for process {}, which is stopped, for `rm issue-1`", holder.id())),
        "{said}"
    );
    story.sandbox().command("kill").args(["-CONT", &holder.id().to_string()]).status().unwrap();
    holder.wait().unwrap();
    waiting.wait().ok();
    assert_eq!(story.names(), ["issue-1", "issue-2"]);
}
