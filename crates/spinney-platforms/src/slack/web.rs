//! Slack's Web API: what is said, changed, and found again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spinney_core::Timestamp;
use spinney_forge::http::Call;

use super::address::Address;
use super::{PLATFORM, markup};
use crate::conversation::split;
use crate::http::api::Api;
use crate::{Message, SendError, Sent};

/// Slack takes ten times as much; nobody reads that in one message.
const MAX_CHARS: usize = 3900;
/// Names what we say, for finding it again.
const METADATA: &str = "spinney_message";
/// What was said before a death is said again soon after, or never.
const LOOK_BACK: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_PAGES: usize = 10;
/// Where Slack does not say how long.
const PAUSE: Duration = Duration::from_secs(30);

/// What was said: the times, which are the ids, of its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentToSlack {
    key: String,
    messages: Vec<String>,
}

/// A refusal by its name in the API.
#[derive(Debug)]
enum Trouble {
    Refused(String),
    Send(SendError),
}

impl From<SendError> for Trouble {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

#[derive(Debug)]
pub(super) struct Web {
    pub api: Api,
}

impl Web {
    /// Says something, where it was not said yet.
    pub async fn post(&self, address: &Address, key: &str, message: &Message) -> Result<Sent, SendError> {
        let pieces = split::pieces(&markup::render(message), MAX_CHARS);
        let mut messages = self.find(address, key).await?;
        for (part, piece) in pieces.iter().enumerate().skip(messages.len()) {
            messages.push(self.say(address, key, part, piece).await?);
        }
        Ok(sent(key, messages))
    }

    pub async fn edit(&self, address: &Address, was: &Sent, message: &Message) -> Result<Sent, SendError> {
        let was: SentToSlack =
            serde_json::from_value(was.0.clone()).map_err(|_| self.api.refused("what was said is unknown"))?;
        let pieces = split::pieces(&markup::render(message), MAX_CHARS);
        let mut messages = Vec::new();
        for (part, piece) in pieces.iter().enumerate() {
            let changed = match was.messages.get(part) {
                Some(ts) => self.change(address, ts, piece).await?,
                None => None,
            };
            messages.push(match changed {
                Some(ts) => ts,
                None => self.say(address, &was.key, part, piece).await?,
            });
        }
        for ts in was.messages.iter().skip(pieces.len()) {
            self.delete(address, ts).await?;
        }
        Ok(sent(&was.key, messages))
    }

    async fn say(&self, address: &Address, key: &str, part: usize, piece: &str) -> Result<String, SendError> {
        let mut body = json!({
            "channel": address.channel,
            "text": piece,
            "unfurl_links": false,
            "unfurl_media": false,
            "metadata": { "event_type": METADATA, "event_payload": { "key": key, "part": part } },
        });
        if let Some(thread) = &address.thread {
            body["thread_ts"] = json!(thread);
        }
        let answer = self.call(Call::post("/chat.postMessage".to_owned(), body)).await;
        let answer = answer.map_err(|trouble| self.error(trouble))?;
        self.ts(&answer)
    }

    /// Changes a message; none where it is gone, or can't be changed any more.
    async fn change(&self, address: &Address, ts: &str, piece: &str) -> Result<Option<String>, SendError> {
        let body = json!({ "channel": address.channel, "ts": ts, "text": piece });
        match self.call(Call::post("/chat.update".to_owned(), body)).await {
            Ok(answer) => self.ts(&answer).map(Some),
            Err(Trouble::Refused(why))
                if ["message_not_found", "cant_update_message", "edit_window_closed"].contains(&why.as_str()) =>
            {
                Ok(None)
            }
            Err(trouble) => Err(self.error(trouble)),
        }
    }

    async fn delete(&self, address: &Address, ts: &str) -> Result<(), SendError> {
        let body = json!({ "channel": address.channel, "ts": ts });
        match self.call(Call::post("/chat.delete".to_owned(), body)).await {
            Ok(_) | Err(Trouble::Refused(_)) => Ok(()),
            Err(trouble) => Err(self.error(trouble)),
        }
    }

