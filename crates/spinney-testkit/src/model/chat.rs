//! OpenAI's chat completions, which many others speak too.

use serde_json::{Value, json};

use super::answer::Turn;
use super::conversation::{Conversation, Entry};
use super::instruction::Action;
use super::server::{Exchange, Protocol, body, events, id, list, names, texts};
use crate::http::Response;

pub(super) const PROTOCOL: Protocol = Protocol { read, write, failure };

fn read(request: &Value) -> Conversation {
    let mut entries = Vec::new();
    for message in list(&request["messages"]) {
        match message["role"].as_str() {
            Some("user") => entries.push(Entry::Prompt(texts(&message["content"]))),
            Some("assistant") => entries.extend(list(&message["tool_calls"]).map(|_| Entry::Call)),
            _ => entries.push(Entry::Other),
        }
    }
    let messages = list(&request["messages"]).count();
    Conversation::new(entries, messages, names(&request["tools"], |tool| &tool["function"]["name"]))
}

fn write(turn: &Turn, _conversation: &Conversation, exchange: &Exchange<'_>) -> Response {
    let mut message = json!({ "role": "assistant", "content": turn.text });
    let mut finish = "stop";
    if let Some(action) = &turn.action {
        let (name, arguments) = match action {
            Action::Write { path, text } => ("write", json!({ "filePath": path, "content": format!("{text}\n") })),
            Action::Run(command) => ("bash", json!({ "command": command, "description": "as told" })),
            Action::Call { tool, input } => (tool.as_str(), input.clone()),
        };
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        message["tool_calls"] = json!([{ "index": 0, "id": id("call_"), "type": "function", "function": function }]);
        finish = "tool_calls";
    }
    let usage = json!({
        "prompt_tokens": turn.input_tokens,
        "prompt_tokens_details": { "cached_tokens": turn.input_tokens / 2 },
        "completion_tokens": 34,
        "total_tokens": turn.input_tokens + 34,
    });
    let id = id("chatcmpl-");
    if !exchange.is_streamed {
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        return body(
            200,
            &json!({
                "id": id, "object": "chat.completion", "created": 0, "model": exchange.model, "choices": [choice],
                "usage": usage,
            }),
        );
    }
    let chunk = |choices: Value, usage: &Value| {
        json!({
            "id": id, "object": "chat.completion.chunk", "created": 0, "model": exchange.model, "choices": choices,
            "usage": usage,
        })
    };
    events(&[
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), &Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), &Value::Null),
        chunk(json!([]), &usage),
        json!("[DONE]"),
    ])
}

pub(super) fn failure(status: u16) -> Value {
    json!({ "error": { "message": "the stub fails as told", "type": "stub_error", "code": status.to_string() } })
}
