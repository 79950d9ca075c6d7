//! The daemon from its start to its end: what it takes up, what it leaves, what it does by itself.

use std::fs;

use crate::support::job::{LONG, Workshop, is_alive, runner_of, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use spinney_testkit::{Daemon, HttpClient, wait_until};

/// The owner's client, over the Unix socket.
fn owner(workshop: &Workshop) -> HttpClient {
    HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"))
}

#[track_caller]
fn start_job(client: &HttpClient, key: &str, prompt: &str) -> String {
    let asked = json!({ "repository": "local/app", "agent": "coder", "kind": "issue", "key": key, "prompt": prompt });
    let job = client.post("/api/v1/jobs", &asked).expects(202).json();
    job["id"].as_str().unwrap().to_owned()
}

fn job(client: &HttpClient, id: &str) -> Value {
    client.get(&format!("/api/v1/jobs/{id}")).expects(200).json()
}

#[track_caller]
fn wait_for(client: &HttpClient, id: &str, status: &str) -> Value {
    wait_until(|| job(client, id)["status"] == status, LONG);
    job(client, id)
}

/// A workshop whose repository the daemon knows.
fn workshop(settings: &str) -> Workshop {
    let workshop = Workshop::new(settings);
    workshop.cli.run(&["status"]).ok();
    workshop
}

#[test]
fn a_running_job_outlives_the_daemon_and_the_next_one_follows_it() {
    let workshop = workshop("");
    let daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let id = start_job(&client, "1", &format!("{}\nwrite a.txt a", workshop.hold("one")));
    let agent = workshop.wait_for_agent("one");
    assert_eq!(daemon.terminate().status, 0);
    assert!(is_alive(agent), "its agent goes on");
    let _daemon = Daemon::start(&workshop.cli);
    assert_eq!(job(&client, &id)["status"], "running");
    workshop.let_go("one");
    let ended = wait_for(&client, &id, "completed");
    assert_eq!((ended["attempt"].as_u64(), ended["commits"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn an_interrupted_job_is_taken_up_again_as_often_as_its_agent_says() {
    let workshop = workshop("max_attempts = 2\n[limits]\nmax_workers = 1\n");
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let id = start_job(&client, "1", &format!("{}\nwrite a.txt a", workshop.hold("one")));
    workshop.wait_for_agent("one");
    // One that waits settles those that died, too.
    let other = start_job(&client, "2", "write b.txt b");
    for attempt in 1..=2 {
        wait_until(|| job(&client, &id)["attempt"] == attempt && workshop.beside("one.pid").exists(), LONG);
        workshop.wait_for_agent("one");
        let runner = runner_of(&id).unwrap();
        fs::remove_file(workshop.beside("one.pid")).unwrap();
        signal(runner, Signal::KILL);
    }
    let ended = wait_for(&client, &id, "interrupted");
    assert_eq!(ended["attempt"], 2, "and no more");
    wait_for(&client, &other, "completed");
}

#[test]
fn a_job_over_the_limit_waits_for_room_and_goes_on_when_there_is_some() {
    let workshop = workshop("[limits]\nmax_workspaces = 1\n");
    let other = workshop.complete(&["--issue", "1"], "write a.txt a");
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let id = start_job(&client, "2", "write b.txt b");
    wait_until(|| job(&client, &id)["waits_for"].as_str().is_some_and(|text| text.starts_with("room: ")), LONG);
    assert_eq!(job(&client, &id)["status"], "pending");
    workshop.cli.run(&["rm", "--force", other.text("workspace")]).ok();
    let ended = wait_for(&client, &id, "completed");
    assert_eq!(ended["attempt"], 1, "waiting is no attempt");
}

#[test]
fn a_directory_that_vanished_is_shown_as_lost() {
    let workshop = workshop("");
    let workspace = workshop.story.make(&["--issue", "1"]);
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let status = || client.get("/api/v1/workspaces").expects(200).json()["workspaces"][0]["status"].clone();
    assert_eq!(status(), "active");
    fs::rename(workspace.path(), workshop.beside("aside")).unwrap();
    wait_until(|| status() == "lost", LONG);
    workshop.story.make(&["--issue", "1"]);
}

#[test]
fn files_of_a_directory_are_worked_off_by_schedule() {
    let workshop = Workshop::new("");
    let tasks = workshop.beside("tasks");
    fs::create_dir(&tasks).unwrap();
    fs::write(tasks.join("first.md"), "# write title.txt first\n\nwrite first.txt one\n").unwrap();
    let root = workshop.story.repository.path().display().to_string();
    workshop.configure(&format!(
        "working_directory = \"{root}\"\n[agents.coder.schedules.tasks]\ntype = \"interval\"\ninterval = \"1s\"\n\
         work_source = {{ type = \"file\", path = \"{}\" }}\n",
        tasks.display()
    ));
    workshop.cli.run(&["status"]).ok();
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    wait_until(|| tasks.join("done/first.md").exists(), LONG);
    client.post("/api/v1/schedules/coder/tasks/pause", &json!({})).expects(200);
    let listed = client.get("/api/v1/schedules").expects(200).json();
    let schedules = listed["schedules"].as_array().unwrap();
    let own = schedules.iter().find(|schedule| schedule["name"] == "tasks").unwrap();
    assert_eq!((&own["agent"], &own["paused"]), (&json!("coder"), &json!(true)));
    for chore in ["cleanup", "orphans", "trash", "sessions", "pool", "sizes"] {
        assert!(schedules.iter().any(|schedule| schedule["name"] == chore && schedule["agent"].is_null()), "{chore}");
    }
    client.post("/api/v1/schedules/coder/none/run", &json!({})).expects(404);
}

#[test]
fn a_chore_runs_when_it_is_asked_for_and_tells_what_it_did() {
    let workshop = workshop("[cleanup]\non_startup = false\ninterval = \"0\"\n");
    workshop.complete(&["--issue", "1"], "write a.txt a");
    let main = workshop.story.repository.path();
    workshop.git(main, &["push", "--quiet", "origin", "agent/coder/issue-1:main"]);
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let chore = |name: &str| {
        let listed = client.get("/api/v1/schedules").expects(200).json();
        let schedules = listed["schedules"].as_array().unwrap().clone();
        schedules.into_iter().find(|schedule| schedule["name"] == name).unwrap_or_default()
    };
    let report = || chore("cleanup");
    // The trash is looked at after the chores that are turned off.
    wait_until(|| chore("trash")["last_report"].is_object(), LONG);
    for off in ["cleanup", "orphans"] {
        assert_eq!(chore(off)["last_report"], Value::Null, "{off} does nothing by itself");
    }
    client.post("/api/v1/schedules/-/cleanup/run", &json!({})).expects(200);
    wait_until(|| !report()["last_report"].is_null(), LONG);
    let told = report();
    assert_eq!(told["last_report"]["removed"].as_array().map(Vec::len), Some(1), "{told:#}");
}

#[test]
fn a_home_that_nothing_was_done_in_has_a_daemon_with_its_chores() {
    let sandbox = spinney_testkit::Sandbox::new();
    let cli = sandbox.cli(crate::support::common::BINARY);
    let daemon = Daemon::start(&cli);
    let client = HttpClient::unix(sandbox.spinney_home().join("serve.socket"));
    let done = || {
        let listed = client.get("/api/v1/schedules").expects(200).json();
        let orphans = listed["schedules"].as_array().unwrap().iter().find(|chore| chore["name"] == "orphans").cloned();
        orphans.is_some_and(|chore| chore["last_report"]["findings"].is_array())
    };
    wait_until(done, LONG);
    assert!(!daemon.said().contains("FOREIGN KEY"), "{}", daemon.said());
}

#[test]
fn a_stream_ends_when_its_token_is_revoked() {
    let workshop = workshop("");
    let daemon = Daemon::start(&workshop.cli);
    let created = workshop.cli.run(&["token", "create", "--name", "reader", "--scope", "read", "--json"]).ok().json();
    let client = daemon.client().with_token(created["token"].as_str().unwrap());
    let mut events = client.events("/api/v1/events");
    assert!(events.next_line().is_some(), "it begins");
    workshop.cli.run(&["token", "revoke", "reader"]).ok();
    client.get("/api/v1/workspaces").expects(401);
    // What was told before it ended may still come.
    while events.next_line().is_some() {}
}

#[test]
fn a_job_whose_process_can_not_even_begin_is_not_started_for_ever() {
    let workshop = workshop("max_attempts = 3\n");
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let config = workshop.story.sandbox().config_file();
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}\nbroken = [\n")).unwrap();
    let id = start_job(&client, "1", "write a.txt a");
    let resumed = || job(&client, &id)["status"] == "interrupted";
    wait_until(resumed, LONG);
    // It is looked at every two seconds: the last time that it could be taken up again has passed.
    wait_until(|| taken_up(&_daemon, &id) == 2, LONG);
    wait_until(resumed, LONG);
    fs::write(&config, before).unwrap();
    workshop.cli.run(&["jobs"]).ok();
    assert_eq!(taken_up(&_daemon, &id), 2);
}

/// How often the daemon says that it took a job up again.
fn taken_up(daemon: &Daemon, id: &str) -> usize {
    daemon.said().lines().filter(|line| line.contains("taken up again") && line.contains(id)).count()
}

#[test]
fn a_link_leads_to_where_the_daemon_listens() {
    let workshop = workshop("");
    let link = || workshop.cli.run(&["token", "link"]).ok().stdout;
    assert!(link().starts_with("http://127.0.0.1:7420/login?key="), "{}", link());
    let daemon = Daemon::start(&workshop.cli);
    assert!(link().starts_with(&daemon.url("/login?key=")), "{}", link());
    daemon.terminate();
    assert!(link().starts_with("http://127.0.0.1:7420/login?key="), "{}", link());
}

#[test]
fn a_schedule_that_keeps_failing_is_paused_and_home_says_so() {
    let workshop = Workshop::new("");
    let root = workshop.story.repository.path().display().to_string();
    workshop.configure(&format!(
        "working_directory = \"{root}\"\n[agents.coder.schedules.hopeless]\ntype = \"interval\"\ninterval = \"1s\"\n\
         prompt = \"exit 3\"\n"
    ));
    workshop.cli.run(&["status"]).ok();
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    wait_until(|| client.get("/").expects(200).text().contains("it failed 5 times in a row"), LONG);
    let listed = client.get("/api/v1/schedules").expects(200).json();
    let own = listed["schedules"].as_array().unwrap().iter().find(|schedule| schedule["name"] == "hopeless").unwrap();
    assert_eq!(own["paused"], true);
}

#[test]
fn the_daemon_measures_what_the_trees_take() {
    let workshop = workshop("");
    let made = workshop.story.make(&["--issue", "1"]);
    fs::write(made.path().join("big"), vec![1; 1 << 20]).unwrap();
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    wait_until(|| !client.get("/").expects(200).text().contains("not measured yet"), LONG);
    let listed = client.get("/api/v1/workspaces").expects(200).json();
    assert!(listed["workspaces"][0]["size_bytes"].as_u64().unwrap() > 1 << 20, "{listed:#}");
}

#[test]
fn a_job_that_is_retried_has_no_error_of_before() {
    let workshop = workshop("");
    let _daemon = Daemon::start(&workshop.cli);
    let client = owner(&workshop);
    let id = start_job(&client, "1", "exit 3");
    assert!(!wait_for(&client, &id, "failed")["error"].is_null());
    let retried = client.post(&format!("/api/v1/jobs/{id}/retry"), &json!({})).expects(202).json();
    assert_eq!(retried["error"], Value::Null, "{retried:#}");
    wait_for(&client, &id, "failed");
}
