//! Telegram's Bot API: what is said, changed and asked.
//!
//! Telegram finds no message again: what was said just before a death, and not written down yet, is said twice.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spinney_core::Secret;
use spinney_forge::http::Call;

use super::address::Address;
use super::{PLATFORM, markup};
use crate::http::api::Api;
use crate::{Message, SendError, Sent};

/// An answer that has nothing to wait for.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The kinds of updates that are read.
pub(super) const UPDATES: [&str; 2] = ["message", "edited_message"];
/// Telegram's words, each behind `Bad Request: `, for what is fine.
const SAME: &str = "message is not modified";
/// And for what can't be changed any more.
const GONE: [&str; 4] = [
    "message to edit not found",
    "message can't be edited",
    "MESSAGE_ID_INVALID",
    "message identifier is not specified",
];
/// Sayings that broke off; more than that are none of a few bad moments.
const MAX_UNFINISHED: usize = 1000;

/// What was said: the messages of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentToTelegram {
    key: String,
    messages: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    chat: i64,
    message: i64,
}

/// A refusal in Telegram's words.
#[derive(Debug)]
struct Refused {
    description: String,
    /// Where the chat is now.
    moved_to: Option<i64>,
}

#[derive(Debug)]
enum Trouble {
    Refused(Refused),
    Send(SendError),
}

/// What a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Me {
    pub id: i64,
    pub name: String,
}

#[derive(Debug)]
pub(super) struct BotApi {
    api: Api,
    token: Secret,
    /// What was said of sayings that broke off, by their keys: they go on from there.
    unfinished: Mutex<HashMap<String, Vec<Part>>>,
}

impl BotApi {
    pub fn new(api: Api, token: Secret) -> Self {
        Self { api, token, unfinished: Mutex::default() }
    }

    pub async fn post(&self, address: Address, key: &str, message: &Message) -> Result<Sent, SendError> {
        self.tell(address, SentToTelegram { key: key.to_owned(), messages: Vec::new() }, message).await
    }

    pub async fn edit(&self, address: Address, was: &Sent, message: &Message) -> Result<Sent, SendError> {
        let was = serde_json::from_value(was.0.clone()).map_err(|_| self.api.refused("what was said is unknown"))?;
        self.tell(address, was, message).await
    }

    pub fn refused(&self, detail: &str) -> SendError {
        self.api.refused(detail)
    }

    /// Changes the messages that are there, adds what is missing, and deletes what is too much.
    async fn tell(&self, address: Address, was: SentToTelegram, message: &Message) -> Result<Sent, SendError> {
        let SentToTelegram { key, messages } = was;
        let mut messages = self.unfinished().remove(&key).unwrap_or(messages);
        let pieces = markup::render(message);
        for (index, piece) in pieces.iter().enumerate() {
            let told = self.tell_piece(address, messages.get(index).copied(), piece).await;
            match told {
                Ok(part) if index < messages.len() => messages[index] = part,
                Ok(part) => messages.push(part),
                Err(error) => {
                    let mut unfinished = self.unfinished();
                    if unfinished.len() >= MAX_UNFINISHED {
                        unfinished.clear();
                    }
                    unfinished.insert(key, messages);
                    return Err(error);
                }
            }
        }
        for part in messages.drain(pieces.len()..) {
            self.delete(part).await?;
        }
        Ok(Sent(json!(SentToTelegram { key, messages })))
    }

    async fn tell_piece(&self, address: Address, part: Option<Part>, piece: &str) -> Result<Part, SendError> {
        if let Some(part) = part
            && self.change(part, piece).await?
        {
            return Ok(part);
        }
        self.say(address, piece).await
    }

    async fn say(&self, address: Address, piece: &str) -> Result<Part, SendError> {
        let mut body = content(address.chat, piece);
        if let Some(topic) = address.topic {
            body["message_thread_id"] = json!(topic);
        }
        let mut answer = self.call("sendMessage", body.clone(), TIMEOUT).await;
        let mut chat = address.chat;
        if let Err(Trouble::Refused(Refused { moved_to: Some(moved_to), .. })) = answer {
            chat = moved_to;
            body["chat_id"] = json!(chat);
            answer = self.call("sendMessage", body, TIMEOUT).await;
        }
        let answer = answer.map_err(|trouble| self.error(trouble))?;
        let message = answer["message_id"].as_i64().ok_or_else(|| self.refused("its answer names no message"))?;
        Ok(Part { chat, message })
    }

