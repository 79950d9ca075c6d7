//! The audit log: every change of a job or a workspace is in it once, in order.

#![expect(clippy::disallowed_methods, reason = "a tree vanishes from outside")]

use crate::support::job::{LONG, Process, Workshop, processes, read_pid};
use serde_json::Value;
use spinney_core::{Event, Recorded};
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{Daemon, HttpClient, wait_until};

fn events(workshop: &Workshop) -> Vec<Recorded> {
    let url = StoreUrl::parse(&workshop.story.sandbox().store_url()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&url).await.unwrap();
        let events = store.read().await.unwrap().events("local", 0, 1000).await.unwrap();
        events.into_iter().map(|(_, event)| event).collect()
    })
}

/// The events of a kind, by the beginning of its name, as `kind value` of a detail.
fn told(events: &[Recorded], kind: &str, detail: &str) -> Vec<String> {
    let text = |(kind, told): (String, Value)| match &told[detail] {
        Value::Null => kind,
        value => format!("{kind} {}", value.to_string().trim_matches('"')),
    };
    events.iter().map(|event| event.event.parts()).filter(|(own, _)| own.starts_with(kind)).map(text).collect()
}

fn of_job(events: &[Recorded], id: &str) -> Vec<String> {
    let events: Vec<_> =
        events.iter().filter(|event| event.job_id.as_ref().is_some_and(|job| job.as_str() == id)).cloned().collect();
    told(&events, "job.", "status")
}

#[test]
fn the_way_of_a_job_is_told_step_by_step() {
    let workshop = Workshop::new("");
    let failed = workshop.run(1, &["--issue", "1"], "write a.txt a\nexit 3");
    workshop.retry(1, failed.id());
    let attempt = ["job.started", "job.placed", "job.session running", "job.session failed", "job.ended failed"];
    let expected = [&["job.created"], &attempt[..], &["job.retried"], &attempt[..]].concat();
    let events = events(&workshop);
    assert_eq!(of_job(&events, failed.id()), expected);
    let placed = events.iter().find(|event| matches!(event.event, Event::JobPlaced { .. })).unwrap();
    let created = events.iter().find(|event| matches!(event.event, Event::WorkspaceCreated { .. })).unwrap();
    assert_eq!((&placed.workspace_id, &placed.repository_id), (&created.workspace_id, &created.repository_id));
    assert!(placed.workspace_id.is_some() && created.job_id.is_none());

    let completed = workshop.complete(&["--issue", "2"], "write b.txt b");
    let of_job = of_job(&self::events(&workshop), completed.id());
    assert_eq!(of_job[4..], ["job.session finished", "job.delivered", "job.ended completed"]);
}

#[test]
fn a_job_that_waits_says_for_what_and_is_cancelled_once() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let (pid, go) = (workshop.beside_text("pid"), workshop.beside_text("go"));
    let first = workshop.detach(&["--issue", "1"], &format!("pid {pid}\nwait-for {go}"));
    read_pid(&workshop.beside("pid"));
    let second = workshop.detach(&["--issue", "2"], "write a.txt a");
    wait_until(|| !told(&events(&workshop), "job.waiting", "waits_for").is_empty(), LONG);
    workshop.cli.run(&["cancel", &first]).ok();
    workshop.wait_for_end(&first);
    workshop.wait_for_end(&second);
    let events = events(&workshop);
    assert_eq!(told(&events, "job.waiting", "waits_for"), ["job.waiting a worker (1 of 1 busy)"]);
    assert_eq!(told(&events, "job.cancelling", "cancel").len(), 1);
    let of_first = of_job(&events, &first);
    assert_eq!(of_first[4..], ["job.cancelling", "job.session ended", "job.ended cancelled"]);
    assert_eq!(of_job(&events, &second)[..3], ["job.created", "job.waiting", "job.started"]);
}

