//! Telegram's Bot API: npm's `telegram-test-api`, and before it what that leaves out: tokens are checked, updates wait and come
//! again until they are confirmed, what is not there can't be edited, and a webhook is called with its secret.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::{Value, json};

use super::server::{ApiServer, lock};
use crate::forge::{Exchange, Trouble};
use crate::http::{HttpClient, Request, Response};
use crate::programs::needs::left_out_without;

/// Names the directory in which the package is; set by `cargo xtask test`.
const VARIABLE: &str = "SPINNEY_TEST_TELEGRAM";
/// Serves on a free port, and says which, until its input ends.
const SERVE: &str = r#"
const TelegramServer = require("telegram-test-api");
const server = new TelegramServer({ host: "127.0.0.1", storeTimeout: 3600 });
server.config.port = 0;
server.start().then(() => console.log(server.server.address().port));
process.stdin.resume().on("end", () => process.exit());
"#;
const TOKEN: &str = "666:t0ken-that-nobody-may-see";
/// As the package has it.
const BOT: &str = "TestNameBot";
const BOT_ID: i64 = 666;
const PAUSE: Duration = Duration::from_millis(10);

/// A Telegram with one bot; it stops when dropped.
#[derive(Debug)]
pub struct TestTelegram {
    server: ApiServer,
    behind: Arc<Behind>,
    node: Child,
}

/// What the bot said, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramMessage {
    pub id: i64,
    pub chat: i64,
    /// In HTML.
    pub text: String,
}

/// A call of the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCall {
    pub secret: String,
    pub body: Vec<u8>,
    /// What was answered; none where nobody is there on loopback.
    pub status: Option<u16>,
}

/// What is behind the server that the bot sees.
#[derive(Debug)]
struct Behind {
    node: SocketAddr,
    is_closing: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Updates that the bot did not confirm yet.
    waiting: Vec<Value>,
    /// The text of what the bot said, by chat and number.
    said: HashMap<(i64, i64), String>,
    /// Answers to come, each for the next request of a method; `null` lets it through.
    refusals: VecDeque<(&'static str, Value)>,
    webhook: Option<(String, String)>,
    /// What the webhook was sent.
    calls: Vec<WebhookCall>,
}

impl Default for TestTelegram {
    fn default() -> Self {
        Self::start()
    }
}

impl TestTelegram {
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let directory = env::var_os(VARIABLE).unwrap_or_else(|| left_out_without("`telegram-test-api`"));
        let mut node = Command::new("node");
        node.args(["-e", SERVE]).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = node.spawn().expect("node can be started");
        let mut line = String::new();
        BufReader::new(node.stdout.take().expect("it was asked for")).read_line(&mut line).expect("node speaks");
        let port: u16 = line.trim().parse().expect("node tells its port");
        let (is_closing, state) = (AtomicBool::new(false), Mutex::default());
        let behind = Arc::new(Behind { node: ([127, 0, 0, 1], port).into(), is_closing, state });
        let server = ApiServer::start({
            let behind = Arc::clone(&behind);
            move |request| behind.answer(request)
        });
        Self { server, behind, node }
    }

    /// The address for `platforms.telegram.api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// The bot's name, without the `@`.
    #[must_use]
    pub fn bot(&self) -> &'static str {
        BOT
    }

    #[must_use]
    pub fn bot_id(&self) -> i64 {
        BOT_ID
    }

    /// Gets into trouble at the next request; called again, at the one after.
    pub fn trouble(&self, trouble: Trouble) {
        self.server.trouble(trouble);
    }

    /// Refuses the next request of a method, with this status, these words and parameters.
    pub fn refuse(&self, method: &'static str, status: u16, description: &str, parameters: &Value) {
        let answer = json!({ "ok": false, "error_code": status, "description": description, "parameters": parameters });
        lock(&self.behind.state).refusals.push_back((method, answer));
    }

    /// Lets the next request of a method through, so that what is refused is the one after.
    pub fn allow(&self, method: &'static str) {
        lock(&self.behind.state).refusals.push_back((method, Value::Null));
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.server.exchanges()
    }

    /// Writes to the bot in a private chat, which has the person's number.
    pub fn write(&self, user: i64, text: &str) {
        self.write_in(&json!({ "id": user, "type": "private" }), user, text);
    }

    /// Writes in any chat.
    pub fn write_in(&self, chat: &Value, user: i64, text: &str) {
        let from = json!({ "id": user, "is_bot": false, "first_name": "Ann", "username": format!("user{user}") });
        self.send(&json!({ "from": from, "chat": chat, "date": 1_700_000_000, "text": text }));
    }

    /// Sends a message as it is.
    pub fn send(&self, message: &Value) {
        let mut message = message.clone();
        message["botToken"] = json!(TOKEN);
        HttpClient::tcp(self.behind.node).post("/sendMessage", &message).expects(200);
    }

    /// What the bot said, oldest first.
    #[must_use]
    pub fn said(&self) -> Vec<TelegramMessage> {
        let history = HttpClient::tcp(self.behind.node).post("/getUpdatesHistory", &json!({ "token": TOKEN })).json();
        let said = history["result"].as_array().expect("the history is a list").iter().filter_map(|update| {
            let number = |value: &Value| value.as_i64().or_else(|| value.as_str()?.parse().ok());
            Some(TelegramMessage {
                id: number(&update["messageId"])?,
                chat: number(&update["message"]["chat_id"])?,
                text: update["message"]["text"].as_str()?.to_owned(),
            })
        });
        let mut said: Vec<_> = said.collect();
        said.sort_by_key(|message| message.id);
        said
    }

    /// Where the bot is called, and with what secret.
    #[must_use]
    pub fn webhook(&self) -> Option<(String, String)> {
        lock(&self.behind.state).webhook.clone()
    }

    /// How the webhook was called, in order.
    #[must_use]
    pub fn webhook_calls(&self) -> Vec<WebhookCall> {
        lock(&self.behind.state).calls.clone()
    }
}

