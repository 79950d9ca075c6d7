//! OpenAI's responses.

use serde_json::{Value, json};

use super::answer::Turn;
use super::chat;
use super::conversation::{Conversation, Entry};
use super::server::{Exchange, Protocol, body, events, id, list, names, texts};
use crate::http::Response;

pub(super) const PROTOCOL: Protocol = Protocol { read, write, failure: chat::failure };

fn read(request: &Value) -> Conversation {
    let entry = |item: &Value| match (item["type"].as_str(), item["role"].as_str()) {
        (Some("message") | None, Some("user")) => Entry::Prompt(texts(&item["content"])),
        (Some("function_call"), _) => Entry::Call,
        _ => Entry::Other,
    };
    let entries: Vec<_> = list(&request["input"]).map(entry).collect();
    let messages = entries.len();
    Conversation::new(entries, messages, names(&request["tools"], |tool| &tool["name"]))
}

fn write(turn: &Turn, conversation: &Conversation, exchange: &Exchange<'_>) -> Response {
    let mut items = Vec::new();
    if !turn.text.is_empty() {
        let content = json!([{ "type": "output_text", "text": turn.text, "annotations": [] }]);
        items.push(json!({
            "type": "message", "role": "assistant", "id": id("msg_"), "status": "completed", "content": content,
        }));
    }
    if let Some(action) = &turn.action {
        let command = action.command();
        let (name, arguments) = if conversation.has("exec_command") {
            ("exec_command", json!({ "cmd": command }))
        } else {
            ("shell_command", json!({ "command": command }))
        };
        items.push(json!({
            "type": "function_call", "id": id("fc_"), "call_id": id("call_"), "name": name,
            "arguments": arguments.to_string(), "status": "completed",
        }));
    }
    let usage = json!({
        "input_tokens": turn.input_tokens,
        "input_tokens_details": { "cached_tokens": turn.input_tokens / 2 },
        "output_tokens": 34,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": turn.input_tokens + 34,
    });
    let response = |status: &str, output: &[Value], usage: &Value| {
        json!({
            "id": "resp_stub", "object": "response", "created_at": 0, "model": exchange.model, "status": status,
            "output": output, "usage": usage,
        })
    };
    let completed = response("completed", &items, &usage);
    if !exchange.is_streamed {
        return body(200, &completed);
    }
    let started = response("in_progress", &[], &Value::Null);
    let mut stream = vec![json!({ "type": "response.created", "response": started })];
    for (index, item) in items.iter().enumerate() {
        stream.push(json!({ "type": "response.output_item.added", "output_index": index, "item": item }));
        if item["type"] == "message" {
            stream.push(json!({
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": turn.text,
            }));
        }
        stream.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    stream.push(json!({ "type": "response.completed", "response": completed }));
    events(&stream)
}
