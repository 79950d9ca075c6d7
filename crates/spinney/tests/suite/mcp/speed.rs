//! How much the server costs a model, and how many clients it takes.

use serde_json::json;
use spinney_testkit::McpClient;

use crate::support::common::Story;

/// Four thousand tokens of JSON like this: measured with a tokenizer, one token is 4.2 bytes of it.
const MAX_LIST_BYTES: usize = 16_000;

#[test]
fn the_list_of_tools_is_short() {
    let story = Story::new();
    let mut client = McpClient::start(&story.cli, &["mcp"]);
    let list = client.request("tools/list", &json!({}))["result"]["tools"].to_string();
    assert!(list.len() <= MAX_LIST_BYTES, "{} bytes", list.len());
}

#[test]
fn a_hundred_clients_start_and_ask_at_once() {
    let story = Story::new();
    let path = story.repository.path().to_str().unwrap().to_owned();
    // The repository becomes known once, and not by a hundred at the same time.
    story.cli.run(&["ls"]).ok();
    let threads: Vec<_> = (0..100)
        .map(|number| {
            let (cli, path) = (story.cli.clone(), path.clone());
            std::thread::spawn(move || {
                let mut client = McpClient::start(&cli, &["mcp", "--repo", &path]);
                let key = (number % 10 + 1).to_string();
                let made = client.call("workspace_new", &json!({ "kind": "issue", "key": key }));
                assert_eq!(made["name"], format!("issue-{key}"));
                assert_eq!(client.close().0, 0);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(story.names().len(), 10);
}
