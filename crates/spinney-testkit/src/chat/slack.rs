//! A small Slack: its Web API for what a bot says, and what it would send to a webhook.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::server::{ApiServer, lock};
use crate::forge::{Exchange, Trouble};
use crate::hmac::hmac;
use crate::http::{Request, Response, unescape};

const TOKEN: &str = "xoxb-t0ken-that-nobody-may-see";
const SIGNING_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
const TEAM: &str = "T0001";
const BOT: &str = "U0BOT";
const DEFAULT_PAGE: usize = 100;

/// A Slack; it stops when dropped.
#[derive(Debug)]
pub struct TestSlack {
    server: ApiServer,
    state: Arc<Mutex<State>>,
}

/// A message as Slack keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct SlackMessage {
    pub channel: String,
    /// Its time, which is its id.
    pub ts: String,
    pub thread_ts: Option<String>,
    pub user: String,
    pub text: String,
    pub is_edited: bool,
    /// `null` without any.
    pub metadata: Value,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<SlackMessage>,
    /// Refused by these names, one after the other.
    refusals: Vec<&'static str>,
    times: u64,
}

impl Default for TestSlack {
    fn default() -> Self {
        Self::start()
    }
}

impl TestSlack {
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let server = ApiServer::start({
            let state = Arc::clone(&state);
            move |request| answer(request, &mut lock(&state))
        });
        Self { server, state }
    }

    /// The address for `platforms.slack.api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}/api", self.server.address())
    }

    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    #[must_use]
    pub fn signing_secret(&self) -> &'static str {
        SIGNING_SECRET
    }

    #[must_use]
    pub fn team(&self) -> &'static str {
        TEAM
    }

    /// The bot's user.
    #[must_use]
    pub fn bot(&self) -> &'static str {
        BOT
    }

    /// Gets into trouble at the next request; called again, at the one after.
    pub fn trouble(&self, trouble: Trouble) {
        self.server.trouble(trouble);
    }

    /// Refuses the next request by this name, as `channel_not_found`.
    pub fn refuse(&self, error: &'static str) {
        lock(&self.state).refusals.push(error);
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.server.exchanges()
    }

    /// What stands there, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<SlackMessage> {
        lock(&self.state).messages.clone()
    }

    /// What the bot said.
    #[must_use]
    pub fn said(&self) -> Vec<SlackMessage> {
        self.messages().into_iter().filter(|message| message.user == BOT).collect()
    }

    /// Writes as somebody; gives the message's time.
    pub fn write(&self, channel: &str, thread: Option<&str>, user: &str, text: &str) -> String {
        lock(&self.state).add(channel, thread, user, text, Value::Null).ts
    }

    pub fn delete(&self, ts: &str) {
        lock(&self.state).messages.retain(|message| message.ts != ts);
    }

    /// What Slack sends when somebody mentions the bot in a message that stands there.
    #[must_use]
    pub fn app_mention(&self, ts: &str) -> Value {
        let message = self.messages().into_iter().find(|message| message.ts == ts).expect("it was written");
        let mut event = json!({
            "type": "app_mention", "user": message.user, "text": message.text, "ts": ts, "team": TEAM,
            "channel": message.channel, "event_ts": ts,
        });
        if let Some(thread) = message.thread_ts {
            event["thread_ts"] = json!(thread);
        }
        self.event(&event)
    }

    /// An event as Slack wraps it.
    #[must_use]
    pub fn event(&self, event: &Value) -> Value {
        let mut state = lock(&self.state);
        state.times += 1;
        json!({
            "token": "verification", "team_id": TEAM, "api_app_id": "A0001", "event": event, "type": "event_callback",
            "event_id": format!("Ev{:08}", state.times), "event_time": seconds(), "is_ext_shared_channel": false,
            "authorizations": [
                { "enterprise_id": null, "team_id": TEAM, "user_id": BOT, "is_bot": true, "is_enterprise_install": false },
            ],
            "event_context": "4-abc",
        })
    }

    /// The headers by which Slack signs a body, now.
    #[must_use]
    pub fn sign(&self, body: &[u8]) -> Vec<(&'static str, String)> {
        self.sign_at(body, seconds())
    }

    /// The same at another time, in seconds.
    #[must_use]
    pub fn sign_at(&self, body: &[u8], time: u64) -> Vec<(&'static str, String)> {
        let signed = [format!("v0:{time}:").as_bytes(), body].concat();
        let digits = hmac(SIGNING_SECRET, &signed);
        vec![("x-slack-request-timestamp", time.to_string()), ("x-slack-signature", format!("v0={digits}"))]
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is set").as_secs()
}

impl State {
    fn add(&mut self, channel: &str, thread: Option<&str>, user: &str, text: &str, metadata: Value) -> SlackMessage {
        self.times += 1;
        let message = SlackMessage {
            channel: channel.to_owned(),
            ts: format!("{}.{:06}", seconds(), self.times),
            thread_ts: thread.map(str::to_owned),
            user: user.to_owned(),
            text: text.to_owned(),
            is_edited: false,
            metadata,
        };
        self.messages.push(message.clone());
        message
    }
}

