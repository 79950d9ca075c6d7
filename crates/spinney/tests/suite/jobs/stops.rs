//! A job is stopped or dies outside of its session: while it is set up, in a hook, before a push, when it is tried again.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::job::{LONG, Workshop, is_alive, read_pid, runner_of, signal};
use rustix::process::Signal;
use spinney_testkit::{HttpRemote, wait_until};

const ISSUE: [&str; 2] = ["--issue", "7"];

/// A shell line that tells its process and then takes long, the first time.
fn slow_line(workshop: &Workshop) -> String {
    let (pid, go) = (workshop.beside_text("line"), workshop.beside_text("go"));
    let line = format!("[ -e {go} ] || {{ echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 100; }}");
    serde_json::to_string(&line).unwrap()
}

fn let_go(workshop: &Workshop) {
    fs::write(workshop.beside("go"), "").unwrap();
}

#[test]
fn a_job_can_be_cancelled_while_it_is_set_up() {
    let workshop = Workshop::new("");
    workshop.configure(&format!("[workspace]\nsetup = [{}]\n", slow_line(&workshop)));
    let id = workshop.detach(&ISSUE, "write a.txt a");
    let line = read_pid(&workshop.beside("line"));
    let asked = Instant::now();
    workshop.cli.run(&["cancel", &id]).ok();
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    assert_eq!(workshop.job(&id).text("status"), "cancelled");
    assert!(!is_alive(line), "the set-up goes on");
    workshop.assert_nothing_runs();
    workshop.story.assert_nothing_left_over();
    let_go(&workshop);
    assert_eq!(workshop.retry(0, &id).0["pushed"], true);
}

#[test]
fn a_death_while_it_is_set_up_leaves_nothing_half_done() {
    let workshop = Workshop::new("");
    workshop.configure(&format!("[workspace]\nsetup = [{}]\n", slow_line(&workshop)));
    let id = workshop.detach(&ISSUE, "write a.txt a");
    let line = read_pid(&workshop.beside("line"));
    signal(runner_of(&id).unwrap(), Signal::KILL);
    workshop.wait_for(&id, "interrupted");
    wait_until(|| !is_alive(line), LONG);
    workshop.story.assert_nothing_left_over();
    let_go(&workshop);
    assert_eq!(workshop.retry(0, &id).0["pushed"], true);
}

#[test]
fn a_job_can_be_cancelled_in_its_opening_hook() {
    let workshop = Workshop::new("");
    workshop.configure(&format!("[agents.coder.hooks]\nbefore_run = [{}]\n", slow_line(&workshop)));
    let id = workshop.detach(&ISSUE, "write a.txt a");
    let line = read_pid(&workshop.beside("line"));
    workshop.cli.run(&["cancel", &id]).ok();
    let job = workshop.job(&id);
    assert_eq!((job.text("status"), job.0["sessions"].as_array().unwrap().len()), ("cancelled", 0));
    assert!(!is_alive(line) && !job.path().join("a.txt").exists());
    let_go(&workshop);
    assert_eq!(workshop.retry(0, &id).0["pushed"], true);
}

#[test]
fn a_job_can_be_cancelled_while_its_push_waits() {
    let workshop = Workshop::new("");
    let http = HttpRemote::open(workshop.story.sandbox());
    workshop.story.remote().git(&["config", "http.receivepack", "true"]);
    workshop.story.change(|repository| repository.git(&["remote", "set-url", "origin", &http.url("acme/app.git")]));
    http.refuse_pushes(usize::MAX);
    let id = workshop.detach(&ISSUE, "write a.txt a");
    let log = workshop.story.sandbox().spinney_home().join(format!("logs/{id}.jsonl"));
    wait_until(|| fs::read_to_string(&log).unwrap_or_default().contains("tried again in 3 s"), LONG);
    workshop.cli.run(&["cancel", &id]).ok();
    let job = workshop.job(&id);
    assert_eq!((job.text("status"), &job.0["commits"]), ("cancelled", &1.into()));
    http.refuse_pushes(0);
    // Its agent was done.
    let retried = workshop.retry(0, &id);
    assert_eq!((&retried.0["pushed"], retried.0["sessions"].as_array().unwrap().len()), (&true.into(), 1));
}

#[test]
fn a_job_is_tried_again_by_one_process_only() {
    let workshop = Workshop::new("");
    let (ran, go) = (workshop.beside("ran"), workshop.beside("go"));
    let prompt = format!("append {} x\nonce {}.once exit 1\nwait-for {}", ran.display(), go.display(), go.display());
    let id = workshop.run(1, &ISSUE, &prompt).id().to_owned();
    let retries: Vec<_> = (0..4).map(|_| workshop.cli.spawn(&["retry", "--detach", &id])).collect();
    let statuses: Vec<_> = retries.into_iter().map(|running| running.wait().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [0, 5].contains(status)), "{statuses:?}");
    fs::write(&go, "").unwrap();
    let job = workshop.wait_for_end(&id);
    assert_eq!((job.text("status"), &job.0["attempt"]), ("completed", &2.into()));
    assert_eq!(fs::read_to_string(&ran).unwrap().lines().count(), 2);
}

#[test]
fn a_job_that_has_just_ended_can_be_tried_again() {
    let workshop = Workshop::new("");
    let id = workshop.run(1, &ISSUE, "exit 1").id().to_owned();
    // Somebody looks all the time whether it is over.
    let lock = workshop.story.sandbox().spinney_home().join("jobs").join(&id);
    fs::write(&lock, "").unwrap();
    let looks = format!("flock --shared {} sleep 0.5", lock.display());
    let looker = workshop.story.sandbox().cli("/bin/sh").spawn(&["-c", &looks]);
    wait_until(
        || workshop.story.sandbox().cli("flock").run(&["--nonblock", lock.to_str().unwrap(), "true"]).status == 1,
        LONG,
    );
    workshop.retry(1, &id);
    looker.wait().ok();
}

#[test]
fn a_log_that_can_not_be_written_stops_no_job() {
    let workshop = Workshop::new("");
    let once = workshop.beside_text("once");
    let id = workshop.run(1, &ISSUE, &format!("once {once} exit 1\nflood 1000000\nwrite a.txt a")).id().to_owned();
    let log = workshop.story.sandbox().spinney_home().join(format!("logs/{id}.jsonl"));
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("/dev/full", &log).unwrap();
    workshop.cli.run(&["retry", "--detach", &id]).ok();
    let job = workshop.wait_for_end(&id);
    assert_eq!((job.text("status"), &job.0["pushed"]), ("completed", &true.into()));
    let trees: Vec<PathBuf> = workshop.story.worktrees();
    assert_eq!(trees, [job.path()]);
}