    /// The messages of a saying that stand there already, from its first one on.
    async fn find(&self, address: &Address, key: &str) -> Result<Vec<String>, SendError> {
        let now = u64::try_from(Timestamp::now().as_millisecond() / 1000).unwrap_or_default();
        let oldest = now.saturating_sub(LOOK_BACK.as_secs());
        let mut parts: Vec<Option<String>> = Vec::new();
        let mut cursor = String::new();
        for _ in 0..MAX_PAGES {
            let call = match &address.thread {
                Some(thread) => Call::get("/conversations.replies".to_owned()).query("ts", thread),
                None => Call::get("/conversations.history".to_owned()),
            };
            let call = call.query("channel", &address.channel).query("include_all_metadata", "true");
            let mut call = call.query("limit", "200").query("oldest", oldest.to_string());
            if !cursor.is_empty() {
                call = call.query("cursor", &cursor);
            }
            let page = match self.call(call).await {
                Ok(page) => page,
                // Without the right to look, saying it twice is better than not at all.
                Err(Trouble::Refused(why)) => {
                    tracing::debug!(why, "Slack does not show what was said before");
                    break;
                }
                Err(trouble) => return Err(self.error(trouble)),
            };
            for message in page["messages"].as_array().into_iter().flatten() {
                if let Some((part, ts)) = part_of(message, key) {
                    parts.resize(parts.len().max(part + 1), None);
                    parts[part] = Some(ts);
                }
            }
            cursor = page["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
            if cursor.is_empty() {
                break;
            }
        }
        Ok(parts.into_iter().map_while(|part| part).collect())
    }

    /// Who the token belongs to, and where: its user and team.
    pub async fn test(&self) -> Result<(String, String), SendError> {
        let answer = self.call(Call::post("/auth.test".to_owned(), json!({}))).await;
        let answer = answer.map_err(|trouble| self.error(trouble))?;
        match (answer["user_id"].as_str(), answer["team_id"].as_str()) {
            (Some(user), Some(team)) => Ok((user.to_owned(), team.to_owned())),
            _ => Err(self.api.refused("its answer names no user")),
        }
    }

    /// Asks; Slack says `ok` or why not, whatever the status.
    async fn call(&self, call: Call) -> Result<Value, Trouble> {
        let platform = PLATFORM;
        let reply = self.api.ask(call).await?;
        let answer = match reply.json() {
            Ok(answer) if answer["ok"].is_boolean() => answer,
            _ => return Err(self.api.refused(&format!("status {}, and no answer of Slack's", reply.status)).into()),
        };
        if answer["ok"] == true {
            return Ok(answer);
        }
        let why = answer["error"].as_str().unwrap_or("it does not say why").to_owned();
        Err(match why.as_str() {
            "ratelimited" | "rate_limited" | "message_limit_exceeded" => {
                let after = reply.header("retry-after").and_then(|after| after.parse().ok()).map(Duration::from_secs);
                SendError::RateLimited { platform, after: after.unwrap_or(PAUSE) }.into()
            }
            "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
                SendError::Unreachable { platform, detail: why }.into()
            }
            _ => Trouble::Refused(why),
        })
    }

    fn error(&self, trouble: Trouble) -> SendError {
        match trouble {
            Trouble::Refused(why) => self.api.refused(&why),
            Trouble::Send(error) => error,
        }
    }

    fn ts(&self, answer: &Value) -> Result<String, SendError> {
        answer["ts"].as_str().map(str::to_owned).ok_or_else(|| self.api.refused("its answer names no message"))
    }
}

fn sent(key: &str, messages: Vec<String>) -> Sent {
    Sent(json!(SentToSlack { key: key.to_owned(), messages }))
}

/// Which part of a saying a message is, by what we wrote beside it. Nobody else's message counts: only apps write metadata.
fn part_of(message: &Value, key: &str) -> Option<(usize, String)> {
    let metadata = &message["metadata"];
    let payload = &metadata["event_payload"];
    let part = usize::try_from(payload["part"].as_u64()?).ok().filter(|part| *part < 1000)?;
    let is_ours = metadata["event_type"] == METADATA && payload["key"] == key;
    is_ours.then_some((part, message["ts"].as_str()?.to_owned()))
}
