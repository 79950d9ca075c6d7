//! What the tools do, for a client on stdin and stdout.

use std::fs;

use serde_json::{Value, json};
use spinney_testkit::McpClient;

use crate::support::common::Story;
use crate::support::job::Workshop;

fn codes(document: &Value) -> Vec<&str> {
    document["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn a_workspace_is_made_judged_removed_and_brought_back() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let made = client.call("workspace_new", &json!({ "kind": "issue", "key": "42", "title": "the bug" }));
    assert_eq!(
        (&made["name"], &made["method"], &made["branch"]),
        (&json!("issue-42"), &json!("created"), &json!("issue-42"))
    );
    let again = client.call("workspace_new", &json!({ "kind": "issue", "key": "42" }));
    assert_eq!((&again["id"], &again["method"]), (&made["id"], &json!("reused")));
    let path = std::path::PathBuf::from(made["path"].as_str().unwrap());
    fs::write(path.join("work.txt"), "mine").unwrap();
    fs::write(path.join("README.md"), "changed").unwrap();

    let verdict = client.call("workspace_why", &json!({ "name": "issue-42" }));
    assert_eq!(verdict["removable"], false);
    let refused = client.refused("workspace_remove", &json!({ "name": "issue-42" }));
    assert_eq!(refused["kind"], "blocked");
    assert_eq!(codes(&refused), codes(&verdict), "a refusal has every reason");
    assert!(codes(&refused).contains(&"untracked") && codes(&refused).contains(&"dirty"), "{refused}");
    let hints = refused["hints"].to_string();
    assert!(hints.contains("never forces") && !hints.contains("--force") && !hints.contains("/api/"), "{hints}");
    let forced = client.wrong("workspace_remove", &json!({ "name": "issue-42", "force": true }));
    assert!(forced["message"].as_str().unwrap().contains("unknown field `force`"), "{forced}");
    assert!(path.join("work.txt").is_file());

    fs::remove_file(path.join("work.txt")).unwrap();
    story.sandbox().git(&path, &["checkout", "--", "."]);
    let gone = client.call("workspace_remove", &json!({ "name": "issue-42" }));
    assert_eq!((&gone["status"], path.exists()), (&json!("trashed"), false));
    let back = client.call("workspace_restore", &json!({ "name": gone["id"] }));
    assert_eq!((&back["status"], path.is_dir()), (&json!("active"), true));
    assert_eq!(client.close().0, 0);
}

#[test]
fn workspaces_are_listed_in_parts_that_fit() {
    let story = Story::new();
    story.sandbox().write_config("[limits]\nmax_workspaces = 100\n");
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let title = "t".repeat(900);
    for number in 1..=30 {
        client.call("workspace_new", &json!({ "kind": "issue", "key": number.to_string(), "title": title }));
    }
    let (mut names, mut cursor, mut parts) = (Vec::new(), Value::Null, 0);
    loop {
        let mut asked = json!({ "limit": 200 });
        if cursor.is_string() {
            asked["cursor"] = cursor;
        }
        let page = client.call("workspace_list", &asked);
        assert!(page.to_string().len() <= 30_000 && page["shortened"].is_null());
        names.extend(page["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()));
        parts += 1;
        cursor = page["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    names.sort();
    names.dedup();
    assert!(names.len() == 30 && parts > 1, "{names:?} in {parts}");
    let refused = client.refused("workspace_list", &json!({ "cursor": "x" }));
    assert_eq!(refused["kind"], "usage");
}

#[test]
fn a_job_is_asked_for_followed_and_read() {
    let workshop = Workshop::new("");
    let mut client = McpClient::start(&workshop.cli, &["mcp"]);
    let context = client.call("context", &json!({}));
    assert_eq!(context["agents"][0]["name"], "coder");
    let prompt = format!("{}\nwrite a.txt {}", workshop.hold("a"), "x".repeat(40));
    let job = client.call("run", &json!({ "prompt": prompt, "kind": "issue", "key": "7" }));
    assert!(matches!(job["status"].as_str(), Some("pending" | "running")), "{job}");
    workshop.wait_for_agent("a");
    let waited = client.call("job_wait", &json!({ "id": job["id"], "seconds": 1 }));
    assert_eq!(waited["status"], "running");
    workshop.let_go("a");
    let ended = client.call("job_wait", &json!({ "id": job["id"] }));
    assert_eq!((&ended["status"], &ended["pushed"]), (&json!("completed"), &json!(true)), "{ended}");

    let (mut cursor, mut events) = (Value::Null, Vec::new());
    loop {
        let mut asked = json!({ "id": job["id"], "log": true });
        if cursor.is_string() {
            asked["cursor"] = cursor;
        }
        let part = client.call("job_get", &asked);
        let new = part["events"].as_array().unwrap().clone();
        cursor = part["next"].clone();
        events.extend(new);
        if cursor.is_null() {
            break;
        }
    }
    let phases: Vec<_> = events.iter().filter_map(|event| event["phase"].as_str()).collect();
    assert!(phases.contains(&"session") && phases.contains(&"deliver"), "{phases:?}");

    let uri = format!("spinney://jobs/{}/log", job["id"].as_str().unwrap());
    let read = client.request("resources/read", &json!({ "uri": uri }));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["events"][0], events[0]);
    let uri = format!("spinney://workspaces/{}", ended["workspace_id"].as_str().unwrap());
    let read = client.request("resources/read", &json!({ "uri": uri }));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("\"issue-7\""), "{read}");
    let templates = client.request("resources/templates/list", &json!({}));
    assert_eq!(templates["result"]["resourceTemplates"].as_array().unwrap().len(), 2);
}

#[test]
fn a_flood_of_output_is_told_in_parts() {
    let workshop = Workshop::new("");
    let mut client = McpClient::start(&workshop.cli, &["mcp"]);
    let job = client
        .call("run", &json!({ "prompt": format!("flood 200000\nlong-line 100000\nprint {}", "y".repeat(40_000)) }));
    client.call("job_wait", &json!({ "id": job["id"] }));
    let (mut cursor, mut parts, mut events) = ("0".to_owned(), 0, 0);
    loop {
        let part = client.call("job_get", &json!({ "id": job["id"], "cursor": cursor }));
        assert!(part.to_string().len() <= 30_000, "{}", part.to_string().len());
        parts += 1;
        events += part["events"].as_array().unwrap().len();
        let Some(next) = part["next"].as_str() else { break };
        assert_ne!(next, cursor, "it does not end");
        next.clone_into(&mut cursor);
    }
    assert!(parts > 10, "{parts}");
    // Whatever else is cut for room, no event is left out.
    let log = story_log(&workshop, job["id"].as_str().unwrap());
    assert_eq!(events, log.lines().count());
}

fn story_log(workshop: &Workshop, id: &str) -> String {
    let logs = workshop.story.sandbox().spinney_home().join("logs");
    fs::read_to_string(logs.join(format!("{id}.jsonl"))).unwrap()
}

#[test]
fn who_waits_with_a_token_hears_of_progress() {
    let workshop = Workshop::new("");
    let mut client = McpClient::start(&workshop.cli, &["mcp"]);
    let job = client.call("run", &json!({ "prompt": workshop.hold("a") }));
    workshop.wait_for_agent("a");
    let params = json!({ "name": "job_wait", "arguments": { "id": job["id"] }, "_meta": { "progressToken": "p1" } });
    let id = client.begin("tools/call", &params);
    let told = [client.next_message(), client.next_message()];
    for message in &told {
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p1"))
        );
        assert!(message["params"]["message"].as_str().unwrap().ends_with("is running"), "{message}");
    }
    assert!(told[1]["params"]["progress"].as_f64() > told[0]["params"]["progress"].as_f64());
    workshop.let_go("a");
    assert_eq!(client.answer(id)["result"]["structuredContent"]["status"], "completed");
}

#[test]
fn a_job_is_cancelled_and_nothing_is_left_running() {
    let workshop = Workshop::new("");
    let mut client = McpClient::start(&workshop.cli, &["mcp"]);
    let job = client.call("run", &json!({ "prompt": workshop.hold("a") }));
    workshop.wait_for_agent("a");
    client.call("job_cancel", &json!({ "id": job["id"], "force": true }));
    assert_eq!(client.call("job_wait", &json!({ "id": job["id"] }))["status"], "cancelled");
    let again = client.refused("job_cancel", &json!({ "id": job["id"] }));
    assert_eq!(again["kind"], "blocked");
    workshop.wait_for_end(job["id"].as_str().unwrap());
}

#[test]
fn conflicts_are_told_and_work_is_delivered() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    for number in ["1", "2"] {
        let made = client.call("workspace_new", &json!({ "kind": "issue", "key": number }));
        let path = std::path::PathBuf::from(made["path"].as_str().unwrap());
        fs::write(path.join("README.md"), format!("of {number}\n")).unwrap();
        let delivered =
            client.call("deliver", &json!({ "name": format!("issue-{number}"), "message": "say whose it is" }));
        assert_eq!(
            (&delivered["push"], &delivered["committed"]),
            (&json!("pushed"), &json!(["README.md"])),
            "{delivered}"
        );
    }
    let conflicts = client.call("conflicts", &json!({}));
    assert_eq!(conflicts["conflicts"][0]["workspaces"], json!(["issue-1", "issue-2"]), "{conflicts}");
    assert_eq!(conflicts["next"], Value::Null);
    assert!(!story.remote().tip("issue-1").is_empty());
}
