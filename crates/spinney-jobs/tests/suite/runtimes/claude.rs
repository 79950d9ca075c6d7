use std::path::Path;

use serde_json::{Value, json};
use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, Settings, Turn};
use spinney_jobs::runtimes;
use spinney_jobs::runtimes::mcp_server::{McpServer, Reached};
use spinney_jobs::told::{Ended, Facts, Retry, TurnFailure, Words};

use crate::runtimes::{arguments, failed, read, read_plainly, success};

const PLAIN: &str = include_str!("../../../src/runtimes/samples/claude-plain.jsonl");
const RESUMED: &str = include_str!("../../../src/runtimes/samples/claude-resume.jsonl");
const DENIED: &str = include_str!("../../../src/runtimes/samples/claude-denied.jsonl");
const FAILED: &str = include_str!("../../../src/runtimes/samples/claude-failed.jsonl");
const GONE: &str = include_str!("../../../src/runtimes/samples/claude-unknown-session.jsonl");

fn usages(events: &[JobEvent]) -> Vec<(Usage, Option<u64>, Option<u64>)> {
    let usage = |event: &JobEvent| match event {
        JobEvent::Usage { usage, context_tokens, context_window } => Some((*usage, *context_tokens, *context_window)),
        _ => None,
    };
    events.iter().filter_map(usage).collect()
}

#[test]
fn a_plain_turn_is_told_from_beginning_to_end() {
    let (events, end) = read_plainly("claude", PLAIN);
    let JobEvent::SessionStarted { conversation: Some(_), model: Some(model), resumed: false } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(model, "claude-opus-5-5");
    assert!(events.contains(&JobEvent::ToolUse {
        id: Some("toolu_stub000001".into()),
        tool: "Write".into(),
        detail: "a.txt".into()
    }));
    let is_written = |event: &JobEvent| match event {
        JobEvent::ToolResult { is_error: false, text, .. } => text.starts_with("File created"),
        _ => false,
    };
    assert!(events.iter().any(is_written));
    assert!(events.contains(&JobEvent::Text { text: "done (4 messages seen)".into() }));
    assert_eq!(end.summary.as_deref(), Some("done (4 messages seen)"));
    assert_eq!(end.error, None);
    let took = Usage {
        input_tokens: 240,
        output_tokens: 68,
        cache_read_tokens: 2000,
        cache_write_tokens: 100,
        cost_micros: Some(3220),
    };
    assert_eq!(end.usage, took);
    // Two messages of which the stream tells the first token only; then the result with all.
    let contexts: Vec<_> = usages(&events).iter().map(|(_, context, window)| (*context, *window)).collect();
    assert_eq!(contexts, [(Some(1171), Some(1_000_000)); 3]);
    assert_eq!(usages(&events)[1].0.input_tokens, 240);
}

#[test]
fn a_resumed_turn_tells_what_it_took_itself() {
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id"));
    let (events, end) = read(&turn, "claude", RESUMED, &success());
    assert!(matches!(events[0], JobEvent::SessionStarted { resumed: true, .. }));
    assert_eq!((end.usage.input_tokens, end.usage.cost_micros), (240, Some(3220)));
    assert_eq!(end.summary.as_deref(), Some("done (8 messages seen)"));
}

#[test]
fn an_older_version_tells_the_turn_in_its_usage() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.5,
        "usage":{"input_tokens":1,"output_tokens":2},"modelUsage":{"m":{"contextWindow":200000}}}"#;
    let (events, end) = read_plainly("claude", &result.replace('\n', ""));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens, end.usage.cost_micros), (1, 2, Some(500_000)));
    assert_eq!(usages(&events)[0].2, Some(200_000));
}

#[test]
fn a_denial_is_told_once_and_is_no_failure() {
    let (events, end) = read_plainly("claude", DENIED);
    let denials: Vec<_> = events.iter().filter(|event| matches!(event, JobEvent::PermissionDenied { .. })).collect();
    let denial = JobEvent::PermissionDenied { tool: "Bash".into(), detail: "git commit --allow-empty -m x".into() };
    assert_eq!(denials, [&denial]);
    assert_eq!(end.error, None);
    // Older versions tell it with the result alone.
    let without_event: Vec<_> = DENIED.lines().filter(|line| !line.contains("\"permission_denied\"")).collect();
    assert_eq!(without_event.len() + 1, DENIED.lines().count());
    let (events, _) = read_plainly("claude", &without_event.join("\n"));
    assert!(events.contains(&denial));
}

#[test]
fn a_failure_of_the_api_is_a_failure_although_it_says_success() {
    let (events, end) = read_plainly("claude", FAILED);
    let retry = Retry { error: Some("server_error".into()), status: Some(500), attempt: 1, most: 1 };
    assert!(events.contains(&JobEvent::Retry { reason: Facts.retry(&retry) }));
    let Some(TurnFailure::Other(error)) = end.error else { panic!("{end:?}") };
    assert!(error.starts_with("API Error: 500 stub says no"), "{error}");
    assert_eq!(end.summary, None);
    // What the program itself made up took no context.
    assert_eq!(usages(&events)[0].1, None);
}

#[test]
fn a_conversation_that_is_gone_is_told_as_such() {
    assert_eq!(read_plainly("claude", GONE).1.error, Some(TurnFailure::ConversationGone));
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id"));
    let (_, end) = read(&turn, "claude", "", &failed("No conversation found with session ID: id\n"));
    assert_eq!(end.error, Some(TurnFailure::ConversationGone));
}

