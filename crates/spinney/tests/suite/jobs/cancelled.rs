//! A cancelled job does not run again, whoever died or stood still when it was cancelled.

use std::fs;
use std::time::Duration;

use crate::support::job::{LONG, Workshop, is_alive, runner_of, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use spinney_testkit::{Daemon, HttpClient, Sandbox, wait_until};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::support::common::Story;

/// A workshop of whose jobs a daemon takes up those that died.
fn workshop() -> Workshop {
    of(&Sandbox::new())
}

fn of(sandbox: &Sandbox) -> Workshop {
    let story = Story::of(sandbox.repository("app").with_remote());
    let workshop = Workshop::of(story, "max_attempts = 3\n[limits]\nmax_workers = 4\n");
    workshop.cli.run(&["status"]).ok();
    workshop
}

fn owner(workshop: &Workshop) -> HttpClient {
    HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"))
}

/// Starts a job that holds on; gives its id and the process that runs it.
#[track_caller]
fn start(workshop: &Workshop, name: &str) -> (String, u32) {
    let asked = json!({ "repository": "local/app", "agent": "coder", "prompt": workshop.hold(name) });
    let job = owner(workshop).post("/api/v1/jobs", &asked).expects(202).json();
    let id = job["id"].as_str().unwrap().to_owned();
    workshop.wait_for_agent(name);
    let runner = runner_of(&id).unwrap();
    (id, runner)
}

/// Stops a daemon while it does not write: one that stood still in the middle would keep everybody else from writing.
#[track_caller]
fn stop(workshop: &Workshop, daemon: &Daemon) {
    let database = workshop.story.sandbox().spinney_home().join("spinney.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let others_may_write = || {
        runtime.block_on(async {
            let options = SqliteConnectOptions::new().filename(&database).busy_timeout(Duration::ZERO);
            let mut connection = options.connect().await.unwrap();
            sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut connection).await.is_ok()
        })
    };
    wait_until(
        || {
            signal(daemon.id(), Signal::STOP);
            let is_between = !database.exists() || others_may_write();
            if !is_between {
                signal(daemon.id(), Signal::CONT);
            }
            is_between
        },
        LONG,
    );
}

#[track_caller]
fn kill(runner: u32) {
    signal(runner, Signal::KILL);
    wait_until(|| !is_alive(runner), LONG);
}

#[track_caller]
fn job(workshop: &Workshop, id: &str) -> Value {
    owner(workshop).get(&format!("/api/v1/jobs/{id}")).expects(200).json()
}

/// Asserts that a job is cancelled and stays so while the daemon takes up another one that died.
#[track_caller]
fn assert_stays_cancelled(workshop: &Workshop, id: &str) {
    wait_until(|| job(workshop, id)["status"] == "cancelled", LONG);
    let (other, runner) = start(workshop, "other");
    fs::remove_file(workshop.beside("other.pid")).unwrap();
    kill(runner);
    wait_until(|| job(workshop, &other)["attempt"] == 2, LONG);
    workshop.wait_for_agent("other");
    workshop.let_go("other");
    wait_until(|| job(workshop, &other)["status"] == "completed", LONG);
    let job = job(workshop, id);
    assert_eq!((&job["status"], &job["attempt"]), (&json!("cancelled"), &json!(1)), "{job:#}");
    assert!(job["error"].as_str().unwrap().starts_with("cancelled"), "{job:#}");
    assert_eq!(runner_of(id), None);
}

#[test]
fn a_job_whose_process_was_killed_and_that_is_cancelled_at_once_does_not_run_again() {
    for body in [json!({}), json!({ "force": true })] {
        let workshop = workshop();
        let _daemon = Daemon::start(&workshop.cli);
        let (id, runner) = start(&workshop, "one");
        signal(runner, Signal::KILL);
        owner(&workshop).post(&format!("/api/v1/jobs/{id}/cancel"), &body).expects(202);
        assert_stays_cancelled(&workshop, &id);
    }
}

#[test]
fn nor_does_one_that_stood_still_when_it_was_cancelled() {
    let workshop = workshop();
    let _daemon = Daemon::start(&workshop.cli);
    let (id, runner) = start(&workshop, "one");
    signal(runner, Signal::STOP);
    owner(&workshop).post(&format!("/api/v1/jobs/{id}/cancel"), &json!({})).expects(202);
    kill(runner);
    assert_stays_cancelled(&workshop, &id);
}

#[test]
fn nor_does_one_that_is_cancelled_while_the_daemon_stands_still() {
    let workshop = workshop();
    let daemon = Daemon::start(&workshop.cli);
    let (id, runner) = start(&workshop, "one");
    stop(&workshop, &daemon);
    kill(runner);
    // This command finds the process dead, and says so before it cancels.
    let ran = workshop.cli.run(&["cancel", "--json", &id]).ok();
    assert_eq!(ran.json()["status"], "cancelled", "{}", ran.told());
    signal(daemon.id(), Signal::CONT);
    assert_stays_cancelled(&workshop, &id);
}

#[test]
fn nor_does_one_that_is_cancelled_on_another_machine() {
    let sandbox = Sandbox::on_postgres();
    let workshop = of(&sandbox);
    let daemon = Daemon::start(&workshop.cli);
    let (id, runner) = start(&workshop, "one");
    let elsewhere = workshop.cli.with_variable("SPINNEY_HOME", workshop.beside("elsewhere"));
    let there = Daemon::start(&elsewhere);
    let client = HttpClient::unix(workshop.beside("elsewhere/serve.socket"));
    // Nobody here looks until it is cancelled there.
    stop(&workshop, &daemon);
    kill(runner);
    let reply = client.post(&format!("/api/v1/jobs/{id}/cancel"), &json!({})).expects(202).json();
    assert_eq!((&reply["status"], &reply["cancel"]), (&json!("running"), &json!("asked")), "{reply:#}");
    signal(daemon.id(), Signal::CONT);
    assert_stays_cancelled(&workshop, &id);
    there.terminate();
}

#[test]
fn one_that_was_told_to_end_and_is_cancelled_before_it_has_is_cancelled() {
    let workshop = workshop();
    let daemon = Daemon::start(&workshop.cli);
    let (id, runner) = start(&workshop, "one");
    // Its end is written when the cancel is known.
    stop(&workshop, &daemon);
    signal(runner, Signal::STOP);
    signal(runner, Signal::TERM);
    let cancel = workshop.cli.spawn(&["cancel", "--json", &id]);
    wait_until(|| workshop.job(&id).0["cancel"] == "asked", LONG);
    signal(runner, Signal::CONT);
    assert_eq!(cancel.wait().ok().json()["status"], "cancelled");
    signal(daemon.id(), Signal::CONT);
    assert_stays_cancelled(&workshop, &id);
}

#[test]
fn an_interrupted_job_can_be_cancelled_and_tried_again() {
    let workshop = Workshop::new("");
    let id = workshop.detach(&["--issue", "7"], &format!("{}\nwrite a.txt a", workshop.hold("one")));
    workshop.wait_for_agent("one");
    kill(runner_of(&id).unwrap());
    workshop.wait_for(&id, "interrupted");
    workshop.cli.run(&["cancel", &id]).ok();
    workshop.job(&id).says(&["cancelled; its process died"]);
    let again = workshop.cli.run(&["cancel", &id]);
    assert!(again.stderr.contains("is cancelled, and there is nothing to cancel"), "{}", again.told());
    workshop.let_go("one");
    assert_eq!(workshop.retry(0, &id).0["attempt"], 2);
}