impl Drop for TestTelegram {
    fn drop(&mut self) {
        self.behind.is_closing.store(true, Ordering::SeqCst);
        self.node.kill().ok();
        self.node.wait().ok();
    }
}

impl Behind {
    fn answer(&self, request: &Request) -> Response {
        let path = request.path();
        if path == "/webhook" {
            return self.call(&request.body);
        }
        let method = match path.strip_prefix("/bot").and_then(|path| path.split_once('/')) {
            Some((TOKEN, method)) => method,
            Some(_) => return refusal(&json!({ "ok": false, "error_code": 401, "description": "Unauthorized" })),
            None => return refusal(&json!({ "ok": false, "error_code": 404, "description": "Not Found" })),
        };
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut state = lock(&self.state);
        if let Some(at) = state.refusals.iter().position(|(refused, _)| *refused == method) {
            let (_, answer) = state.refusals.remove(at).expect("it was found");
            if !answer.is_null() {
                return refusal(&answer);
            }
        }
        drop(state);
        match method {
            "getUpdates" => self.updates(&body),
            "editMessageText" => self.edit(&path, &body),
            "setWebhook" => {
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                lock(&self.state).webhook = Some((text("url"), text("secret_token")));
                let own = format!("http://{}/webhook", request.header("host").unwrap_or_default());
                self.pass_on(&path, &json!({ "url": own }))
            }
            _ => {
                let answer = self.pass_on(&path, &body);
                // Not before the other side knows: what is written in between would go to the webhook still.
                if method == "deleteWebhook" {
                    lock(&self.state).webhook = None;
                }
                answer
            }
        }
    }

    fn pass_on(&self, path: &str, body: &Value) -> Response {
        let reply = HttpClient::tcp(self.node).post(path, body);
        let answer = reply.json();
        let (result, chat) = (&answer["result"], body["chat_id"].as_i64());
        if let (Some(chat), Some(id), Some(text)) = (chat, result["message_id"].as_i64(), body["text"].as_str()) {
            lock(&self.state).said.insert((chat, id), text.to_owned());
        }
        if answer["ok"] == false {
            return refusal(&answer);
        }
        Response::json(&format!("{} Passed", reply.status), &[], &answer)
    }

    /// Waits for what was not confirmed.
    fn updates(&self, body: &Value) -> Response {
        if lock(&self.state).webhook.is_some() {
            let description = "Conflict: can't use getUpdates method while webhook is active";
            return refusal(&json!({ "ok": false, "error_code": 409, "description": description }));
        }
        let deadline = Instant::now() + Duration::from_secs(body["timeout"].as_u64().unwrap_or_default());
        loop {
            let fresh = HttpClient::tcp(self.node).try_send("POST", &format!("/bot{TOKEN}/getUpdates"), b"{}");
            let fresh = fresh.map(|reply| reply.json()["result"].as_array().cloned().unwrap_or_default());
            let mut state = lock(&self.state);
            state.waiting.extend(fresh.unwrap_or_default());
            if let Some(offset) = body["offset"].as_i64() {
                state.waiting.retain(|update| update["update_id"].as_i64() >= Some(offset));
            }
            let is_over = Instant::now() >= deadline || self.is_closing.load(Ordering::SeqCst);
            if !state.waiting.is_empty() || is_over {
                return Response::json("200 OK", &[], &json!({ "ok": true, "result": state.waiting }));
            }
            drop(state);
            thread::sleep(PAUSE);
        }
    }

    fn edit(&self, path: &str, body: &Value) -> Response {
        let key = (body["chat_id"].as_i64().unwrap_or_default(), body["message_id"].as_i64().unwrap_or_default());
        let text = body["text"].as_str().unwrap_or_default();
        let said = lock(&self.state).said.get(&key).cloned();
        let wrong = match said {
            None => "Bad Request: message to edit not found",
            Some(said) if said == text => {
                "Bad Request: message is not modified: specified new message content is the same"
            }
            Some(_) => {
                lock(&self.state).said.insert(key, text.to_owned());
                return self.pass_on(path, body);
            }
        };
        refusal(&json!({ "ok": false, "error_code": 400, "description": wrong }))
    }

    /// Calls the webhook with what the package sends, and the secret.
    fn call(&self, update: &[u8]) -> Response {
        let webhook = lock(&self.state).webhook.clone();
        if let Some((url, secret)) = webhook {
            let place = url.strip_prefix("http://").and_then(|url| url.split_once('/'));
            let status = place.and_then(|(host, path)| {
                let client = HttpClient::tcp(host.parse().ok()?).with_header("Content-Type", "application/json");
                let client = client.with_header("X-Telegram-Bot-Api-Secret-Token", &secret);
                client.try_send("POST", &format!("/{path}"), update).ok().map(|reply| reply.status)
            });
            lock(&self.state).calls.push(WebhookCall { secret, body: update.to_vec(), status });
        }
        // The package dies of anything else.
        Response::json("200 OK", &[], &json!({}))
    }
}

fn refusal(answer: &Value) -> Response {
    Response::json(&format!("{} Refused", answer["error_code"]), &[], answer)
}
