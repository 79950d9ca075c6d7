//! Agents of jobs that ask for jobs themselves.

use serde_json::json;
use spinney_testkit::McpClient;

use crate::support::job::Workshop;

/// A job whose agent waits, and a client as that agent would start it.
fn inside(workshop: &Workshop, issue: &str) -> (String, McpClient) {
    let id = workshop.detach(&["--issue", issue], &workshop.hold(&format!("parent-{issue}")));
    workshop.wait_for_agent(&format!("parent-{issue}"));
    let client = as_agent(workshop, &id);
    (id, client)
}

fn as_agent(workshop: &Workshop, job: &str) -> McpClient {
    let path = workshop.job(job).path();
    McpClient::start(&workshop.cli.in_directory(path).with_variable("SPINNEY_JOB_ID", job), &["mcp"])
}

#[test]
fn a_parent_that_waits_leaves_its_worker_to_its_child() {
    let workshop = Workshop::new("max_concurrent = 1\n[limits]\nmax_workers = 1\n");
    let (parent, mut agent) = inside(&workshop, "1");
    let child = agent.call("run", &json!({ "prompt": "write child.txt x" }));
    // Nobody waits for it yet: the one worker is taken.
    let waits = workshop.wait_for(child["id"].as_str().unwrap(), "pending");
    assert_eq!(waits.text("status"), "pending");
    let ended = agent.call("job_wait", &json!({ "id": child["id"] }));
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(workshop.job(&parent).text("status"), "running");
    // The wait is over: others wait for the parent again.
    let other = workshop.detach(&["--issue", "2"], "write other.txt x");
    let waits = agent.call("context", &json!({}));
    assert_eq!(waits["job"]["may_start"], 3, "{waits}");
    spinney_testkit::wait_until(|| workshop.job(&other).0["waits_for"].is_string(), crate::support::job::LONG);
    workshop.let_go("parent-1");
    assert_eq!(workshop.wait_for(&parent, "completed").text("status"), "completed");
    workshop.wait_for(&other, "completed");
}

#[test]
fn a_wait_that_is_called_off_takes_the_worker_again() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let (parent, mut agent) = inside(&workshop, "1");
    let first = agent.call("run", &json!({ "prompt": workshop.hold("first"), "kind": "issue", "key": "2" }));
    let id = agent.begin("tools/call", &json!({ "name": "job_wait", "arguments": { "id": first["id"] } }));
    workshop.wait_for_agent("first");
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    // The call is not answered, and its id is free again.
    agent.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }));
    assert!(agent.answer(id)["result"]["tools"].is_array());
    workshop.let_go("first");
    workshop.wait_for(first["id"].as_str().unwrap(), "completed");
    let second = agent.call("run", &json!({ "prompt": "write b.txt b", "kind": "issue", "key": "3" }));
    let second = second["id"].as_str().unwrap();
    spinney_testkit::wait_until(|| workshop.job(second).0["waits_for"].is_string(), crate::support::job::LONG);
    assert_eq!(workshop.job(second).text("status"), "pending");
    workshop.let_go("parent-1");
    workshop.wait_for(&parent, "completed");
    workshop.wait_for(second, "completed");
}

#[test]
fn a_parent_may_have_four_children_and_those_none() {
    let workshop = Workshop::new("[limits]\nmax_workers = 8\n");
    let (parent, mut agent) = inside(&workshop, "1");
    let refused = agent.refused("run", &json!({ "prompt": "print x", "kind": "issue", "key": "1" }));
    assert!(refused["message"].as_str().unwrap().contains("itself works on"), "{refused}");
    let children: Vec<_> = (1..=4)
        .map(|number| {
            let hold = workshop.hold(&format!("child-{number}"));
            agent.call("run", &json!({ "prompt": hold, "kind": "issue", "key": format!("1{number}") }))
        })
        .collect();
    let refused = agent.refused("run", &json!({ "prompt": "print x" }));
    assert!(refused["message"].as_str().unwrap().contains("4 jobs already"), "{refused}");
    workshop.wait_for_agent("child-1");
    let mut grandparent = as_agent(&workshop, children[0]["id"].as_str().unwrap());
    let refused = grandparent.refused("run", &json!({ "prompt": "print x" }));
    assert!(refused["message"].as_str().unwrap().contains("may ask for none itself"), "{refused}");
    for number in 1..=4 {
        workshop.let_go(&format!("child-{number}"));
    }
    for child in &children {
        assert_eq!(agent.call("job_wait", &json!({ "id": child["id"] }))["status"], "completed");
    }
    let own = agent.refused("job_wait", &json!({ "id": parent }));
    assert!(own["message"].as_str().unwrap().contains("does not wait for itself"), "{own}");
    workshop.let_go("parent-1");
    workshop.wait_for(&parent, "completed");
    // What that job started is ended with it; somebody who has its id is told the same.
    workshop.wait_for_end(&parent);
    let late = workshop.cli.with_variable("SPINNEY_JOB_ID", &parent);
    let over = McpClient::start(&late, &["mcp"]).refused("run", &json!({ "prompt": "print x" }));
    assert!(over["message"].as_str().unwrap().contains("only the agent of a running job"), "{over}");
}

