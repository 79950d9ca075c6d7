//! `spinney init --mcp`.

use std::fs;

use serde_json::Value;

use crate::support::common::{Story, refused};

#[test]
fn the_file_is_written_once_and_keeps_what_is_there() {
    let story = Story::new();
    let file = story.repository.path().join(".mcp.json");
    story.change(|_| {
        let first = story.cli.run(&["init", "--mcp", "--json"]).ok().json();
        assert_eq!(first["written"], true);
        let again = story.cli.run(&["init", "--mcp", "--json"]).ok().json();
        assert_eq!(again["written"], false);
        fs::write(&file, "{\n  \"mcpServers\": { \"github\": { \"command\": \"gh-mcp\" } },\n  \"x\": 1.0\n}\n")
            .unwrap();
        story.cli.run(&["init", "--mcp"]).ok();
        let text = fs::read_to_string(&file).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["mcpServers"]["github"]["command"], "gh-mcp");
        assert_eq!(value["mcpServers"]["spinney"]["args"][0], "mcp");
        assert!(text.contains("\"x\": 1.0"), "{text}");
        fs::write(&file, "{ // mine\n}").unwrap();
        refused(&story.cli, 2, &["init", "--mcp"]).says(&["stays as it is", "not a JSON object"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "{ // mine\n}");
        fs::write(&file, "").unwrap();
        assert_eq!(story.cli.run(&["init", "--mcp", "--json"]).ok().json()["written"], true);
        fs::remove_file(&file).unwrap();
    });
}

#[test]
fn the_home_and_account_of_the_command_are_those_of_the_server() {
    let story = Story::new();
    let (home, file) = (story.sandbox().path().join("else"), story.repository.path().join(".mcp.json"));
    story.change(|_| {
        story.cli.run(&["--home", home.to_str().unwrap(), "--account", "local", "init", "--mcp"]).ok();
        let value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let args = &value["mcpServers"]["spinney"]["args"];
        assert_eq!(*args, serde_json::json!(["--home", home, "--account", "local", "mcp"]));
        fs::remove_file(&file).unwrap();
    });
}

#[test]
fn in_a_workspace_the_file_is_written_there() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    for (flag, file) in [("--mcp", ".mcp.json"), ("--claude", ".claude/settings.json")] {
        story.cli.in_directory(workspace.path()).run(&["init", flag]).ok();
        assert!(workspace.path().join(file).is_file() && !story.repository.path().join(file).exists(), "{file}");
    }
}
