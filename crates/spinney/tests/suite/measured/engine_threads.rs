//! The engine waits on threads of its own: however many requests are stuck in it, the daemon answers who asks for little.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use serde_json::json;
use spinney_testkit::{Daemon, wait_until};

/// More than the daemon has threads for requests, and more than it has for the engine.
const STUCK: usize = 40;
const MOST_AT_ONCE: usize = 32;
const LONG: Duration = Duration::from_secs(60);
/// Nobody waits longer for an answer that takes no work, though forty processes were started just now.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn requests_that_are_stuck_in_the_engine_hold_up_nobody_else() {
    let story = Story::new();
    let sandbox = story.sandbox();
    sandbox.write_config("[limits]\nmax_workspaces = 100\nmin_free_disk = \"0\"\n");
    let other = sandbox.repository("other").with_remote();
    let (came, release) = (sandbox.path().join("came"), sandbox.path().join("release"));
    fs::create_dir(&came).unwrap();
    // Waits in the middle of a creation, on the thread that has come there.
    let script = sandbox.path().join("wait.sh");
    let text = format!("touch {}/$$\nwhile [ ! -e {} ]; do sleep 0.1; done\n", came.display(), release.display());
    fs::write(&script, text).unwrap();
    let created = story.cli.run(&["token", "create", "--name", "t", "--scope", "admin", "--json"]).ok().json();
    story.cli.run(&["status"]).ok();
    let point = format!("create.recorded=run:{}", script.display());
    let daemon = Daemon::start(&story.cli.with_variable("SPINNEY_FAIL", &point));
    let client = daemon.client().with_token(created["token"].as_str().unwrap());
    let mut events = client.events("/api/v1/events");

    let asking: Vec<_> = (0..STUCK)
        .map(|number| {
            let client = client.clone();
            thread::spawn(move || {
                let asked = json!({ "repository": "local/app", "kind": "issue", "key": (number + 1).to_string() });
                // It may be killed before it answers.
                let client = client.with_header("Content-Type", "application/json");
                let _ = client.try_send("POST", "/api/v1/workspaces", asked.to_string().as_bytes());
            })
        })
        .collect();
    let stuck = || fs::read_dir(&came).unwrap().count();
    wait_until(|| stuck() == MOST_AT_ONCE, LONG);

    // What needs no engine is answered at once: health, lists, and pages of the store.
    for path in ["/health", "/ready", "/api/v1/workspaces", "/api/v1/jobs", "/api/v1/audit"] {
        for _ in 0..5 {
            let start = Instant::now();
            client.get(path).expects(200);
            assert!(start.elapsed() < SOON, "{path} took {:?}", start.elapsed());
        }
    }
    // And what happens elsewhere is heard.
    let cli = story.cli.in_directory(other.path());
    cli.run(&["new", "--task", "heard-of"]).ok();
    let start = Instant::now();
    loop {
        let event = events.next_event().expect("the stream goes on");
        if event.data.contains("task-heard-of") {
            break;
        }
        assert!(start.elapsed() < LONG, "it was not told");
    }
    assert_eq!(stuck(), MOST_AT_ONCE, "no more of them are let in at once");

    // Let go, they go on, and those that waited come in.
    fs::write(&release, "").unwrap();
    wait_until(|| stuck() == STUCK, LONG);
    for asked in asking {
        asked.join().unwrap();
    }
    // What was answered before it was over goes on behind the answer.
    let made = || client.get("/api/v1/workspaces?status=active&limit=100").expects(200).json();
    wait_until(|| made()["workspaces"].as_array().unwrap().len() == STUCK + 1, LONG);
    assert!(!daemon.said().contains("panicked"), "{}", daemon.said());
}
