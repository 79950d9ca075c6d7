//! A small Discord: its REST API for what a bot says, its gateway, and what it would send to a webhook.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::gateway::TestGateway;
use super::server::{ApiServer, lock};
use crate::forge::{Exchange, Trouble};
use crate::http::{Request, Response};

const TOKEN: &str = "discord-t0ken-that-nobody-may-see";
const BOT: &str = "1100000000000000001";
const APPLICATION: &str = "1100000000000000002";
const GUILD: &str = "1100000000000000003";
const SEED: [u8; 32] = [7; 32];
/// The first moment of Discord's ids.
const EPOCH_MS: u64 = 1_420_070_400_000;
const TEXT: u64 = 0;
const THREAD: u64 = 11;
const LOADING: u64 = 1 << 7;

/// A Discord; it stops when dropped.
#[derive(Debug)]
pub struct TestDiscord {
    server: ApiServer,
    gateway: TestGateway,
    state: Arc<Mutex<State>>,
}

/// A message as Discord keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscordMessage {
    pub id: String,
    pub channel: String,
    pub author: String,
    pub content: String,
    pub is_edited: bool,
    pub nonce: Option<String>,
    /// What was said beside the text.
    pub body: Value,
}

#[derive(Debug, Default)]
struct State {
    channels: Vec<(String, u64)>,
    messages: Vec<DiscordMessage>,
    /// Answers to commands: token, message, and whether it is still owed.
    interactions: Vec<(String, String, bool)>,
    numbers: u64,
    has_no_threads: bool,
}

impl Default for TestDiscord {
    fn default() -> Self {
        Self::start()
    }
}

impl TestDiscord {
    #[must_use]
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let server = ApiServer::start({
            let state = Arc::clone(&state);
            move |request| answer(request, &mut lock(&state))
        });
        Self { server, gateway: TestGateway::start(TOKEN, BOT, APPLICATION), state }
    }

    /// The address for `platforms.discord.api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}/api/v10", self.server.address())
    }

    /// The address for `platforms.discord.gateway_url`.
    #[must_use]
    pub fn gateway_url(&self) -> String {
        self.gateway.url()
    }

    #[must_use]
    pub fn gateway(&self) -> &TestGateway {
        &self.gateway
    }

    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The bot's user.
    #[must_use]
    pub fn bot(&self) -> &'static str {
        BOT
    }

    /// The application's key, in hexadecimal.
    #[must_use]
    pub fn public_key(&self) -> String {
        digits(key().public_key().as_ref())
    }

    /// Gets into trouble at the next request; called again, at the one after.
    pub fn trouble(&self, trouble: Trouble) {
        self.server.trouble(trouble);
    }

    /// Lets nobody open threads any more.
    pub fn forbid_threads(&self) {
        lock(&self.state).has_no_threads = true;
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.server.exchanges()
    }

    /// What stands there, oldest first.
    #[must_use]
    pub fn messages(&self) -> Vec<DiscordMessage> {
        lock(&self.state).messages.clone()
    }

    /// What the bot said.
    #[must_use]
    pub fn said(&self) -> Vec<DiscordMessage> {
        self.messages().into_iter().filter(|message| message.author == BOT).collect()
    }

    /// A text channel; gives its id.
    pub fn add_channel(&self) -> String {
        lock(&self.state).add_channel(TEXT)
    }

    /// Whether a thread of this id was opened.
    #[must_use]
    pub fn has_thread(&self, id: &str) -> bool {
        lock(&self.state).channels.iter().any(|(channel, kind)| channel == id && *kind == THREAD)
    }

    /// Writes as somebody, which the gateway tells; gives the message's id.
    pub fn write(&self, channel: &str, user: &str, content: &str) -> String {
        let message = lock(&self.state).add(channel, user, content, &Value::Null);
        self.gateway.dispatch("MESSAGE_CREATE", &told(&message));
        message.id
    }

    /// Changes what somebody wrote, which the gateway tells.
    pub fn change(&self, id: &str, content: &str) {
        let mut state = lock(&self.state);
        let message = state.messages.iter_mut().find(|message| message.id == id).expect("it was written");
        (message.content, message.is_edited) = (content.to_owned(), true);
        let told = told(message);
        drop(state);
        self.gateway.dispatch("MESSAGE_UPDATE", &told);
    }

    /// Deletes a message, which the gateway tells.
    pub fn delete(&self, id: &str) {
        let mut state = lock(&self.state);
        let at = state.messages.iter().position(|message| message.id == id).expect("it was written");
        let message = state.messages.remove(at);
        drop(state);
        let told = json!({ "id": id, "channel_id": message.channel, "guild_id": GUILD });
        self.gateway.dispatch("MESSAGE_DELETE", &told);
    }

    /// What Discord sends to the webhook when somebody types a command. Its answer is owed from then on.
    #[must_use]
    pub fn command(&self, channel: &str, user: &str, name: &str, options: &Value) -> Value {
        let mut state = lock(&self.state);
        let (id, token) = (state.id(), format!("interaction-token-{}", state.numbers));
        let message = state.add(channel, BOT, "", &Value::Null).id;
        state.interactions.push((token.clone(), message, true));
        json!({
            "app_permissions": "2147483647", "application_id": APPLICATION, "channel_id": channel,
            "channel": { "id": channel, "type": TEXT }, "context": 0, "guild_id": GUILD, "guild_locale": "en-US", "id": id,
            "data": { "id": "1100000000000000009", "name": name, "type": 1, "options": options }, "locale": "en-US",
            "member": { "user": { "id": user, "username": "ann", "discriminator": "0", "avatar": null }, "roles": [] },
            "token": token, "type": 2, "version": 1,
        })
    }

    /// Lets the tokens of all commands run out.
    pub fn expire_commands(&self) {
        lock(&self.state).interactions.clear();
    }

    /// The headers by which Discord signs a body, now.
    #[must_use]
    pub fn sign(&self, body: &[u8]) -> Vec<(&'static str, String)> {
        self.sign_at(body, now_ms() / 1000)
    }

    /// The same at another time, in seconds.
    #[must_use]
    pub fn sign_at(&self, body: &[u8], time: u64) -> Vec<(&'static str, String)> {
        let signed = [time.to_string().as_bytes(), body].concat();
        let signature = digits(key().sign(&signed).as_ref());
        vec![("x-signature-timestamp", time.to_string()), ("x-signature-ed25519", signature)]
    }
}

fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&SEED).expect("any seed makes a key")
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string takes it");
        digits
    })
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is set");
    u64::try_from(now.as_millis()).expect("it is not that late")
}

impl State {
    /// An id that tells its time.
    fn id(&mut self) -> String {
        self.numbers += 1;
        (((now_ms() - EPOCH_MS) << 22) | (self.numbers & 0xfff)).to_string()
    }

    fn add_channel(&mut self, kind: u64) -> String {
        let id = self.id();
        self.channels.push((id.clone(), kind));
        id
    }

    fn add(&mut self, channel: &str, author: &str, content: &str, body: &Value) -> DiscordMessage {
        let message = DiscordMessage {
            id: self.id(),
            channel: channel.to_owned(),
            author: author.to_owned(),
            content: content.to_owned(),
            is_edited: false,
            nonce: body["nonce"].as_str().map(str::to_owned),
            body: body.clone(),
        };
        self.messages.push(message.clone());
        message
    }
}

/// A message as the gateway tells it.
fn told(message: &DiscordMessage) -> Value {
    let mut told = shape(message);
    (told["guild_id"], told["member"]) = (json!(GUILD), json!({ "roles": [] }));
    told
}

fn shape(message: &DiscordMessage) -> Value {
    let user = |id: &str| json!({ "id": id, "username": "ann", "discriminator": "0", "bot": id == BOT });
    let calls = [format!("<@{BOT}>"), format!("<@!{BOT}>")].iter().any(|mark| message.content.contains(mark));
    let mentions = if calls { vec![user(BOT)] } else { Vec::new() };
    json!({
        "id": message.id, "channel_id": message.channel, "author": user(&message.author), "content": message.content,
        "timestamp": "2026-01-01T00:00:00.000000+00:00", "tts": false, "mention_everyone": false, "mentions": mentions,
        "edited_timestamp": message.is_edited.then_some("2026-01-01T00:00:01.000000+00:00"), "mention_roles": [],
        "attachments": [], "embeds": [], "pinned": false, "type": 0, "flags": 0, "components": [],
    })
}

