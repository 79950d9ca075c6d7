//! What a client gets that does not behave.

use std::time::Duration;

use serde_json::{Value, json};
use spinney_testkit::{McpClient, wait_until};

use crate::support::common::{Story, names};
use crate::support::job::is_alive;

#[test]
fn wrong_calls_are_protocol_errors_that_say_why_and_make_nothing() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let wrong: &[(&str, Value, &str)] = &[
        ("workspace_delete", json!({}), "the tool `workspace_delete` is unknown"),
        ("workspace_new", json!({ "kind": "issue", "key": 42 }), "invalid type: integer `42`, expected a string"),
        ("workspace_new", json!({ "kind": "epic", "key": "1" }), "unknown variant `epic`"),
        ("workspace_new", json!({ "kind": "issue", "key": "1", "nmae": "x" }), "`nmae`"),
        ("workspace_new", json!({ "branch": "a..b" }), "a..b"),
        ("workspace_why", json!({}), "missing field `name`"),
        ("job_wait", json!({ "id": "x", "seconds": -1 }), "invalid value: integer `-1`"),
    ];
    for (tool, arguments, says) in wrong {
        let error = client.wrong(tool, arguments);
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "`{says}` is not in {error}");
    }
    let refused: &[(&str, Value, &str)] = &[
        ("workspace_new", json!({ "kind": "issue" }), "`kind` and `key` go together"),
        ("workspace_new", json!({}), "no work is named"),
        ("workspace_new", json!({ "kind": "issue", "key": "x" }), "`key`"),
        ("workspace_new", json!({ "kind": "issue", "key": "1", "repository": "acme/app" }), "leave `repository` out"),
        ("workspace_why", json!({ "name": "issue-9" }), "issue-9"),
        ("job_get", json!({ "id": "nothing" }), "there is no job `nothing`"),
        ("run", json!({ "prompt": " " }), "`prompt` is empty"),
    ];
    for (tool, arguments, says) in refused {
        let error = client.refused(tool, arguments);
        assert!(error["message"].as_str().unwrap().contains(says), "`{says}` is not in {error}");
    }
    for (method, params, code) in [
        ("tools/call", json!({ "name": 5 }), -32602),
        ("tools/call", json!({ "name": "context", "arguments": [] }), -32602),
        ("tools/shout", json!({}), -32601),
        ("resources/read", json!({ "uri": "file:///etc/passwd" }), -32002),
        ("resources/read", json!({ "uri": "spinney://workspaces/../../etc" }), -32002),
    ] {
        let reply = client.request(method, &params);
        assert_eq!(reply["error"]["code"], code, "{method} {params}: {reply}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
    }
    story.assert_nothing_made();
    assert_eq!(client.close().0, 0);
}

#[test]
fn what_is_no_message_is_answered_also_while_another_answer_is_sent() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    // The answer to the first is on its way while the second is read.
    for round in 0..200 {
        let asked = client.begin("ping", &json!({}));
        let id = 10_000 + round;
        let call = json!({ "name": "context", "arguments": {}, "_meta": 5 });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }));
        assert!(client.answer(asked)["result"].is_object());
        let refused = client.answer(id);
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    }
    assert_eq!(client.close().0, 0);
}

#[test]
fn who_begins_with_something_else_is_told_in_a_sentence() {
    let story = Story::new();
    let mut client = McpClient::silent(&story.cli, &["mcp"]);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let (status, said) = client.close();
    assert_eq!(status, 1);
    assert!(said.contains("the first message of the client is not `initialize`"), "{said}");
}

#[test]
fn a_part_of_a_name_is_answered_with_the_whole_one() {
    let story = Story::new();
    story.make(&["--issue", "42"]);
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let refused = client.refused("workspace_why", &json!({ "name": "42" }));
    assert!(refused["message"].as_str().unwrap().contains("as in `issue-42`"), "{refused}");
    assert_eq!(client.close().0, 0);
}

#[test]
fn what_is_no_message_is_answered_and_the_next_one_is_heard() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"tools/call\",\"params\":{{\"x\":\"{}\"}}}}",
        "x".repeat(3 << 20)
    );
    for (line, code, says) in [
        ("{\"jsonrpc\":", -32700, "no JSON"),
        ("\u{1}", -32700, "no JSON"),
        ("{\"id\":91,\"method\":\"tools/list\"}", -32600, "JSON-RPC 2.0"),
        ("[{\"jsonrpc\":\"2.0\",\"id\":92,\"method\":\"tools/list\"}]", -32600, "not a list"),
        (long.as_str(), -32600, "at most 2097152 bytes"),
    ] {
        client.send_line(line);
        let reply = client.next_message();
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains(says), "{reply}");
    }
    // Answers to nothing that was asked, one twice.
    for id in [7, 7, 1] {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
    }
    client.send_line("");
    assert_eq!(client.call("context", &json!({}))["account"], "local");
}

#[test]
fn a_second_request_under_an_open_id_is_not_carried_out() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let call = |key: &str| {
        let params = json!({ "name": "workspace_new", "arguments": { "kind": "issue", "key": key } });
        json!({ "jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": params })
    };
    client.send_line(&format!("{}\n{}", call("1"), call("2")));
    let (first, second) = (client.next_message(), client.next_message());
    let (refused, made) = if first["error"].is_object() { (first, second) } else { (second, first) };
    assert!(refused["id"].is_null(), "one id has one answer: {refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("the id `50` is not answered yet"), "{refused}");
    assert_eq!(made["result"]["structuredContent"]["name"], "issue-1");
    assert_eq!(names(&story.cli), ["issue-1"]);
    // Answered, it may be used again.
    client.send(&call("2"));
    assert_eq!(client.next_message()["result"]["structuredContent"]["name"], "issue-2");
}

#[test]
fn a_client_that_disappears_leaves_nothing_half_made() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\nsetup = [\"sleep 1\", \"touch ready\"]\n");
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    client.begin("tools/call", &json!({ "name": "workspace_new", "arguments": { "kind": "issue", "key": "1" } }));
    wait_until(|| !names(&story.cli).is_empty(), Duration::from_secs(30));
    let server = client.id();
    assert_eq!(client.close().0, 0, "it ends well");
    assert!(!is_alive(server));
    let made = story.show("issue-1");
    assert_eq!(made.text("status"), "active");
    assert!(made.path().join("ready").is_file());
    story.assert_nothing_left_over();
}

#[test]
fn a_server_that_nobody_speaks_to_ends_and_says_nothing() {
    let story = Story::new();
    let (status, said) = McpClient::silent(&story.cli, &["mcp"]).close();
    assert_eq!((status, said.as_str()), (0, ""));
    let outside = story.cli.in_directory(story.sandbox().home());
    let ran = outside.run(&["mcp"]).exits(4);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("error:"), "{}", ran.told());
}
