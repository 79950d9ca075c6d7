use std::ffi::OsString;
use std::fs;
use std::path::Path;

use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, Settings, Turn};
use spinney_jobs::runtimes;
use spinney_jobs::told::TurnFailure;

use crate::runtimes::{arguments, failed, read, read_plainly, success};

const PLAIN: &str = include_str!("../../../src/runtimes/samples/gemini-plain.jsonl");
const DENIED: &str = include_str!("../../../src/runtimes/samples/gemini-denied.jsonl");
const FAILED: &str = include_str!("../../../src/runtimes/samples/gemini-failed-400.jsonl");

#[test]
fn a_plain_turn_is_told_from_beginning_to_end() {
    let (events, end) = read_plainly("gemini", PLAIN);
    let JobEvent::SessionStarted { conversation: Some(_), model: Some(model), resumed: false } = &events[0] else {
        panic!("{events:?}");
    };
    assert_eq!(model, "gemini-2.5-flash");
    let is_written = |event: &JobEvent| match event {
        JobEvent::ToolUse { tool, detail, .. } => tool == "write_file" && detail == "e.txt",
        _ => false,
    };
    assert!(events.iter().any(is_written), "{events:?}");
    assert_eq!(end.summary.as_deref(), Some("done (3 contents seen)"));
    assert_eq!(end.error, None);
    assert_eq!(end.usage, Usage { input_tokens: 240, output_tokens: 68, ..Usage::default() });
    // The prompt that it repeats is not what the agent says.
    assert!(!events.iter().any(|event| matches!(event, JobEvent::Text { text } if text.contains("STUB"))));
}

#[test]
fn pieces_of_a_text_are_joined() {
    let piece = |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let tool = r#"{"type":"tool_use","tool_name":"x","tool_id":"1","parameters":{}}"#;
    let result = r#"{"type":"result","status":"success","stats":{}}"#;
    let stream = [&piece("Hel"), &piece("lo"), tool, &piece("by"), &piece("e"), result];
    let (events, end) = read_plainly("gemini", &stream.join("\n"));
    let texts = |event: &JobEvent| match event {
        JobEvent::Text { text } => Some(text.clone()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(texts).collect::<Vec<_>>(), ["Hello", "bye"]);
    assert_eq!(end.summary.as_deref(), Some("bye"));
}

#[test]
fn thoughts_are_output_too() {
    let output = |stats: &str| {
        let result = format!(r#"{{"type":"result","status":"success","stats":{{{stats}}}}}"#);
        read_plainly("gemini", &result).1.usage.output_tokens
    };
    assert_eq!(output(r#""total_tokens":400,"input_tokens":240,"output_tokens":68"#), 160);
    assert_eq!(output(r#""input_tokens":240,"output_tokens":68"#), 68);
}

#[test]
fn the_context_is_read_from_its_own_record() {
    let home = tempfile::tempdir().unwrap();
    let chats = home.path().join(".gemini/tmp/project/chats");
    fs::create_dir_all(&chats).unwrap();
    let record = r#"{"id":"1","type":"gemini","content":"","tokens":{"input":120,"output":34,"total":154}}"#;
    fs::write(chats.join("session-2026-01-02-00000000.jsonl"), format!("{record}\n")).unwrap();
    let settings = Settings::default();
    let environment = [(OsString::from("HOME"), home.path().as_os_str().to_owned())];
    let turn =
        Turn { environment: &environment, ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None)) };
    let (events, _) = read(&turn, "gemini", PLAIN, &success());
    let contexts = |event: &JobEvent| match event {
        JobEvent::Usage { context_tokens, context_window, .. } => Some((*context_tokens, *context_window)),
        _ => None,
    };
    let contexts: Vec<_> = events.iter().filter_map(contexts).collect();
    assert_eq!(contexts, [(Some(154), Some(1_048_576)); 2]);
    // What an interrupted turn took is known from there too; of a resumed one, what came before is not its own.
    let cut: Vec<_> = PLAIN.lines().take_while(|line| !line.contains("\"result\"")).collect();
    let (_, end) = read(&turn, "gemini", &cut.join("\n"), &success());
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (120, 34));
    let resumed = Turn { conversation: Conversation::Resumed("id"), ..turn };
    let (_, end) = read(&resumed, "gemini", &cut.join("\n"), &success());
    assert_eq!(end.usage.tokens(), 0);
}

#[test]
fn a_tool_that_is_not_offered_is_a_denial() {
    let (events, end) = read_plainly("gemini", DENIED);
    let denial = JobEvent::PermissionDenied { tool: "run_shell_command".into(), detail: "touch denied.txt".into() };
    assert!(events.contains(&denial), "{events:?}");
    assert_eq!(end.error, None);
}

#[test]
fn what_it_complained_of_last_is_the_cause_where_there_is_no_result() {
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let told = "{\"type\":\"error\",\"severity\":\"error\",\"message\":\"no credit\"}\n\
        {\"type\":\"error\",\"severity\":\"warning\",\"message\":\"old\"}\n";
    let (_, end) = read(&turn, "gemini", told, &failed("bye"));
    assert_eq!(end.error, Some(TurnFailure::Other("no credit".into())));
    let object = "{\n  \"error\": {\n    \"message\": \"set an auth method\",\n    \"code\": 41\n  }\n}\n";
    let Some(TurnFailure::Exit(ended)) = read(&turn, "gemini", "", &failed(object)).1.error else { panic!() };
    assert_eq!(ended.said.as_deref(), Some("set an auth method"));
}

#[test]
fn failures_are_told_in_their_own_words() {
    let (_, end) = read_plainly("gemini", FAILED);
    let Some(TurnFailure::Other(error)) = end.error else { panic!("{end:?}") };
    assert!(error.contains("stub says no"), "{error}");
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id"));
    let gone = failed("Error resuming session: Invalid session identifier \"id\".\n  Searched for sessions in x.\n");
    assert_eq!(read(&turn, "gemini", "", &gone).1.error, Some(TurnFailure::ConversationGone));
}

#[test]
fn the_first_prompt_begins_with_the_system_prompt() {
    let settings = Settings { allowed_tools: vec!["run_shell_command(git)".into()], ..Settings::default() };
    let turn = Turn {
        prompt: "do it",
        system_prompt: "be kind",
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None))
    };
    let gemini = runtimes::find("gemini").unwrap();
    assert_eq!(gemini.program(&turn).stdin, b"be kind\n\ndo it");
    let flags = ["--output-format=stream-json", "--approval-mode=auto_edit", "--allowed-tools=run_shell_command(git)"];
    assert_eq!(arguments("gemini", &turn), flags);
    let resumed = Turn { conversation: Conversation::Resumed("id"), ..turn };
    assert_eq!(gemini.program(&resumed).stdin, b"do it");
    assert!(arguments("gemini", &resumed).contains(&"--resume=id".into()));
    let forbidden = Settings { disallowed_tools: vec!["x".into()], ..Settings::default() };
    assert_eq!(gemini.check(&forbidden).unwrap_err().key, "disallowed_tools");
}
