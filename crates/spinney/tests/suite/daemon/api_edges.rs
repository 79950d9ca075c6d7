//! The API at its edges: what is broken beside, what is asked again, what is changed under way.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::api::{Served, create_token, names, refused, text};
use crate::support::job::LONG;
use serde_json::{Value, json};
use spinney_testkit::{HttpClient, wait_until};

/// A second repository of the owner's, known to the daemon: its place, and what is told of it.
fn another(served: &Served, name: &str) -> (PathBuf, Value) {
    let path = served.workshop.story.sandbox().repository(name).path().to_owned();
    let told = served.client.post("/api/v1/repositories", &json!({ "path": path })).expects(201).json();
    (path, told)
}

#[test]
fn a_repository_that_can_not_be_opened_hides_no_other() {
    let served = Served::new("");
    let (broken, row) = another(&served, "broken");
    fs::write(broken.join("spinney.toml"), "[workspace\n").unwrap();
    let mut pools = served.get("/api/v1/pool");
    assert_eq!(
        (&pools["pools"][0]["repository"], pools["pools"].as_array().unwrap().len()),
        (&json!(served.repository()), 1)
    );
    assert_eq!(names(&pools, "failed"), [text(&row, "name")]);
    assert!(text(&pools["failed"][0]["error"], "message").contains("spinney.toml"), "{pools}");
    let elsewhere = served.workshop.cli.in_directory(served.workshop.story.sandbox().path());
    let mut told = elsewhere.run(&["pool", "status", "--json"]).ok().json();
    // Each says what helps in its own terms, and all else alike.
    let [own, others] = [&mut told, &mut pools].map(|pools| pools["failed"][0]["error"]["hints"].take());
    assert_eq!(
        (&own[0], &others[0]),
        (&json!("fix the file; `spinney config validate` checks it"), &json!("fix the file, and try again"))
    );
    assert_eq!(told, pools);

    // One that was moved away is the place's fault, not the server's.
    let moved = broken.with_file_name("moved");
    fs::rename(&broken, &moved).unwrap();
    assert_eq!(names(&served.get("/api/v1/pool"), "failed"), [text(&row, "name")]);
    let work = json!({ "repository": row["name"], "kind": "issue", "key": "1" });
    refused(&served.client.post("/api/v1/workspaces", &work), 409, "failed");
    refused(
        &served.client.send("POST", &format!("/api/v1/repositories/{}/sync", text(&row, "id")), b""),
        409,
        "failed",
    );
}

#[test]
fn what_is_asked_again_is_answered_again_with_where_to_go_on() {
    let served = Served::new("");
    let body = json!({ "repository": served.repository(), "agent": "coder", "prompt": "print x" });
    let keyed = served.client.with_header("Idempotency-Key", "one");
    let first = keyed.post("/api/v1/jobs", &body).expects(202);
    let place = format!("/api/v1/jobs/{}", text(&first.json(), "id"));
    assert_eq!(first.header("location"), Some(place.as_str()));
    let again = keyed.post("/api/v1/jobs", &body).expects(202);
    assert_eq!((again.header("idempotency-replayed"), again.header("location")), (Some("true"), Some(place.as_str())));
    served.wait_for(&text(&first.json(), "id"), "completed");

    // Another query asks for something else.
    let own = format!("/api/v1/workspaces/{}", text(&served.issue(1), "id"));
    let keyed = served.client.with_header("Idempotency-Key", "two");
    keyed.delete(&format!("{own}?force=false")).expects(200);
    refused(&keyed.delete(&format!("{own}?force=true")), 422, "usage");
    assert_eq!(keyed.delete(&format!("{own}?force=false")).expects(200).header("idempotency-replayed"), Some("true"));
}

