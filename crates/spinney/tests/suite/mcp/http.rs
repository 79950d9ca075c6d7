//! The same tools behind the daemon's gate.

use serde_json::{Value, json};
use spinney_testkit::{HttpClient, Reply};

use crate::support::api::{Served, create_token};

const BOTH: &str = "application/json, text/event-stream";

fn asking(client: &HttpClient) -> HttpClient {
    client.with_header("accept", BOTH)
}

/// Sends a message; gives the answer, which comes as an event.
#[track_caller]
fn ask(client: &HttpClient, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    last_event(&asking(client).post("/mcp", &body).expects(200))
}

fn last_event(reply: &Reply) -> Value {
    let text = String::from_utf8(reply.body.clone()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).rfind(|data| !data.is_empty());
    serde_json::from_str(data.unwrap_or_else(|| panic!("no event in {text}"))).unwrap()
}

#[track_caller]
fn call(client: &HttpClient, tool: &str, arguments: &Value) -> Value {
    ask(client, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

#[test]
fn a_token_has_the_tools_of_its_scope_for_all_its_repositories() {
    let served = Served::new("");
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let reply = ask(&served.client, "initialize", &hello);
    assert_eq!(reply["result"]["serverInfo"]["name"], "spinney", "{reply}");
    let made = call(
        &served.client,
        "workspace_new",
        &json!({ "repository": served.repository(), "kind": "issue", "key": "3" }),
    );
    let made = &made["result"]["structuredContent"];
    assert_eq!(made["name"], "issue-3");
    let missing = call(&served.client, "workspace_new", &json!({ "kind": "issue", "key": "4" }));
    assert!(missing["result"]["content"][0]["text"].as_str().unwrap().contains("`repository` is missing"), "{missing}");
    let job = call(&served.client, "run", &json!({ "repository": served.repository(), "prompt": "write a.txt a" }));
    let id = &job["result"]["structuredContent"]["id"];
    let params = json!({ "name": "job_wait", "arguments": { "id": id }, "_meta": { "progressToken": 1 } });
    let ended = ask(&served.client, "tools/call", &params);
    assert_eq!(ended["result"]["structuredContent"]["status"], "completed", "{ended}");

    let reader = served.daemon.client().with_token(&create_token(&served.workshop, "read", &[]));
    let tools = ask(&reader, "tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 6);
    let error = call(&reader, "workspace_remove", &json!({ "name": "issue-3" }));
    assert_eq!(error["error"]["code"], -32602, "{error}");

    let stranger = served.stranger();
    for (tool, arguments) in [
        ("workspace_why", json!({ "name": made["id"] })),
        ("workspace_remove", json!({ "name": made["id"] })),
        ("job_get", json!({ "id": id })),
        ("workspace_new", json!({ "repository": served.repository(), "kind": "issue", "key": "5" })),
        ("workspace_list", json!({ "repository": served.repository["id"] })),
    ] {
        let refused = call(&stranger, tool, &arguments);
        let text = refused["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("\"not_found\""), "{tool}: {refused}");
    }
    let context = call(&stranger, "context", &json!({}));
    assert_eq!(context["result"]["structuredContent"]["repositories"], json!([]));
    assert_eq!(served.get(&format!("/api/v1/workspaces/{}", made["id"].as_str().unwrap()))["status"], "active");
}

#[test]
fn the_gate_is_that_of_every_route() {
    let served = Served::new("");
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let nobody = asking(&served.daemon.client());
    let refused = nobody.post("/mcp", &body).expects(401).json();
    assert_eq!(refused["error"]["kind"], "unauthorized", "a program gets no page: {refused}");
    assert_eq!(asking(&served.client).with_header("origin", "https://evil.example").post("/mcp", &body).status, 403);
    assert_eq!(asking(&served.client).with_header("host", "evil.example").post("/mcp", &body).status, 403);
    assert_eq!(served.client.get("/mcp").status, 405);
    let huge = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "x": "x".repeat(3 << 20) } });
    assert_eq!(asking(&served.client).post("/mcp", &huge).status, 413);
    for body in [&b"{"[..], b"[]", b"{}"] {
        let reply = asking(&served.client).with_header("content-type", "application/json").send("POST", "/mcp", body);
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (400, Some(-32700)));
    }
    // A key does not record a stream.
    let keyed = asking(&served.client).with_header("idempotency-key", "k1");
    for _ in 0..2 {
        assert!(last_event(&keyed.post("/mcp", &body).expects(200))["result"]["tools"].is_array());
    }
    let wrong = call(&served.client, "workspace_why", &json!({ "name": 5 }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn a_hundred_clients_at_once_are_all_served() {
    let served = Served::new("");
    let threads: Vec<_> = (0..100)
        .map(|number| {
            let (client, repository) = (served.client.clone(), served.repository().to_owned());
            std::thread::spawn(move || {
                let key = (number % 10 + 1).to_string();
                let arguments = json!({ "repository": repository, "kind": "issue", "key": key });
                let reply = call(&client, "workspace_new", &arguments);
                assert_eq!(reply["result"]["structuredContent"]["name"], format!("issue-{key}"), "{reply}");
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let page = served.get("/api/v1/workspaces?limit=200");
    assert_eq!(page["workspaces"].as_array().unwrap().len(), 10);
}