#[test]
fn what_becomes_of_a_workspace_is_told_once() {
    let workshop = Workshop::new("[pool]\nsize = 1\n");
    let run = |arguments: &[&str]| workshop.cli.run(arguments).ok().stdout;
    run(&["new", "--issue", "1"]);
    run(&["pool", "fill"]);
    run(&["new", "--issue", "2"]);
    for command in ["pin", "pin", "unpin", "rm", "restore"] {
        run(&[command, "issue-1"]);
    }
    std::fs::remove_dir_all(run(&["path", "issue-2"]).trim()).unwrap();
    run(&["cleanup", "orphans", "--dry-run"]);
    run(&["cleanup", "orphans"]);
    run(&["new", "--issue", "2"]);
    run(&["rm", "issue-2"]);
    run(&["trash", "purge", "--all"]);
    // The pool is filled again beside all that.
    let home = workshop.story.sandbox().spinney_home();
    let fills =
        |process: &Process| process.line.contains(home.to_str().unwrap()) && process.line.contains("--background");
    wait_until(|| processes(fills).is_empty(), LONG);
    let events = events(&workshop);
    let of = |name: &str| {
        let events: Vec<_> = events.iter().filter(|event| event.event.detail()["name"] == name).cloned().collect();
        told(&events, "workspace.", "warm")
    };
    let changes = ["pinned", "unpinned", "removed", "restored"].map(|change| format!("workspace.{change}"));
    assert_eq!(of("issue-1"), [&["workspace.created false".to_owned()], &changes[..]].concat());
    let changes = ["created true", "lost", "created", "removed", "purged"].map(|change| format!("workspace.{change}"));
    assert_eq!(of("issue-2"), changes);
    assert_eq!(told(&events, "repository.", "name").len(), 1);
    let swept: Vec<_> = events.iter().filter(|event| matches!(event.event, Event::Swept { .. })).collect();
    assert_eq!(swept.len(), 1, "none of the dry run");
    assert_eq!(swept[0].event.detail()["findings"][0]["done"], "marked lost");
}

#[test]
fn who_did_it_is_told() {
    let workshop = Workshop::new("");
    let cli = workshop.cli.with_variable("USER", "ada");
    let created = cli.run(&["token", "create", "--json", "--name", "ci", "--scope", "write"]).ok().json();
    let job = cli.run(&["run", "--json", "--agent", "coder", "--issue", "1", "write a.txt a"]).ok().json();
    let daemon = Daemon::start(&workshop.cli);
    let socket = HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"));
    let token = daemon.client().with_token(created["token"].as_str().unwrap());
    let asked = |key: &str| serde_json::json!({ "repository": "local/app", "kind": "task", "key": key });
    token.post("/api/v1/workspaces", &asked("by-token")).expects(201);
    socket.post("/api/v1/workspaces", &asked("by-owner")).expects(201);
    daemon.client().with_token("spn_wrong").post("/api/v1/workspaces", &asked("by-nobody")).expects(401);
    let page = socket.get("/api/v1/audit?limit=200").expects(200).json();
    let actor = |kind: &str, name: &str| {
        let events = page["events"].as_array().unwrap();
        let is_it = |event: &&Value| event["kind"] == kind && (name.is_empty() || event["detail"]["name"] == name);
        events.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}: {page:#}"))["actor"].clone()
    };
    let ada = serde_json::json!({ "kind": "command_line", "id": null, "name": "ada", "of": null, "address": null });
    assert_eq!([actor("token.created", "ci"), actor("job.created", "")], [ada.clone(), ada]);
    for kind in ["job.started", "job.ended", "workspace.delivered"] {
        assert_eq!((&actor(kind, "")["kind"], &actor(kind, "")["id"]), (&Value::from("job"), &job["id"]), "{kind}");
    }
    assert_eq!(actor("workspace.created", "issue-1")["kind"], "job");
    let by_token = actor("workspace.created", "task-by-token");
    assert_eq!((&by_token["kind"], &by_token["id"]), (&Value::from("token"), &created["id"]));
    assert_eq!((&by_token["name"], &by_token["address"]), (&Value::from("ci"), &Value::from("127.0.0.1")));
    assert_eq!(actor("workspace.created", "task-by-owner")["kind"], "owner");
    let key = created["token"].as_str().unwrap();
    let session = daemon.client().post_form("/login", &[("key", key)]).expects(303);
    let shown = daemon.client().with_cookies_of(&session).get("/audit").expects(200).text();
    assert!(shown.contains("token ci from 127.0.0.1") && shown.contains("ada, command line"), "{shown}");
    assert!(shown.contains("browser, "), "whoever looks began a session: {shown}");
}
