//! Discord's REST API: threads, and what is said and changed.

use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spinney_forge::http::{Call, Reply, encode};

use super::address::{Address, Interaction, Opening};
use super::markup;
use crate::conversation::split;
use crate::http::api::Api;
use crate::{Message, SendError, Sent};

const MAX_CHARS: usize = 2000;
/// In minutes: one day.
const ARCHIVED_AFTER: u64 = 1440;
/// Of Discord's bound for a nonce.
const NONCE_CHARS: usize = 24;
/// Of messages: no previews of links; the answer to a command that is still owed.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
const LOADING: u64 = 1 << 7;
/// Discord's names for what is fine: the thread exists already.
const HAS_THREAD: u64 = 160_004;
/// What can't be changed any more: an unknown message, somebody else's, one in an archived thread.
const GONE: [u64; 3] = [10_008, 50_005, 50_083];

/// What was said.
#[derive(Debug, Serialize, Deserialize)]
struct SentToDiscord {
    key: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    channel: String,
    message: String,
    /// Whether it is the answer to a command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    answers: bool,
}

/// Where something is said.
struct Spot {
    channel: String,
    /// The message that is answered, where it opens no thread.
    reference: Option<String>,
}

#[derive(Debug)]
pub(super) struct Rest {
    pub api: Api,
}

impl Rest {
    /// Says something. A second time within a few minutes it is the same messages: Discord knows their nonces.
    pub async fn post(&self, address: &Address, key: &str, message: &Message) -> Result<Sent, SendError> {
        let pieces = split::pieces(&markup::render(message), MAX_CHARS);
        let mut parts = Vec::new();
        if let (Some(interaction), Some(first)) = (&address.interaction, pieces.first()) {
            parts.extend(self.answer(address, interaction, first).await?);
        }
        if parts.len() < pieces.len() {
            let spot = self.spot(address).await?;
            for (index, piece) in pieces.iter().enumerate().skip(parts.len()) {
                parts.push(self.say(&spot, &format!("{key}:{index}"), piece).await?);
            }
        }
        Ok(sent(key, parts))
    }

