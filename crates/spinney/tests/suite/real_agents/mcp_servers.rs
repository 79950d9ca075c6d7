//! The MCP servers that an agent's configuration names.

use std::fs;

use serde_json::{Value, json};
use spinney_testkit::{AgentCli, write_program};

use crate::real_agents::stage::{Job, Stage};

/// A server with one tool, which tells a variable of its own.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
    case "$line" in
        *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"docs","version":"1"}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"tell","description":"tells","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) result='{"content":[{"type":"text","text":"'"$1 $KEY"'"}]}' ;;
        *'"id"'*) result='{}' ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Lets the agent's table name the server, with a secret of the caller's environment.
fn with_server(mut stage: Stage) -> Stage {
    let program = stage.home("mcp-docs");
    write_program(&program, SERVER);
    stage.cli = stage.cli.with_variable("DOCS_KEY", "fr0m outside");
    let servers = format!(
        "[agents.coder.mcp_servers.docs]\ncommand = {}\nargs = [\"the key is\"]\nenv = {{ KEY = \"$DOCS_KEY\" }}\n",
        json!(program)
    );
    configure(&stage, &servers);
    stage
}

fn configure(stage: &Stage, more: &str) {
    let file = stage.story.sandbox().config_file();
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{config}\n{more}")).unwrap();
}

/// Lets the agent use the tool.
#[track_caller]
fn assert_used(stage: &Stage, prompt: &str) {
    let job = stage.run(0, &["--issue", "42", prompt]);
    let results = job.events("tool_result");
    assert!(results.iter().any(|result| result.to_string().contains("the key is fr0m outside")), "{results:?}");
    assert_nothing_stays(stage);
}

/// The file that holds the secrets goes with the job.
#[track_caller]
fn assert_nothing_stays(stage: &Stage) {
    let jobs = fs::read_dir(stage.story.sandbox().spinney_home().join("jobs")).unwrap();
    let names: Vec<_> = jobs.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.ends_with(".mcp")), "{names:?}");
}

#[test]
fn claude_code_uses_them() {
    let Some(stage) = Stage::claude("allowed_tools = [\"mcp__docs\"]") else { return };
    assert_used(&with_server(stage), "STUB:CALL mcp__docs__tell {}");
}

#[test]
fn claude_code_uses_them_over_its_adapters() {
    for agent in [AgentCli::claude_adapter(), AgentCli::claude_agent_adapter()].into_iter().flatten() {
        let stage = Stage::new(&agent, "acp", &[], "permission_mode = \"bypassPermissions\"");
        assert_used(&with_server(stage), "STUB:CALL mcp__docs__tell {}");
    }
}

/// Writes down what it is asked, and ends its turn; can be given servers that are programs, and as many others as is said.
fn speaker(http: bool) -> String {
    format!(
        r#"
id() {{ sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }}
answer() {{ read -r line; printf '%s\n' "$line" >> "$HOME/asked"; printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$(printf %s "$line" | id)" "$1"; }}
answer '{{"protocolVersion":1,"agentCapabilities":{{"loadSession":true,"mcpCapabilities":{{"http":{http}}}}}}}'
answer '{{"sessionId":"s"}}'
answer '{{"stopReason":"end_turn"}}'
cat > /dev/null
"#
    )
}

const SEARCH: &str = "[agents.coder.mcp_servers.search]\nurl = \"https://search.example/mcp\"\n\
    headers = { Authorization = \"Bearer $DOCS_KEY\" }\n";

#[test]
fn an_agent_that_is_talked_with_is_given_them_in_each_session() {
    let stage = with_server(Stage::scripted("acp", &speaker(true)));
    configure(&stage, SEARCH);
    for _ in 0..2 {
        stage.run(0, &["--issue", "42", "do it"]);
    }
    let asked = fs::read_to_string(stage.home("asked")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = json!([
        { "name": "docs", "command": stage.home("mcp-docs"), "args": ["the key is"],
          "env": [{ "name": "KEY", "value": "fr0m outside" }] },
        { "type": "http", "name": "search", "url": "https://search.example/mcp",
          "headers": [{ "name": "Authorization", "value": "Bearer fr0m outside" }] },
    ]);
    for method in ["session/new", "session/load"] {
        let request = asked.iter().find(|request| request["method"] == method).unwrap();
        assert_eq!(request["params"]["mcpServers"], expected, "{method}");
    }
}

#[track_caller]
fn failed(stage: &Stage) -> String {
    let job: Job = stage.run(1, &["--issue", "42", "do it"]);
    job.text("error").to_owned()
}

#[test]
fn what_is_missing_fails_the_job_and_is_named() {
    let stage = with_server(Stage::scripted("acp", &speaker(false)));
    configure(&stage, SEARCH);
    assert!(failed(&stage).contains("can't use MCP server `search`: it takes programs only"), "{}", failed(&stage));

    let of = |server: &str| {
        let stage = Stage::scripted("acp", &speaker(true));
        configure(&stage, &format!("[agents.coder.mcp_servers]\na = {server}\n"));
        failed(&stage)
    };
    let told = of("{ command = 'no-such-server' }");
    assert_eq!(told, "its MCP server `a` can't be used: its program `no-such-server` was not found");
    let told = of("{ command = 'sh', env = { KEY = '$NO_SUCH_KEY' } }");
    assert!(told.contains("the variable `NO_SUCH_KEY`, which its configuration names, is not set"), "{told}");
}

#[test]
fn a_secret_of_spinney_is_not_given_out() {
    let mut stage = Stage::scripted("acp", &speaker(true));
    stage.cli = stage.cli.with_variable("GITHUB_TOKEN", "s3cret");
    configure(&stage, "[agents.coder.mcp_servers]\na = { command = 'sh', env = { KEY = '$GITHUB_TOKEN' } }\n");
    assert!(failed(&stage).contains("`GITHUB_TOKEN` is a secret of Spinney's own"));
    assert!(!stage.home("asked").exists(), "the agent was not started");
}

#[test]
fn a_runtime_that_can_not_be_given_any_refuses_them() {
    for runtime in ["codex", "gemini", "opencode", "command"] {
        let stage = Stage::scripted(runtime, "true");
        configure(&stage, "[agents.coder.mcp_servers]\na = { command = 'sh' }\n");
        let told = stage.cli.run(&["config", "validate"]).exits(2).told();
        let message = format!("runtime `{runtime}` can't be given MCP servers");
        assert!(told.contains("agents.coder.mcp_servers") && told.contains(&message), "{told}");
    }
}