fn answer(request: &Request, state: &mut State) -> Response {
    let asked = parameters(request);
    let text = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    let refused = |error: &str| ok(&json!({ "ok": false, "error": error }));
    match token {
        None => return refused("not_authed"),
        Some(TOKEN) => {}
        Some(_) => return refused("invalid_auth"),
    }
    if !state.refusals.is_empty() {
        return refused(state.refusals.remove(0));
    }
    let (channel, ts) = (text("channel"), text("ts"));
    let method = request.path().strip_prefix("/api/").unwrap_or_default().to_owned();
    let at = state.messages.iter().position(|message| message.channel == channel && message.ts == ts);
    match method.as_str() {
        "auth.test" => ok(&json!({
            "ok": true, "url": "https://acme.slack.com/", "team": "Acme", "user": "spinney", "team_id": TEAM,
            "user_id": BOT, "bot_id": "B0001", "is_enterprise_install": false,
        })),
        "chat.postMessage" if !channel.starts_with(['C', 'D', 'G']) => refused("channel_not_found"),
        "chat.postMessage" if text("text").is_empty() => refused("no_text"),
        "chat.postMessage" if text("text").chars().count() > 40_000 => refused("msg_too_long"),
        "chat.postMessage" => {
            let thread = text("thread_ts");
            let thread = (!thread.is_empty()).then_some(thread.as_str());
            let metadata = asked.get("metadata").cloned().unwrap_or_default();
            let message = state.add(&channel, thread, BOT, &text("text"), metadata);
            ok(&json!({ "ok": true, "channel": channel, "ts": message.ts, "message": shape(&message, false) }))
        }
        "chat.update" | "chat.delete" => {
            let Some(at) = at else { return refused("message_not_found") };
            if state.messages[at].user != BOT {
                return refused(if method == "chat.update" { "cant_update_message" } else { "cant_delete_message" });
            }
            if method == "chat.delete" {
                state.messages.remove(at);
                return ok(&json!({ "ok": true, "channel": channel, "ts": ts }));
            }
            let message = &mut state.messages[at];
            (message.text, message.is_edited) = (text("text"), true);
            ok(&json!({
                "ok": true, "channel": channel, "ts": ts, "text": message.text, "message": shape(message, false),
            }))
        }
        "conversations.replies" if at.is_none() => refused("thread_not_found"),
        "conversations.replies" => {
            let within = |message: &&SlackMessage| message.ts == ts || message.thread_ts.as_deref() == Some(&*ts);
            let found = state.messages.iter().filter(|message| message.channel == channel).filter(within);
            page(found.collect(), &asked)
        }
        "conversations.history" => {
            let above = |message: &&SlackMessage| message.channel == channel && message.thread_ts.is_none();
            page(state.messages.iter().filter(above).rev().collect(), &asked)
        }
        _ => refused("unknown_method"),
    }
}

/// A page of messages; the cursor is how many came before.
fn page(found: Vec<&SlackMessage>, asked: &Map<String, Value>) -> Response {
    let text = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default();
    let limit = text("limit").parse().unwrap_or(DEFAULT_PAGE).clamp(1, 1000);
    let before: usize = text("cursor").parse().unwrap_or(0);
    let with_metadata = ["1", "true", "True"].contains(&text("include_all_metadata"));
    let seconds = |ts: &str| ts.split('.').next().and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
    let oldest = seconds(text("oldest"));
    let found: Vec<_> = found.into_iter().filter(|message| seconds(&message.ts) >= oldest).collect();
    let shown: Vec<_> = found.iter().skip(before).take(limit).map(|message| shape(message, with_metadata)).collect();
    let has_more = found.len() > before + limit;
    let cursor = if has_more { (before + limit).to_string() } else { String::new() };
    ok(&json!({
        "ok": true, "messages": shown, "has_more": has_more, "response_metadata": { "next_cursor": cursor },
    }))
}

fn shape(message: &SlackMessage, with_metadata: bool) -> Value {
    let mut shape =
        json!({ "type": "message", "user": message.user, "text": message.text, "ts": message.ts, "team": TEAM });
    if message.user == BOT {
        (shape["bot_id"], shape["app_id"]) = (json!("B0001"), json!("A0001"));
    }
    if let Some(thread) = &message.thread_ts {
        shape["thread_ts"] = json!(thread);
    }
    if message.is_edited {
        shape["edited"] = json!({ "user": message.user, "ts": message.ts });
    }
    if with_metadata && !message.metadata.is_null() {
        shape["metadata"] = message.metadata.clone();
    }
    shape
}

/// What a call says, in whichever of Slack's ways: JSON, a form, or the query.
fn parameters(request: &Request) -> Map<String, Value> {
    if let Ok(Value::Object(body)) = serde_json::from_slice(&request.body) {
        return body;
    }
    let form = String::from_utf8_lossy(&request.body).replace('+', " ");
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    let form = pairs.map(|(name, value)| (unescape(name), unescape(value)));
    let both = request.parameters().into_iter().chain(form);
    let value = |value: String| match serde_json::from_str(&value) {
        Ok(Value::Object(value)) => Value::Object(value),
        _ => Value::String(value),
    };
    both.map(|(name, text)| (name, value(text))).collect()
}

/// Slack answers `200` to whatever it understands.
fn ok(body: &Value) -> Response {
    Response::json("200 OK", &[], body)
}