    pub async fn edit(&self, address: &Address, was: &Sent, message: &Message) -> Result<Sent, SendError> {
        let was: SentToDiscord =
            serde_json::from_value(was.0.clone()).map_err(|_| self.api.refused("what was said is unknown"))?;
        let pieces = split::pieces(&markup::render(message), MAX_CHARS);
        let mut parts = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let before = was.parts.get(index);
            let changed = match before {
                Some(part) => self.change(address, part, piece).await?,
                None => false,
            };
            parts.push(match before {
                Some(part) if changed => part.clone(),
                _ => {
                    // Its nonce is spent where it was said before.
                    let anew = before.map_or_else(String::new, |part| format!(":{}", part.message));
                    let spot = self.spot(address).await?;
                    self.say(&spot, &format!("{}:{index}{anew}", was.key), piece).await?
                }
            });
        }
        for part in was.parts.iter().skip(pieces.len()) {
            self.delete(part).await?;
        }
        Ok(sent(&was.key, parts))
    }

    /// Answers a command, where that is still owed; none where it is answered, or it is too late.
    async fn answer(
        &self,
        address: &Address,
        interaction: &Interaction,
        piece: &str,
    ) -> Result<Option<Part>, SendError> {
        let path = original(interaction);
        let there = self.api.ask(Call::get(path.clone())).await?;
        if !there.is_success() {
            return Ok(None);
        }
        let there = there.json().unwrap_or_default();
        let is_owed = there["flags"].as_u64().unwrap_or(0) & LOADING != 0;
        // Before a death, its answer was this one.
        let is_said = there["content"] == piece;
        if is_owed {
            let reply = self.api.ask(Call::patch(path, content(piece))).await?;
            if !reply.is_success() {
                return Ok(None);
            }
        }
        let part =
            |message: &str| Part { channel: address.channel.clone(), message: message.to_owned(), answers: true };
        Ok(there["id"].as_str().filter(|_| is_owed || is_said).map(part))
    }

    /// The channel, or the thread that the message opens.
    async fn spot(&self, address: &Address) -> Result<Spot, SendError> {
        let spot = Spot { channel: address.channel.clone(), reference: None };
        let Some(Opening { channel, message, name }) = &address.opened_by else { return Ok(spot) };
        let body = json!({ "name": name, "auto_archive_duration": ARCHIVED_AFTER });
        let reply = self.api.ask(Call::post(format!("/channels/{channel}/messages/{message}/threads"), body)).await?;
        if reply.is_success() || code(&reply) == Some(HAS_THREAD) {
            return Ok(spot);
        }
        // Where there may be no threads, it is said as an answer to the message.
        tracing::debug!(status = reply.status, code = code(&reply), "no thread can be opened");
        Ok(Spot { channel: channel.clone(), reference: Some(message.clone()) })
    }

    async fn say(&self, spot: &Spot, key: &str, piece: &str) -> Result<Part, SendError> {
        let mut body = content(piece);
        (body["nonce"], body["enforce_nonce"]) = (json!(nonce(key)), json!(true));
        if let Some(message) = &spot.reference {
            body["message_reference"] = json!({ "message_id": message, "fail_if_not_exists": false });
        }
        let reply = self.api.ask(Call::post(format!("/channels/{}/messages", spot.channel), body)).await?;
        let said = self.require(&reply)?;
        let message = said["id"].as_str().ok_or_else(|| self.api.refused("its answer names no message"))?;
        Ok(Part { channel: spot.channel.clone(), message: message.to_owned(), answers: false })
    }

    /// Changes a message; tells whether it was still there.
    async fn change(&self, address: &Address, part: &Part, piece: &str) -> Result<bool, SendError> {
        if let Some(interaction) = address.interaction.as_ref().filter(|_| part.answers) {
            let reply = self.api.ask(Call::patch(original(interaction), content(piece))).await?;
            if reply.is_success() {
                return Ok(true);
            }
        }
        let path = format!("/channels/{}/messages/{}", part.channel, part.message);
        let reply = self.api.ask(Call::patch(path, content(piece))).await?;
        if code(&reply).is_some_and(|code| GONE.contains(&code)) {
            return Ok(false);
        }
        self.require(&reply).map(|_| true)
    }

    async fn delete(&self, part: &Part) -> Result<(), SendError> {
        let path = format!("/channels/{}/messages/{}", part.channel, part.message);
        let reply = self.api.ask(Call::delete(path)).await?;
        if reply.is_success() || code(&reply).is_some_and(|code| GONE.contains(&code)) {
            return Ok(());
        }
        Err(self.api.refusal(&reply))
    }

    /// Who the token belongs to: its user's id and name.
    pub async fn test(&self) -> Result<(String, String), SendError> {
        let reply = self.api.ask(Call::get("/users/@me".to_owned())).await?;
        let user = self.require(&reply)?;
        match (user["id"].as_str(), user["username"].as_str()) {
            (Some(id), Some(name)) => Ok((id.to_owned(), name.to_owned())),
            _ => Err(self.api.refused("its answer names no user")),
        }
    }

    fn require(&self, reply: &Reply) -> Result<Value, SendError> {
        if !reply.is_success() {
            return Err(self.api.refusal(reply));
        }
        reply.json().map_err(|_| self.api.refused("no answer of Discord's"))
    }
}

fn sent(key: &str, parts: Vec<Part>) -> Sent {
    Sent(json!(SentToDiscord { key: key.to_owned(), parts }))
}

/// What every message says beside its text: that nobody is called by it.
fn content(piece: &str) -> Value {
    json!({ "content": piece, "allowed_mentions": { "parse": [] }, "flags": SUPPRESS_EMBEDS })
}

fn original(interaction: &Interaction) -> String {
    format!("/webhooks/{}/{}/messages/@original", encode(&interaction.application), encode(&interaction.token))
}

/// A key as short as Discord takes it.
fn nonce(key: &str) -> String {
    let hash = digest::digest(&digest::SHA256, key.as_bytes());
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..NONCE_CHARS].to_owned()
}

/// Discord's number for what is wrong.
fn code(reply: &Reply) -> Option<u64> {
    if reply.is_success() { None } else { reply.json().ok()?["code"].as_u64() }
}