#[test]
fn an_end_without_a_result_is_a_failure() {
    let cut: Vec<_> = PLAIN.lines().take(2).collect();
    let (_, end) = read_plainly("claude", &cut.join("\n"));
    assert_eq!(end.error, Some(TurnFailure::NoResult));
    assert_eq!(end.usage.input_tokens, 120);
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let (_, end) = read(&turn, "claude", "", &failed("Invalid API key\n"));
    let ended = Ended { status: Some(1), signal: None, said: Some("Invalid API key".into()) };
    assert_eq!(end.error, Some(TurnFailure::Exit(ended)));
}

#[test]
fn a_subagent_does_not_fill_the_context() {
    let message = |id: &str, parent: &str, tokens: u64| {
        format!(
            r#"{{"type":"assistant","parent_tool_use_id":{parent},"message":{{"id":"{id}","content":[],
            "usage":{{"input_tokens":{tokens},"output_tokens":1}}}}}}"#
        )
        .replace('\n', "")
    };
    let stream = [
        message("a", "null", 10),
        // The same message again, with its next content block.
        message("a", "null", 10),
        message("b", "\"toolu_1\"", 5000),
    ];
    let (events, end) = read_plainly("claude", &stream.join("\n"));
    assert_eq!(usages(&events).last().unwrap().1, Some(11));
    assert_eq!(end.usage.input_tokens, 5010);
}

#[test]
fn hooks_that_speak_first_and_noise_between_are_no_trouble() {
    let hook = r#"{"type":"system","subtype":"hook_started","hook_name":"SessionStart:startup","session_id":"x"}"#;
    let (events, end) = read_plainly("claude", &format!("{hook}\nplain words\n{PLAIN}"));
    assert!(matches!(&events[0], JobEvent::Output { text, .. } if text == "plain words"));
    assert!(matches!(events[1], JobEvent::SessionStarted { .. }));
    assert_eq!(end.error, None);
    // A run that answers twice begins twice.
    let (events, end) = read_plainly("claude", &format!("{PLAIN}{PLAIN}"));
    assert_eq!(events.iter().filter(|event| matches!(event, JobEvent::SessionStarted { .. })).count(), 1);
    assert_eq!(end.usage.input_tokens, 480);
}

#[test]
fn every_value_hangs_on_its_option_and_the_prompt_is_on_stdin() {
    let settings = Settings {
        model: Some("opus".into()),
        allowed_tools: vec!["Bash(git commit *)".into(), "Read".into()],
        disallowed_tools: vec!["WebFetch".into()],
        ..Settings::default()
    };
    let turn = Turn {
        prompt: "--help",
        system_prompt: "-x\ny",
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(Some("uuid")))
    };
    let expected = [
        "-p",
        "--output-format=stream-json",
        "--verbose",
        "--permission-mode=acceptEdits",
        "--session-id=uuid",
        "--append-system-prompt=-x\ny",
        "--model=opus",
        "--allowedTools=Bash(git commit *)",
        "--allowedTools=Read",
        "--disallowedTools=WebFetch",
    ];
    assert_eq!(arguments("claude", &turn), expected);
    assert_eq!(runtimes::find("claude").unwrap().program(&turn).stdin, b"--help");
    let resumed = Turn { conversation: Conversation::Resumed("uuid"), ..turn };
    assert!(arguments("claude", &resumed).contains(&"--resume=uuid".into()));
}

#[test]
fn mcp_servers_are_in_a_file_and_their_secrets_in_no_argument() {
    let settings = Settings::default();
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let (command, arguments_of_server) = ("/bin/docs".to_owned(), vec!["-x".to_owned()]);
    let program = Reached::Program { command, arguments: arguments_of_server, variables: pair("KEY", "s3cret") };
    let address = Reached::Address { url: "https://h/mcp".into(), headers: pair("Authorization", "Bearer s3cret") };
    let servers = [("docs", program), ("search", address)];
    let servers = servers.map(|(name, reached)| McpServer { name: name.into(), reached });
    let turn = Turn {
        mcp_servers: &servers,
        mcp_file: Path::new("/jobs/id.mcp"),
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None))
    };
    assert_eq!(arguments("claude", &turn).last().unwrap(), "--mcp-config=/jobs/id.mcp");
    let program = runtimes::find("claude").unwrap().program(&turn);
    assert!(!format!("{:?} {turn:?}", program.arguments).contains("s3cret"));
    let expected = json!({ "mcpServers": {
        "docs": { "type": "stdio", "command": "/bin/docs", "args": ["-x"], "env": { "KEY": "s3cret" } },
        "search": { "type": "http", "url": "https://h/mcp", "headers": { "Authorization": "Bearer s3cret" } },
    }});
    assert_eq!(serde_json::from_slice::<Value>(&program.mcp.unwrap()).unwrap(), expected);
}

#[test]
fn a_mode_that_it_does_not_know_is_an_error() {
    let claude = runtimes::find("claude").unwrap();
    let settings = |mode: &str| Settings { permission_mode: Some(mode.into()), ..Settings::default() };
    assert_eq!(claude.check(&settings("plan")), Ok(()));
    let error = claude.check(&settings("yolo")).unwrap_err();
    assert_eq!(error.key, "permission_mode");
    assert!(error.message.starts_with("runtime `claude` has no mode `yolo`, only `acceptEdits`, "), "{error:?}");
    let long = Settings { system_prompt: Some("x".repeat(70_000)), ..Settings::default() };
    assert_eq!(claude.check(&long).unwrap_err().key, "system_prompt");
}
