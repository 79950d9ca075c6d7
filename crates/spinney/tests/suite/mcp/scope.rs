//! Who sees and does what: scope, tool, account and repository.

use std::fs;

use serde_json::{Value, json};
use spinney_testkit::{McpClient, Sandbox, TestRepository};

use crate::support::common::Story;
use crate::support::job::Workshop;

const READING: [&str; 6] = ["conflicts", "context", "job_get", "job_wait", "workspace_list", "workspace_why"];
const WRITING: [&str; 6] = ["deliver", "job_cancel", "run", "workspace_new", "workspace_remove", "workspace_restore"];

fn tools(client: &mut McpClient) -> Vec<Value> {
    client.request("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn who_may_only_read_is_offered_what_only_reads() {
    let story = Story::new();
    let mut reader = McpClient::start(&story.cli, &["mcp", "--scope", "read"]);
    let offered = tools(&mut reader);
    assert_eq!(names(&offered), READING);
    assert!(offered.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    for tool in WRITING {
        let error = reader.wrong(tool, &json!({ "kind": "issue", "key": "1", "name": "x", "id": "x", "prompt": "x" }));
        assert!(error["message"].as_str().unwrap().contains("is not offered"), "{error}");
    }
    story.assert_nothing_made();
    let mut writer = McpClient::start(&story.cli, &["mcp"]);
    let offered = tools(&mut writer);
    let mut all = [READING, WRITING].concat();
    all.sort_unstable();
    assert_eq!(names(&offered), all);
    for tool in offered {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"] == true, READING.contains(&name), "{name}");
        assert!(tool["outputSchema"]["properties"].is_object() && tool["inputSchema"]["type"] == "object", "{tool}");
        assert!(tool["inputSchema"]["properties"]["repository"].is_null(), "the repository is fixed: {tool}");
    }
}

/// The address of a repository's remote as others give it: an account has no paths of this machine.
fn on_the_network(sandbox: &Sandbox, repository: &TestRepository) -> String {
    let (config, remotes) = (sandbox.home().join(".gitconfig"), sandbox.remotes());
    let text = fs::read_to_string(&config).unwrap();
    let there = format!("[url \"file://{}/\"]\n\tinsteadOf = https://example.org/\n", remotes.display());
    fs::write(&config, format!("{text}\n{there}")).unwrap();
    format!("https://example.org/{}", repository.remote().path().strip_prefix(&remotes).unwrap().display())
}

/// Every tool, with what one account or repository has, asked by another.
#[test]
fn no_tool_leaks_from_one_account_or_repository_to_another() {
    let workshop = Workshop::new("");
    let sandbox = workshop.story.sandbox();
    workshop.cli.run(&["account", "add", "acme"]).ok();
    let mut own = McpClient::start(&workshop.cli, &["mcp"]);
    let kept = own.call("workspace_new", &json!({ "kind": "task", "key": "secret plan", "title": "secret-title" }));
    let gone = own.call("workspace_new", &json!({ "kind": "task", "key": "secret ruin" }));
    own.call("workspace_remove", &json!({ "name": gone["id"] }));
    let job = own.call("run", &json!({ "prompt": "print secret-words", "kind": "task", "key": "secret plan" }));
    own.call("job_wait", &json!({ "id": job["id"] }));

    let other = sandbox.repository("other").with_remote();
    let place = other.path().to_str().unwrap();
    workshop
        .cli
        .run(&["repo", "add", &on_the_network(sandbox, &other), "--name", "acme/app", "--account", "acme"])
        .ok();
    for arguments in
        [["mcp", "--repo", place, "--account", "local"], ["mcp", "--repo", "acme/app", "--account", "acme"]]
    {
        let mut stranger = McpClient::start(&workshop.cli, &arguments);
        let mut heard = Vec::new();
        for id in [&kept["id"], &gone["id"], &job["id"], &json!("task-secret-plan")] {
            for (tool, arguments) in [
                ("workspace_why", json!({ "name": id })),
                ("workspace_remove", json!({ "name": id })),
                ("workspace_restore", json!({ "name": id })),
                ("deliver", json!({ "name": id, "dry_run": true })),
                ("job_get", json!({ "id": id, "log": true })),
                ("job_wait", json!({ "id": id, "seconds": 0 })),
                ("job_cancel", json!({ "id": id })),
            ] {
                let refused = stranger.refused(tool, &arguments);
                assert_eq!(refused["kind"], "not_found", "{tool}: {refused}");
                heard.push(refused.to_string());
            }
        }
        for tool in ["context", "workspace_list", "conflicts"] {
            heard.push(stranger.call(tool, &json!({})).to_string());
        }
        heard.push(stranger.call("workspace_list", &json!({ "status": ["trashed", "active"] })).to_string());
        for uri in [
            format!("spinney://workspaces/{}", kept["id"].as_str().unwrap()),
            format!("spinney://jobs/{}/log", job["id"].as_str().unwrap()),
        ] {
            let reply = stranger.request("resources/read", &json!({ "uri": uri }));
            assert!(reply["error"].is_object(), "{reply}");
        }
        for text in heard {
            assert!(
                !text.contains("secret-title") && !text.contains("secret-words") && !text.contains("secret ruin"),
                "{text}"
            );
        }
    }
    assert_eq!(own.call("workspace_why", &json!({ "name": kept["id"] }))["workspace"]["status"], "active");
}
