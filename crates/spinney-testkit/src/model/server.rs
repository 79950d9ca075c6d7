//! Answers requests, and remembers them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::answer::{Answer, Answers, Turn};
use super::conversation::Conversation;
use super::{anthropic, chat, gemini, responses};
use crate::http::{HttpServer, Request, Response};

/// A model; it stops when dropped.
#[derive(Debug)]
pub struct StubModel {
    server: HttpServer,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

/// What an agent sent.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Without its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl ModelRequest {
    /// A header's value, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The names of the tools that the agent offers.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        Protocol::of(&self.path).map_or_else(Vec::new, |protocol| (protocol.read)(&self.body).tools)
    }

    /// Whether a text stands anywhere in it, as in the system prompt.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        fn holds(value: &Value, text: &str) -> bool {
            match value {
                Value::String(string) => string.contains(text),
                Value::Array(values) => values.iter().any(|value| holds(value, text)),
                Value::Object(values) => values.values().any(|value| holds(value, text)),
                _ => false,
            }
        }
        holds(&self.body, text)
    }
}

impl Default for StubModel {
    fn default() -> Self {
        Self::start()
    }
}

impl StubModel {
    #[must_use]
    pub fn start() -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (remembered, answers) = (Arc::clone(&requests), Answers::default());
        let server = HttpServer::start(move |request| answer(request, &answers, &remembered));
        Self { server, requests }
    }

    /// Its address, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The conversations so far, oldest first; side questions, as that for a title, among them.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().expect("no thread panicked").clone()
    }
}

/// How one kind of API is spoken.
pub(super) struct Protocol {
    pub read: fn(&Value) -> Conversation,
    pub write: fn(&Turn, &Conversation, &Exchange<'_>) -> Response,
    pub failure: fn(u16) -> Value,
}

/// What an answer repeats of its request.
pub(super) struct Exchange<'a> {
    pub model: &'a Value,
    pub is_streamed: bool,
}

impl Protocol {
    fn of(path: &str) -> Option<&'static Self> {
        if path.ends_with("/v1/messages") {
            Some(&anthropic::PROTOCOL)
        } else if path.ends_with("/responses") {
            Some(&responses::PROTOCOL)
        } else if path.ends_with("/chat/completions") {
            Some(&chat::PROTOCOL)
        } else if path.ends_with("enerateContent") {
            Some(&gemini::PROTOCOL)
        } else {
            None
        }
    }
}

fn answer(request: &Request, answers: &Answers, remembered: &Mutex<Vec<ModelRequest>>) -> io::Result<Response> {
    let path = request.path();
    let Some(protocol) = Protocol::of(&path) else {
        // What agents ask beside: which models there are, how many tokens a text has.
        return Ok(body(200, &json!({ "data": [], "models": [], "input_tokens": 100, "totalTokens": 100 })));
    };
    let sent: Value = serde_json::from_slice(&request.body)?;
    let request = ModelRequest { path, headers: request.headers.clone(), body: sent };
    remembered.lock().expect("no thread panicked").push(request.clone());
    let conversation = (protocol.read)(&request.body);
    let is_streamed = request.body["stream"] == true || request.path.ends_with("streamGenerateContent");
    let exchange = Exchange { model: &request.body["model"], is_streamed };
    Ok(match answers.to(&conversation) {
        Answer::Failure(status) => body(status, &(protocol.failure)(status)),
        Answer::Turn(turn) => (protocol.write)(&turn, &conversation, &exchange),
    })
}

/// One JSON document.
pub(super) fn body(status: u16, value: &Value) -> Response {
    Response::new(status, "application/json", value.to_string())
}

/// HttpServer-sent events; each is named by its `type` where it has one.
pub(super) fn events(values: &[Value]) -> Response {
    let mut text = String::new();
    for value in values {
        if let Some(name) = value["type"].as_str() {
            text += &format!("event: {name}\n");
        }
        let data = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text += &format!("data: {data}\n\n");
    }
    Response::new(200, "text/event-stream", text)
}

/// A name that was not given before.
pub(super) fn id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}stub{:06}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The strings that a list's values have under a name.
pub(super) fn names<'a>(list: &'a Value, name: impl Fn(&'a Value) -> &'a Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|value| name(value).as_str()).map(str::to_owned).collect()
}

/// The texts of a message's content: one string, or parts with a `text`.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content.as_str() {
        Some(text) => vec![text.to_owned()],
        None => names(content, |part| &part["text"]),
    }
}

/// The values of a list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