fn answer(request: &Request, state: &mut State) -> Response {
    let path = request.path();
    let parts: Vec<&str> = path.strip_prefix("/api/v10/").unwrap_or_default().split('/').collect();
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let is_commands = parts.first() == Some(&"webhooks");
    if !is_commands && request.header("authorization") != Some(&format!("Bot {TOKEN}")) {
        return refused("401 Unauthorized", 0, "401: Unauthorized");
    }
    let content = body["content"].as_str().unwrap_or_default();
    if ["POST", "PATCH"].contains(&&*request.method) && path.contains("/messages") && !path.ends_with("/threads") {
        if content.is_empty() {
            return refused("400 Bad Request", 50_006, "Cannot send an empty message");
        }
        if content.encode_utf16().count() > 2000 || body["nonce"].as_str().is_some_and(|nonce| nonce.len() > 25) {
            return refused("400 Bad Request", 50_035, "Invalid Form Body");
        }
    }
    match (&*request.method, &*parts) {
        ("GET", ["users", "@me"]) => {
            ok(&json!({ "id": BOT, "username": "spinney", "discriminator": "0", "bot": true, "avatar": null }))
        }
        ("GET", ["gateway", "bot"]) => ok(&json!({
            "url": "wss://gateway.discord.gg", "shards": 1,
            "session_start_limit": { "total": 1000, "remaining": 999, "reset_after": 14_400_000, "max_concurrency": 1 },
        })),
        ("GET", ["channels", id]) => match state.channels.iter().find(|(channel, _)| channel == id) {
            Some((_, kind)) => ok(&json!({ "id": id, "type": kind, "guild_id": GUILD, "name": "general" })),
            None => refused("404 Not Found", 10_003, "Unknown Channel"),
        },
        ("POST", ["channels", channel, "messages", id, "threads"]) => open_thread(state, channel, id, &body),
        ("POST", ["channels", channel, "messages"]) => {
            if !state.channels.iter().any(|(known, _)| known == channel) {
                return refused("404 Not Found", 10_003, "Unknown Channel");
            }
            let nonce = body["nonce"].as_str().filter(|_| body["enforce_nonce"] == true);
            let same = |message: &&DiscordMessage| nonce.is_some() && message.nonce.as_deref() == nonce;
            let said = state.messages.iter().find(same).cloned();
            ok(&shape(&said.unwrap_or_else(|| state.add(channel, BOT, content, &body))))
        }
        ("PATCH" | "DELETE", ["channels", channel, "messages", id]) => {
            let at = state.messages.iter().position(|message| message.channel == *channel && message.id == *id);
            let Some(at) = at else { return refused("404 Not Found", 10_008, "Unknown Message") };
            if state.messages[at].author != BOT {
                return refused("403 Forbidden", 50_005, "Cannot edit a message authored by another user");
            }
            if request.method == "DELETE" {
                state.messages.remove(at);
                return Response::text("204 No Content", &[], String::new());
            }
            ok(&changed(&mut state.messages[at], content, &body))
        }
        (method, ["webhooks", APPLICATION, token, "messages", "@original"]) => {
            let Some(owed) = state.interactions.iter_mut().find(|(known, ..)| known == token) else {
                return refused("401 Unauthorized", 50_027, "Invalid Webhook Token");
            };
            let Some(message) = state.messages.iter_mut().find(|message| message.id == owed.1) else {
                return refused("404 Not Found", 10_008, "Unknown Message");
            };
            if method == "PATCH" {
                owed.2 = false;
                return ok(&changed(message, content, &body));
            }
            let mut shape = shape(message);
            shape["flags"] = json!(if owed.2 { LOADING } else { 0 });
            ok(&shape)
        }
        _ => refused("404 Not Found", 0, "404: Not Found"),
    }
}

fn changed(message: &mut DiscordMessage, content: &str, body: &Value) -> Value {
    (message.content, message.body, message.is_edited) = (content.to_owned(), body.clone(), true);
    shape(message)
}

fn open_thread(state: &mut State, channel: &str, message: &str, body: &Value) -> Response {
    let name = body["name"].as_str().unwrap_or_default();
    if !(1..=100).contains(&name.chars().count()) {
        return refused("400 Bad Request", 50_035, "Invalid Form Body");
    }
    if state.has_no_threads {
        return refused("403 Forbidden", 50_013, "Missing Permissions");
    }
    if state.channels.iter().any(|(known, _)| known == message) {
        return refused("400 Bad Request", 160_004, "A thread has already been created for this message");
    }
    if !state.messages.iter().any(|known| known.channel == channel && known.id == message) {
        return refused("404 Not Found", 10_008, "Unknown Message");
    }
    state.channels.push((message.to_owned(), THREAD));
    let thread = json!({ "id": message, "type": THREAD, "name": name, "parent_id": channel, "guild_id": GUILD });
    Response::json("201 Created", &[], &thread)
}

fn ok(body: &Value) -> Response {
    Response::json("200 OK", &[], body)
}

fn refused(status: &str, code: u64, message: &str) -> Response {
    Response::json(status, &[], &json!({ "message": message, "code": code }))
}