#[test]
fn an_agent_sees_its_own_workspace_and_what_it_asked_for() {
    let workshop = Workshop::new("[limits]\nmax_workers = 8\n");
    workshop.cli.run(&["new", "--issue", "99"]).ok();
    let stranger = workshop.complete(&["--issue", "98"], "write x.txt x");
    workshop.complete(&["--issue", "97"], "write x.txt y");
    let (parent, mut agent) = inside(&workshop, "1");
    let tools = agent.request("tools/list", &json!({}))["result"]["tools"].to_string();
    assert!(!tools.contains("\"workspace_new\"") && tools.contains("\"run\""));
    agent.wrong("workspace_new", &json!({ "kind": "issue", "key": "5" }));
    let child = agent.call("run", &json!({ "prompt": "write child.txt x", "kind": "issue", "key": "2" }));
    agent.call("job_wait", &json!({ "id": child["id"] }));
    let listed = agent.call("workspace_list", &json!({}));
    let names: Vec<_> =
        listed["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["issue-1", "issue-2"]);
    for (tool, arguments) in [
        ("workspace_why", json!({ "name": "issue-99" })),
        ("workspace_remove", json!({ "name": "issue-99" })),
        ("deliver", json!({ "name": "issue-98" })),
        ("workspace_restore", json!({ "name": "issue-98" })),
        ("job_wait", json!({ "id": stranger.id() })),
        ("job_get", json!({ "id": stranger.id() })),
        ("job_cancel", json!({ "id": stranger.id() })),
    ] {
        assert_eq!(agent.refused(tool, &arguments)["kind"], "not_found", "{tool}");
    }
    let all = workshop.cli.run(&["conflicts", "--json"]).json().to_string();
    assert!(all.contains("issue-98"), "{all}");
    let conflicts = agent.call("conflicts", &json!({})).to_string();
    assert!(!conflicts.contains("issue-98") && !conflicts.contains("issue-99"), "{conflicts}");
    assert_eq!(agent.call("job_get", &json!({ "id": parent }))["status"], "running");
    assert_eq!(agent.call("workspace_why", &json!({ "name": "issue-2" }))["workspace"]["name"], "issue-2");
    let held = agent.refused("workspace_remove", &json!({ "name": "issue-1" }));
    assert_eq!(held["kind"], "held", "{held}");
    workshop.let_go("parent-1");
    workshop.wait_for(&parent, "completed");
}

#[test]
fn a_child_gets_no_workspace_of_somebody_else() {
    let workshop = Workshop::new("[limits]\nmax_workers = 8\n");
    workshop.cli.run(&["new", "--issue", "99"]).ok();
    let there = workshop.cli.run(&["path", "issue-99"]).ok().stdout;
    let before = workshop.cli.run(&["show", "issue-99", "--json"]).ok().json();
    let (parent, mut agent) = inside(&workshop, "1");
    for hint in [json!({ "links": ["99"] }), json!({ "suggest": "issue-99" }), json!({ "branch": "issue-99" })] {
        let mut asked = json!({ "prompt": "write theirs.txt x" });
        asked.as_object_mut().unwrap().extend(hint.as_object().unwrap().clone());
        let refused = agent.refused("run", &asked);
        assert!(refused["message"].as_str().unwrap().contains("a workspace of its own"), "{refused}");
    }
    let child = agent.call("run", &json!({ "prompt": "write theirs.txt x", "kind": "issue", "key": "99" }));
    let ended = agent.call("job_wait", &json!({ "id": child["id"] }));
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"].as_str().unwrap().contains("issue-99 was there before"), "{ended}");
    assert!(!std::path::Path::new(there.trim()).join("theirs.txt").exists());
    let listed = agent.call("workspace_list", &json!({}));
    assert_eq!(listed["workspaces"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(agent.refused("workspace_remove", &json!({ "name": "issue-99" }))["kind"], "not_found");
    // A pull request's own branch leads there too; the workspace gets no other work by it, and is not touched.
    let asked = json!({ "prompt": "write theirs.txt x", "kind": "pr", "key": "7", "head": "issue-99" });
    let child = agent.call("run", &asked);
    let ended = agent.call("job_wait", &json!({ "id": child["id"] }));
    assert!(ended["error"].as_str().unwrap().contains("issue-99 was there before"), "{ended}");
    let after = workshop.cli.run(&["show", "issue-99", "--json"]).ok().json();
    assert_eq!((&after["works"], &after["last_activity_at"]), (&before["works"], &before["last_activity_at"]));
    // A second child may go on where the first one was.
    for text in ["write a.txt x", "write b.txt x"] {
        let child = agent.call("run", &json!({ "prompt": text, "kind": "issue", "key": "2" }));
        assert_eq!(agent.call("job_wait", &json!({ "id": child["id"] }))["status"], "completed");
    }
    workshop.let_go("parent-1");
    workshop.wait_for(&parent, "completed");
}

#[test]
fn a_job_that_is_not_known_gets_no_server() {
    let workshop = Workshop::new("");
    let (status, said) =
        McpClient::silent(&workshop.cli.with_variable("SPINNEY_JOB_ID", "k3v9k3v9k3"), &["mcp"]).close();
    assert!(status != 0 && said.contains("there is no job") && said.contains("SPINNEY_JOB_ID"), "{said}");
}
