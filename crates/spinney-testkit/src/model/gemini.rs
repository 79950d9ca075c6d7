//! Gemini's generateContent.

use serde_json::{Value, json};

use super::answer::Turn;
use super::conversation::{Conversation, Entry};
use super::instruction::Action;
use super::server::{Exchange, Protocol, body, events, list, names};
use crate::http::Response;

pub(super) const PROTOCOL: Protocol = Protocol { read, write, failure };

fn read(request: &Value) -> Conversation {
    let mut entries = Vec::new();
    for content in list(&request["contents"]) {
        let parts = &content["parts"];
        let has = |kind: &str| list(parts).filter(|part| part.get(kind).is_some()).count();
        match content["role"].as_str() {
            Some("model") => entries.extend((0..has("functionCall")).map(|_| Entry::Call)),
            Some("user") if has("functionResponse") == 0 => {
                entries.push(Entry::Prompt(names(parts, |part| &part["text"])));
            }
            _ => entries.push(Entry::Other),
        }
    }
    let messages = list(&request["contents"]).count();
    let tools = list(&request["tools"]).flat_map(|tool| names(&tool["functionDeclarations"], |each| &each["name"]));
    Conversation::new(entries, messages, tools.collect())
}

fn write(turn: &Turn, _conversation: &Conversation, exchange: &Exchange<'_>) -> Response {
    let mut parts = Vec::new();
    if !turn.text.is_empty() {
        parts.push(json!({ "text": turn.text }));
    }
    if let Some(action) = &turn.action {
        let (name, arguments) = match action {
            Action::Write { path, text } => {
                ("write_file", json!({ "file_path": path, "content": format!("{text}\n") }))
            }
            Action::Run(command) => ("run_shell_command", json!({ "command": command, "description": "as told" })),
            Action::Call { tool, input } => (tool.as_str(), input.clone()),
        };
        parts.push(json!({ "functionCall": { "name": name, "args": arguments } }));
    }
    let content = json!({ "role": "model", "parts": parts });
    let answer = json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": turn.input_tokens,
            "candidatesTokenCount": 34,
            "totalTokenCount": turn.input_tokens + 34,
        },
        "modelVersion": "stub-model",
    });
    if exchange.is_streamed { events(&[answer]) } else { body(200, &answer) }
}

fn failure(status: u16) -> Value {
    json!({ "error": { "code": status, "message": "the stub fails as told", "status": "STUB" } })
}
