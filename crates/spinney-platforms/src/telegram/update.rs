//! What Telegram tells: an update, by its webhook or because we asked.

use serde::Deserialize;
use serde_json::Value;
use spinney_core::ignored::quoted;
use spinney_core::{IgnoreReason, Work};

use super::address::Address;
use super::{PLATFORM, text};
use crate::http::{bounds, fault};
use crate::{Event, Ignored, Inbound, Received, Refusal, Request, Where, command};

/// Telegram's first words in a chat with a bot, whatever the person wanted.
const START: &str = "/start";

/// Who we are on Telegram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bot<'a> {
    pub id: i64,
    /// Without the `@`; none where Telegram did not tell yet.
    pub name: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Update {
    update_id: i64,
    message: Option<UpdateMessage>,
    edited_message: Option<UpdateMessage>,
}

#[derive(Debug, Deserialize)]
struct UpdateMessage {
    message_id: i64,
    from: Option<User>,
    chat: Chat,
    text: Option<String>,
    /// The text below a picture or a file.
    caption: Option<String>,
    message_thread_id: Option<i64>,
    #[serde(default)]
    is_topic_message: bool,
    reply_to_message: Option<Box<Replied>>,
}

/// The message that is answered.
#[derive(Debug, Deserialize)]
struct Replied {
    from: Option<User>,
    text: Option<String>,
    caption: Option<String>,
    /// In a topic every message answers this one.
    forum_topic_created: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct User {
    id: i64,
    #[serde(default)]
    is_bot: bool,
    #[serde(default)]
    first_name: String,
    last_name: Option<String>,
    username: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Chat {
    id: i64,
    #[serde(rename = "type")]
    kind: String,
}

/// Which of the bot's conversations a message is part of.
enum Call {
    /// It asks for this.
    Asks(String),
    /// It is for somebody else.
    Other,
    /// Who it calls is known once the bot knows its own name.
    Unknown,
}

/// What is wrong with an update that was refused.
pub(super) fn fault(body: &[u8]) -> IgnoreReason {
    fault::read::<Update>("update", body).err().unwrap_or_else(|| fault::malformed("update", None, false))
}

/// Reads what was verified.
pub(super) fn read(body: &[u8], bot: Bot<'_>) -> Result<Received, Refusal> {
    serde_json::from_slice::<Update>(body).map_err(|_| Refusal::Malformed)?.read(bot)
}

/// Reads what was asked for.
pub(super) fn read_value(value: &Value, bot: Bot<'_>) -> Result<Received, Refusal> {
    Update::deserialize(value).map_err(|_| Refusal::Malformed)?.read(bot)
}

impl Update {
    fn read(&self, bot: Bot<'_>) -> Result<Received, Refusal> {
        let (said, is_edit) = match (&self.message, &self.edited_message) {
            (Some(said), _) => (said, false),
            (None, Some(said)) => (said, true),
            (None, None) => {
                let event = "update other than `message` and `edited_message`".to_owned();
                return Ok(self.ignored(bot, None, IgnoreReason::EventKind { event }));
            }
        };
        let ignored = |reason| Ok(self.ignored(bot, Some(said), reason));
        let Some(author) = said.from.as_ref() else { return ignored(IgnoreReason::NoAuthor) };
        if author.id == bot.id {
            return ignored(IgnoreReason::OwnMessage);
        }
        if author.is_bot {
            return ignored(IgnoreReason::Bot { user: author.id.to_string() });
        }
        if !matches!(said.chat.kind.as_str(), "private" | "group" | "supergroup") {
            return ignored(IgnoreReason::PlaceKind { kind: quoted(&said.chat.kind) });
        }
        if said.words().trim().is_empty() {
            return ignored(IgnoreReason::NoText);
        }
        let asked = match said.call(bot) {
            Call::Asks(text) => Some(text),
            Call::Other => None,
            Call::Unknown => return Err(Refusal::NotYet),
        };
        let event = match (asked, is_edit) {
            (Some(text), false) => Event::Asked(said.request(&text)?),
            // What it said before is not told: it may have asked.
            (asked, true) => Event::Edited { request: asked.map(|text| said.request(&text)).transpose()? },
            (None, false) => {
                return ignored(IgnoreReason::NoMention { mention: bot.name.map(|name| format!("@{name}")) });
            }
        };
        let address = said.address();
        Ok(Received::one(Inbound {
            platform: PLATFORM,
            delivery: self.delivery(bot),
            conversation: address.conversation(),
            subject: Some(said.message_id.to_string()),
            author: bounds::author(&author.id.to_string(), &author.shown()),
            place: address.place(),
            repository: Where::Chat,
            event,
        }))
    }

    fn delivery(&self, bot: Bot<'_>) -> String {
        format!("{}:{}", bot.id, self.update_id)
    }

    /// What is known of an update that nothing is done about.
    fn ignored(&self, bot: Bot<'_>, said: Option<&UpdateMessage>, reason: IgnoreReason) -> Received {
        let author = said.and_then(|said| said.from.as_ref()).map(|author| author.id.to_string());
        Received::ignored(Ignored {
            platform: PLATFORM,
            delivery: self.delivery(bot),
            conversation: said.map(|said| said.address().conversation()).unwrap_or_default(),
            author: author.unwrap_or_default(),
            reason,
        })
    }
}

impl UpdateMessage {
    fn words(&self) -> &str {
        self.text.as_deref().or(self.caption.as_deref()).unwrap_or_default()
    }

    /// Whether it asks the bot. Among others only what mentions it, answers it, or is a command for it.
    fn call(&self, bot: Bot<'_>) -> Call {
        let words = self.words();
        let is_private = self.chat.kind == "private";
        if let Some((name, to, rest)) = text::command(words) {
            let is_ours = match (to, bot.name) {
                _ if is_private => true,
                (Some(_), None) => return Call::Unknown,
                (Some(to), Some(name)) => to.eq_ignore_ascii_case(name),
                // Another bot in the group may know others.
                (None, _) => name == START || command::parse(words).is_some(),
            };
            if is_ours {
                return Call::Asks(if name == START { "/help".to_owned() } else { format!("{name}{rest}") });
            }
            if to.is_some() {
                return Call::Other;
            }
        }
        let plain = || bot.name.map_or_else(|| words.to_owned(), |name| text::without_mentions(words, name));
        if is_private || self.answers(bot) {
            return Call::Asks(plain());
        }
        match bot.name {
            Some(name) if text::mentions(words, name) => Call::Asks(plain()),
            None if text::has_mention(words) => Call::Unknown,
            _ => Call::Other,
        }
    }

    fn replied(&self) -> Option<&Replied> {
        self.reply_to_message.as_deref().filter(|replied| replied.forum_topic_created.is_none())
    }

    fn answers(&self, bot: Bot<'_>) -> bool {
        self.replied().and_then(|replied| replied.from.as_ref()).is_some_and(|author| author.id == bot.id)
    }

    fn request(&self, text: &str) -> Result<Request, Refusal> {
        let replied = self.replied().and_then(|replied| replied.text.as_deref().or(replied.caption.as_deref()));
        let work = Work::thread(&format!("telegram:{}", self.address().conversation()));
        Ok(Request {
            text: bounds::text(text),
            work: work.map_err(|_| Refusal::Malformed)?,
            title: None,
            context: replied.map(bounds::text).filter(|text| !text.is_empty()),
            links: Vec::new(),
            pull: None,
        })
    }

    fn address(&self) -> Address {
        Address { chat: self.chat.id, topic: self.message_thread_id.filter(|_| self.is_topic_message) }
    }
}

impl User {
    fn shown(&self) -> String {
        match (&self.username, &self.last_name) {
            (Some(name), _) => name.clone(),
            (None, Some(last)) => format!("{} {last}", self.first_name),
            (None, None) => self.first_name.clone(),
        }
    }
}