    /// Changes a message; tells whether it was still there.
    async fn change(&self, part: Part, piece: &str) -> Result<bool, SendError> {
        let mut body = content(part.chat, piece);
        body["message_id"] = json!(part.message);
        match self.call("editMessageText", body, TIMEOUT).await {
            Ok(_) => Ok(true),
            Err(Trouble::Refused(refused)) if refused.description.contains(SAME) => Ok(true),
            // In the group that it became, messages have other numbers.
            Err(Trouble::Refused(refused)) if refused.moved_to.is_some() => Ok(false),
            Err(Trouble::Refused(refused)) if GONE.iter().any(|gone| refused.description.contains(gone)) => Ok(false),
            Err(trouble) => Err(self.error(trouble)),
        }
    }

    /// What can't be deleted stays.
    async fn delete(&self, part: Part) -> Result<(), SendError> {
        let body = json!({ "chat_id": part.chat, "message_id": part.message });
        match self.call("deleteMessage", body, TIMEOUT).await {
            Ok(_) | Err(Trouble::Refused(_)) => Ok(()),
            Err(trouble) => Err(self.error(trouble)),
        }
    }

    /// Who the token belongs to.
    pub async fn me(&self) -> Result<Me, SendError> {
        let answer = self.require("getMe", json!({}), TIMEOUT).await?;
        match (answer["id"].as_i64(), answer["username"].as_str()) {
            (Some(id), Some(name)) => Ok(Me { id, name: name.to_owned() }),
            _ => Err(self.refused("its answer names no bot")),
        }
    }

    /// From now on Telegram calls this address, and shows the secret.
    pub async fn set_webhook(&self, url: &str, secret: &Secret) -> Result<(), SendError> {
        let body = json!({ "url": url, "secret_token": secret.expose(), "allowed_updates": UPDATES });
        self.require("setWebhook", body, TIMEOUT).await.map(drop)
    }

    /// From now on Telegram calls nobody, and can be asked. What waits stays.
    pub async fn delete_webhook(&self) -> Result<(), SendError> {
        self.require("deleteWebhook", json!({}), TIMEOUT).await.map(drop)
    }

    /// What happened from `offset` on; Telegram forgets what was before it. Waits for something to happen.
    pub async fn updates(&self, offset: Option<i64>, wait: Duration) -> Result<Vec<Value>, SendError> {
        let mut body = json!({ "timeout": wait.as_secs(), "allowed_updates": UPDATES });
        if let Some(offset) = offset {
            body["offset"] = json!(offset);
        }
        match self.require("getUpdates", body, wait + TIMEOUT).await? {
            Value::Array(updates) => Ok(updates),
            _ => Err(self.refused("its answer is no list of updates")),
        }
    }

    async fn require(&self, method: &str, body: Value, timeout: Duration) -> Result<Value, SendError> {
        self.call(method, body, timeout).await.map_err(|trouble| self.error(trouble))
    }

    /// Asks; Telegram says `ok` or why not, whatever the status.
    async fn call(&self, method: &str, body: Value, timeout: Duration) -> Result<Value, Trouble> {
        let call = Call::post(format!("/bot{}/{method}", self.token.expose()), body);
        let reply = self.api.ask_within(call, timeout).await.map_err(Trouble::Send)?;
        let mut answer = match reply.json() {
            Ok(answer) if answer["ok"].is_boolean() => answer,
            _ => {
                let detail = format!("status {}, and no answer of Telegram's", reply.status);
                return Err(Trouble::Send(self.refused(&detail)));
            }
        };
        if answer["ok"] == true {
            return Ok(answer["result"].take());
        }
        let parameters = &answer["parameters"];
        // Its status is not always that of the answer.
        if let Some(after) = parameters["retry_after"].as_u64() {
            let after = Duration::from_secs(after);
            return Err(Trouble::Send(SendError::RateLimited { platform: PLATFORM, after }));
        }
        let description = answer["description"].as_str().unwrap_or("it does not say why").to_owned();
        Err(Trouble::Refused(Refused { description, moved_to: parameters["migrate_to_chat_id"].as_i64() }))
    }

    fn error(&self, trouble: Trouble) -> SendError {
        match trouble {
            Trouble::Refused(refused) => self.refused(&refused.description),
            Trouble::Send(error) => error,
        }
    }

    fn unfinished(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Part>>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn content(chat: i64, piece: &str) -> Value {
    json!({ "chat_id": chat, "text": piece, "parse_mode": "HTML", "link_preview_options": { "is_disabled": true } })
}
