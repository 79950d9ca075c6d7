//! Whatever an agent writes, no reader panics.

use std::path::Path;

use proptest::prelude::*;
use spinney_jobs::runtime::{Conversation, Exit, Protocol, Settings, Turn};
use spinney_jobs::runtimes;

/// JSON that looks like an event here and there: the types and fields of all protocols, with anything in them.
fn event() -> impl Strategy<Value = serde_json::Value> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "system",
            "assistant",
            "user",
            "result",
            "init",
            "api_retry",
            "permission_denied",
            "tool_use",
            "tool_result",
            "text",
            "success",
            "thread.started",
            "item.started",
            "item.completed",
            "turn.completed",
            "turn.failed",
            "error",
            "agent_message",
            "command_execution",
            "file_change",
            "message",
            "step_finish",
            "completed",
        ])
        .prop_map(|word| serde_json::json!(word)),
        any::<String>().prop_map(|text| serde_json::json!(text)),
        any::<u64>().prop_map(|number| serde_json::json!(number)),
        any::<f64>().prop_map(|number| serde_json::json!(number)),
        Just(serde_json::json!(u64::MAX)),
        any::<bool>().prop_map(|flag| serde_json::json!(flag)),
        Just(serde_json::Value::Null),
    ];
    let field = prop::sample::select(vec![
        "type",
        "subtype",
        "message",
        "content",
        "usage",
        "id",
        "name",
        "input",
        "tool_use_id",
        "permission_denials",
        "errors",
        "result",
        "is_error",
        "modelUsage",
        "model_usage_since_last_result",
        "contextWindow",
        "inputTokens",
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "total_cost_usd",
        "item",
        "text",
        "command",
        "changes",
        "error",
        "thread_id",
        "exit_code",
        "stats",
        "models",
        "role",
        "delta",
        "parameters",
        "status",
        "part",
        "state",
        "tokens",
        "cache",
        "read",
        "cost",
        "sessionID",
        "tool",
        "model",
        "session_id",
    ]);
    word.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((field.clone(), inner), 0..8)
                .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Feeds the lines to every runtime that reads lines.
fn feed(lines: &[Vec<u8>], exit: &Exit) {
    let settings = Settings { command: vec!["x".into()], ..Settings::default() };
    for runtime in runtimes::all() {
        for conversation in [Conversation::New(None), Conversation::Resumed("r")] {
            let turn = Turn::new(&settings, Path::new("/workspace"), conversation);
            let Protocol::Lines(mut reader) = runtime.protocol(&turn) else { continue };
            let mut events = Vec::new();
            for line in lines {
                reader.line(line, &mut events);
            }
            for event in &events {
                if let spinney_core::JobEvent::ToolUse { tool, detail, .. } = event {
                    assert!(!detail.contains('\n') && !tool.contains('\n'), "{event:?}");
                }
            }
            let _ = reader.end(exit).usage.tokens();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
        feed(&lines, &Exit::default());
    }

    #[test]
    fn arbitrary_events_are_read(events in prop::collection::vec(event(), 1..8), stderr in any::<String>()) {
        let lines: Vec<_> = events.iter().map(|event| event.to_string().into_bytes()).collect();
        feed(&lines, &Exit { status: Some(1), stderr, ..Exit::default() });
    }
}