#[test]
fn a_clone_that_takes_long_is_made_by_the_job_and_not_by_the_request() {
    // Takes connections, and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/library.git", silent.local_addr().unwrap());
    let served = Served::new(&format!(
        "working_directory = {{ url = \"{url}\", auto_clone = true }}\n\
         [agents.coder.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n"
    ));
    let began = Instant::now();
    // Nobody names a repository here that the agent does not work on.
    let id = served.workshop.detach(&["--issue", "1"], "print x");
    let job = served.get(&format!("/api/v1/jobs/{id}"));
    // Nor does who only looks wait for it.
    let schedules = served.get("/api/v1/schedules");
    assert!(text(&schedules["problems"][0], "message").contains("not cloned yet"), "{schedules}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(job["repository"], json!(served.repository()), "it stands for the clone until that is made");
    let log = format!("/api/v1/jobs/{id}/log");
    wait_until(|| served.client.get(&log).expects(200).text().contains("clones `http"), LONG);
    served.client.send("POST", &format!("/api/v1/jobs/{id}/cancel"), b"").expects(202);
    served.wait_for(&id, "cancelled");
}

/// The audit log of whoever asks, newest first: what happened, and its details.
fn audit(client: &HttpClient) -> Vec<(String, Value)> {
    let page = client.get("/api/v1/audit?limit=200").expects(200).json();
    page["events"].as_array().unwrap().iter().map(|event| (text(event, "kind"), event["detail"].clone())).collect()
}

#[test]
fn the_audit_log_tells_each_account_who_came_and_what_they_did() {
    let served = Served::new(
        "working_directory = \"REPOSITORY\"\n\
         [agents.coder.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n",
    );
    let stranger = served.stranger();
    let theirs = create_token(&served.workshop, "read", &["--account", "acme"]);
    let browser = served.daemon.client();
    let logged_in = browser.post_form("/login", &[("key", &theirs)]).expects(303);
    let session = browser.with_cookies_of(&logged_in);
    let page = session.get("/").expects(200).text();
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
    session.post_form("/logout", &[("csrf", rest.split('"').next().unwrap())]).expects(303);
    browser.post_form("/login", &[("key", &format!("spn_{}", "1".repeat(64)))]).expects(401);
    for (agent, name) in [("coder", "late"), ("-", "trash")] {
        for verb in ["pause", "resume", "run"] {
            served.client.send("POST", &format!("/api/v1/schedules/{agent}/{name}/{verb}"), b"").expects(200);
        }
    }

    let own = audit(&served.client);
    // Chores go on by themselves.
    let kinds = |events: &[(String, Value)]| {
        let kinds = events.iter().map(|(kind, _)| kind.clone());
        kinds.filter(|kind| !kind.starts_with("cleanup.")).collect::<Vec<_>>()
    };
    let with = |kind: &str, key: &str| {
        let found = own.iter().filter(|(other, _)| other == kind).map(|(_, detail)| detail[key].clone());
        found.collect::<Vec<_>>()
    };
    assert_eq!(with("account.added", "name"), ["acme"]);
    assert_eq!(with("login.failed", "from"), ["127.0.0.1"]);
    for kind in ["schedule.paused", "schedule.resumed", "schedule.asked"] {
        assert_eq!(with(kind, "name"), ["trash", "late"], "{kind}");
        assert_eq!(with(kind, "agent"), [Value::Null, json!("coder")], "{kind}");
    }
    assert!(own.iter().all(|(kind, _)| !kind.starts_with("session.")), "{:?}", kinds(&own));
    assert_eq!(kinds(&audit(&stranger)), ["session.ended", "session.begun", "token.created", "token.created"]);
    // The schedule that was asked for starts its job.
    wait_until(|| served.workshop.jobs().iter().any(|job| job.text("status") == "completed"), LONG);
    served.workshop.wait_for_end(served.workshop.jobs()[0].text("id"));
}

#[test]
fn how_the_process_fares_is_for_the_owner_alone() {
    let served = Served::new("");
    let writer = create_token(&served.workshop, "write", &[]);
    let told = |client: &HttpClient| client.get("/metrics").expects(200).text();
    let of_process = ["spinney_http_request_duration_seconds", "spinney_process_resident_memory_bytes"];
    let metrics = told(&served.client);
    assert!(of_process.iter().all(|name| metrics.contains(name)), "{metrics}");
    for other in [served.daemon.client().with_token(&writer), served.stranger()] {
        let metrics = told(&other);
        assert!(metrics.contains("spinney_workspaces{") && metrics.contains("spinney_pool_hits_total 0"), "{metrics}");
        assert!(!of_process.iter().any(|name| metrics.contains(name)), "{metrics}");
    }
}

#[test]
fn a_refusal_names_what_a_request_can_say() {
    let served = Served::new("");
    let made = served.issue(1);
    fs::write(Path::new(&text(&made, "path")).join("notes"), "work").unwrap();
    let own = format!("/api/v1/workspaces/{}", text(&made, "id"));
    let hints = refused(&served.client.delete(&own), 409, "blocked")["hints"].to_string();
    assert!(hints.contains("`allow`") && hints.contains("`force`") && !hints.contains("--"), "{hints}");
    let (_, other) = another(&served, "other");
    let third = served.workshop.story.sandbox().repository("third");
    let taken = json!({ "path": third.path(), "name": other["name"] });
    let hints = refused(&served.client.post("/api/v1/repositories", &taken), 400, "usage")["hints"].to_string();
    assert!(hints.contains("`name`") && !hints.contains("--"), "{hints}");
}

#[test]
fn behind_a_proxy_one_guesser_does_not_lock_others_out() {
    let served = Served::new("");
    let from = |address: &str| served.daemon.client().with_header("X-Forwarded-For", address);
    let guess = |address: &str| from(address).post_form("/login", &[("key", "spn_x")]);
    for _ in 0..10 {
        guess("198.51.100.1, 203.0.113.7").expects(401);
    }
    guess("198.51.100.2, 203.0.113.7").expects(429);
    guess("203.0.113.8").expects(401);
    let token = create_token(&served.workshop, "read", &[]);
    from("203.0.113.8").post_form("/login", &[("key", &token)]).expects(303);
}

#[test]
fn a_cleanup_that_has_no_interval_runs_when_the_daemon_starts_and_not_again() {
    let served = Served::new("[cleanup]\ninterval = \"0\"\non_startup = true\n");
    let chore = || {
        let schedules = served.get("/api/v1/schedules");
        let found = schedules["schedules"].as_array().unwrap().iter().find(|row| row["name"] == "cleanup");
        found.unwrap_or_else(|| panic!("{schedules}")).clone()
    };
    wait_until(|| chore()["last_started_at"].is_string(), LONG);
    assert_eq!((&chore()["planned_at"], &chore()["timing"]), (&Value::Null, &json!("never")));
}

#[test]
fn a_schedule_that_can_not_run_is_told_before_it_is_missed() {
    let served =
        Served::new("[agents.coder.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n");
    let cli = &served.workshop.cli;
    let doctor = cli.run(&["doctor", "--json"]).exits(1).json();
    let found = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "schedule").cloned();
    let check = found.unwrap_or_else(|| panic!("{doctor}"));
    assert!(text(&check, "fact").starts_with("coder/late: "), "{check}");
    assert!(text(&check, "fix").contains("agents.coder.working_directory"), "{check}");
    let validated = cli.run(&["config", "validate", "--json"]).ok().json();
    assert_eq!((&validated["valid"], &validated["problems"][0]["fact"]), (&json!(true), &check["fact"]));
    assert!(cli.run(&["config", "validate"]).ok().stderr.contains("coder/late: "));
    let path = served.workshop.story.repository.path().display().to_string();
    served.workshop.configure(&format!(
        "working_directory = {path:?}\n\
         [agents.coder.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n"
    ));
    cli.run(&["doctor"]).ok();
    assert_eq!(cli.run(&["config", "validate", "--json"]).ok().json()["problems"], json!([]));
}
