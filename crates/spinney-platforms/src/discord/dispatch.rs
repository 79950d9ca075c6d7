//! What the gateway tells about messages.

use serde::Deserialize;
use spinney_core::{IgnoreReason, Work};

use super::PLATFORM;
use super::address::{Address, is_snowflake};
use super::interaction::User;
use crate::http::bounds;
use crate::{Author, Event, Ignored, Inbound, Request, Where};

const DEFAULT: u64 = 0;
const REPLY: u64 = 19;

/// One thing that the gateway sent.
#[derive(Debug, Deserialize)]
struct Payload {
    op: u64,
    t: Option<String>,
    d: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Ready {
    user: User,
}

#[derive(Debug, Deserialize)]
struct Written {
    id: String,
    channel_id: String,
    guild_id: Option<String>,
    author: Option<User>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    mentions: Vec<User>,
    #[serde(rename = "type", default)]
    kind: u64,
    webhook_id: Option<String>,
    edited_timestamp: Option<String>,
    referenced_message: Option<Referenced>,
}

#[derive(Debug, Deserialize)]
struct Referenced {
    author: Option<User>,
}

#[derive(Debug, Deserialize)]
struct Gone {
    id: String,
    channel_id: String,
    guild_id: Option<String>,
}

/// What was heard, before it is known what kind of channel it was said in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The bot's own user.
    Ready(String),
    Message(Message),
    /// A message that nothing is done about.
    Ignored(Ignored),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub id: String,
    pub channel: String,
    pub is_direct: bool,
    author: Author,
    text: String,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    Asked,
    /// When; and whether it still asks.
    Edited {
        at: String,
        asks: bool,
    },
    Deleted,
}

/// Reads one message of the gateway; none where it asks for nothing.
pub(super) fn read(text: &str, bot: Option<&str>) -> Option<Sent> {
    let payload: Payload = serde_json::from_str(text).ok()?;
    if payload.op != 0 {
        return None;
    }
    let data = payload.d?;
    match payload.t.as_deref()? {
        "READY" => {
            let ready: Ready = serde_json::from_str(data.get()).ok()?;
            is_snowflake(&ready.user.id).then_some(Sent::Ready(ready.user.id))
        }
        kind @ ("MESSAGE_CREATE" | "MESSAGE_UPDATE") => {
            let written: Written = serde_json::from_str(data.get()).ok()?;
            match written.read(kind == "MESSAGE_UPDATE", bot?)? {
                Ok(message) => Some(Sent::Message(message)),
                Err(ignored) => Some(Sent::Ignored(ignored)),
            }
        }
        "MESSAGE_DELETE" => {
            let gone: Gone = serde_json::from_str(data.get()).ok()?;
            let is_right = is_snowflake(&gone.id) && is_snowflake(&gone.channel_id);
            is_right.then(|| {
                Sent::Message(Message {
                    is_direct: gone.guild_id.is_none(),
                    id: gone.id,
                    channel: gone.channel_id,
                    author: bounds::author("", ""),
                    text: String::new(),
                    what: What::Deleted,
                })
            })
        }
        _ => None,
    }
}

impl Written {
    /// None where nobody wants to know why: previews that are added, and what Discord says itself.
    fn read(self, is_edit: bool, bot: &str) -> Option<Result<Message, Ignored>> {
        let author = self.author.as_ref()?;
        let ids = [&*self.id, &*self.channel_id, &*author.id];
        if ![DEFAULT, REPLY].contains(&self.kind) || !ids.into_iter().all(is_snowflake) {
            return None;
        }
        if author.id == bot {
            return Some(Err(self.ignored(author, IgnoreReason::OwnMessage)));
        }
        if author.bot || self.webhook_id.is_some() {
            return Some(Err(self.ignored(author, IgnoreReason::Bot { user: author.id.clone() })));
        }
        let is_direct = self.guild_id.is_none();
        let answers_bot = self.referenced_message.as_ref().and_then(|message| message.author.as_ref());
        let calls = self.mentions.iter().any(|user| user.id == bot) || answers_bot.is_some_and(|user| user.id == bot);
        let asks = (calls || is_direct) && !self.content.trim().is_empty();
        let what = match (is_edit, self.edited_timestamp.clone()) {
            // A preview was added.
            (true, None) => return None,
            (true, Some(at)) => What::Edited { at: at.chars().take(64).collect(), asks },
            (false, _) if asks => What::Asked,
            (false, _) if calls || is_direct => return Some(Err(self.ignored(author, IgnoreReason::NoText))),
            (false, _) => return Some(Err(self.ignored(author, IgnoreReason::NoMention { mention: None }))),
        };
        Some(Ok(Message {
            text: bounds::text(&plain(&self.content, &self.mentions, bot)),
            author: bounds::author(&author.id, &author.username),
            id: self.id,
            channel: self.channel_id,
            is_direct,
            what,
        }))
    }

    /// What is known of a message that nothing is done about.
    fn ignored(&self, author: &User, reason: IgnoreReason) -> Ignored {
        Ignored {
            platform: PLATFORM,
            delivery: format!("message:{}", self.id),
            conversation: self.channel_id.clone(),
            author: author.id.clone(),
            reason,
        }
    }
}

impl Message {
    pub fn asks(&self) -> bool {
        matches!(self.what, What::Asked | What::Edited { asks: true, .. })
    }

    /// What it means, now that it is known whether it was said in a thread, or in direct messages.
    pub fn inbound(self, is_thread: bool) -> Option<Inbound> {
        let address = if is_thread || self.is_direct {
            Address::channel(&self.channel)
        } else {
            Address::opened_by(&self.channel, &self.id, &self.text)
        };
        let conversation = address.channel.clone();
        let work = Work::thread(&conversation).ok()?;
        let request =
            || Request { text: self.text.clone(), work, title: None, context: None, links: Vec::new(), pull: None };
        let (delivery, event) = match &self.what {
            What::Asked => (format!("message:{}", self.id), Event::Asked(request())),
            What::Edited { at, asks } => {
                (format!("edit:{}:{at}", self.id), Event::Edited { request: asks.then(request) })
            }
            What::Deleted => (format!("delete:{}", self.id), Event::Deleted),
        };
        Some(Inbound {
            platform: PLATFORM,
            delivery,
            conversation,
            subject: Some(self.id),
            author: self.author,
            place: address.place(),
            repository: Where::Chat,
            event,
        })
    }
}

/// A text as people read it, without the calls of the bot.
fn plain(content: &str, mentions: &[User], bot: &str) -> String {
    let mut out = String::new();
    let mut rest = content;
    while let Some((before, behind)) = rest.split_once("<@") {
        let Some((id, after)) = behind.split_once('>') else { break };
        let id = id.strip_prefix('!').unwrap_or(id);
        out.push_str(before);
        if id == bot {
            if out.ends_with(' ') {
                out.pop();
            }
        } else if let Some(user) = mentions.iter().find(|user| user.id == id) {
            out.push_str(&format!("@{}", bounds::name(&user.username)));
        } else {
            out.push_str(&format!("<@{id}>"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
