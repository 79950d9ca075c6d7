//! Anthropic's messages.

use serde_json::{Value, json};

use super::answer::Turn;
use super::conversation::{Conversation, Entry};
use super::instruction::Action;
use super::server::{Exchange, Protocol, body, events, id, list, names, texts};
use crate::http::Response;

pub(super) const PROTOCOL: Protocol = Protocol { read, write, failure };

/// Tokens that are new in each request; the rest comes from the cache.
const FRESH_TOKENS: u64 = 120;
const CACHED_ANEW_TOKENS: u64 = 50;

fn read(request: &Value) -> Conversation {
    let mut entries = Vec::new();
    for message in list(&request["messages"]) {
        let is = |kind: &str| list(&message["content"]).filter(|block| block["type"] == kind).count();
        match message["role"].as_str() {
            // Beside a tool's result stand reminders, and the prompt after a turn that failed.
            Some("user") => entries.push(Entry::Prompt(texts(&message["content"]))),
            Some("assistant") => entries.extend((0..is("tool_use")).map(|_| Entry::Call)),
            _ => entries.push(Entry::Other),
        }
    }
    let messages = list(&request["messages"]).count();
    Conversation::new(entries, messages, names(&request["tools"], |tool| &tool["name"]))
}

fn write(turn: &Turn, _conversation: &Conversation, exchange: &Exchange<'_>) -> Response {
    // Each block whole, and as it begins and goes on in a stream.
    let mut blocks = Vec::new();
    if !turn.text.is_empty() {
        let whole = json!({ "type": "text", "text": turn.text });
        let delta = json!({ "type": "text_delta", "text": turn.text });
        blocks.push((whole, json!({ "type": "text", "text": "" }), delta));
    }
    if let Some(action) = &turn.action {
        let (name, input) = match action {
            Action::Write { path, text } => ("Write", json!({ "file_path": path, "content": format!("{text}\n") })),
            Action::Run(command) => ("Bash", json!({ "command": command, "description": "as told" })),
            Action::Call { tool, input } => (tool.as_str(), input.clone()),
        };
        let begin = json!({ "type": "tool_use", "id": id("toolu_"), "name": name, "input": {} });
        let mut whole = begin.clone();
        whole["input"] = input.clone();
        blocks.push((whole, begin, json!({ "type": "input_json_delta", "partial_json": input.to_string() })));
    }
    let stop = if turn.action.is_some() { "tool_use" } else { "end_turn" };
    let usage = json!({
        "input_tokens": FRESH_TOKENS,
        "cache_creation_input_tokens": CACHED_ANEW_TOKENS,
        "cache_read_input_tokens": turn.input_tokens.saturating_sub(FRESH_TOKENS + CACHED_ANEW_TOKENS),
        "output_tokens": 34,
    });
    let mut message = json!({
        "id": id("msg_"), "type": "message", "role": "assistant", "model": exchange.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    if !exchange.is_streamed {
        message["content"] = blocks.into_iter().map(|(whole, ..)| whole).collect();
        message["stop_reason"] = json!(stop);
        return body(200, &message);
    }
    let mut stream = vec![json!({ "type": "message_start", "message": message })];
    for (index, (_, begin, delta)) in blocks.into_iter().enumerate() {
        stream.push(json!({ "type": "content_block_start", "index": index, "content_block": begin }));
        stream.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        stream.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    stream.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    stream.push(json!({ "type": "message_stop" }));
    events(&stream)
}

fn failure(status: u16) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": "the stub fails as told" } })
}
