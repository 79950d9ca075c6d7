//! What Slack tells by its Events API.

use serde::Deserialize;
use serde_json::json;
use spinney_core::Work;

use super::address::Address;
use super::{PLATFORM, text};
use crate::{Answer, Event, Inbound, Received, Refusal, Request, Where, bounds};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Envelope {
    UrlVerification {
        challenge: String,
    },
    EventCallback(Box<Callback>),
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Callback {
    team_id: String,
    event_id: String,
    event: Happened,
    #[serde(default)]
    authorizations: Vec<Authorization>,
}

/// For whom the event is sent: the bot.
#[derive(Debug, Deserialize)]
struct Authorization {
    user_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Happened {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    channel: Option<String>,
    channel_type: Option<String>,
    /// What was changed, as it is now.
    message: Option<Said>,
    previous_message: Option<Said>,
    deleted_ts: Option<String>,
    #[serde(flatten)]
    said: Said,
}

/// A message.
#[derive(Debug, Default, Deserialize)]
struct Said {
    user: Option<String>,
    bot_id: Option<String>,
    subtype: Option<String>,
    #[serde(default)]
    text: String,
    ts: Option<String>,
    thread_ts: Option<String>,
    edited: Option<serde::de::IgnoredAny>,
}

/// Reads what was verified.
pub(super) fn read(body: &[u8]) -> Result<Received, Refusal> {
    match serde_json::from_slice(body).map_err(|_| Refusal::Malformed)? {
        Envelope::UrlVerification { challenge } => {
            let answer = Answer::Json(json!({ "challenge": challenge }));
            Ok(Received { answer, ..Received::ignored("Slack checks the address") })
        }
        Envelope::EventCallback(callback) => callback.read(),
        Envelope::Other => Ok(Received::ignored("it is no event")),
    }
}

impl Callback {
    fn read(&self) -> Result<Received, Refusal> {
        let event = &self.event;
        match (event.kind.as_str(), event.subtype.as_deref()) {
            ("app_mention", _) if event.said.edited.is_some() => Ok(Received::ignored("an edit is told as a change")),
            ("app_mention", _) => self.asked(true),
            ("message", None | Some("file_share" | "thread_broadcast")) => self.asked(self.calls(&event.said)),
            ("message", Some("message_changed")) => self.changed(),
            ("message", Some("message_deleted")) => self.deleted(),
            ("message", _) => Ok(Received::ignored("it is a message of Slack's own")),
            _ => Ok(Received::ignored("it is about something else than messages")),
        }
    }

    /// A message. Outside of direct messages only those count that call the bot.
    fn asked(&self, calls: bool) -> Result<Received, Refusal> {
        let said = &self.event.said;
        if self.is_bots(said) {
            return Ok(Received::ignored("a bot wrote it"));
        }
        if !calls && !self.is_direct() {
            return Ok(Received::ignored("it does not mention the bot"));
        }
        let request = |address: &Address| Ok(Event::Asked(self.request(said, address)?));
        let mut inbound = self.inbound(said, request)?;
        // A mention is told twice, as a mention and as a message: it is the message that counts once.
        inbound.delivery = format!("message:{}", self.subject_in_full(said)?);
        Ok(Received::one(inbound))
    }

    fn changed(&self) -> Result<Received, Refusal> {
        let said = self.event.message.as_ref().ok_or(Refusal::Malformed)?;
        let before = self.event.previous_message.as_ref();
        // What is left of the first message of a thread.
        if said.subtype.as_deref() == Some("tombstone") {
            return self.gone(before.unwrap_or(said));
        }
        if self.is_bots(said) {
            return Ok(Received::ignored("a bot wrote it"));
        }
        if before.is_some_and(|before| before.text == said.text) {
            return Ok(Received::ignored("its words are the same"));
        }
        let asks = self.calls(said) || self.is_direct();
        if !asks && !before.is_some_and(|before| self.calls(before)) {
            return Ok(Received::ignored("it does not mention the bot"));
        }
        let edited = |address: &Address| {
            let request = asks.then(|| self.request(said, address)).transpose()?;
            Ok(Event::Edited { request })
        };
        Ok(Received::one(self.inbound(said, edited)?))
    }

    fn deleted(&self) -> Result<Received, Refusal> {
        let event = &self.event;
        match &event.previous_message {
            Some(said) => self.gone(said),
            None => {
                let ts = event.deleted_ts.clone().ok_or(Refusal::Malformed)?;
                self.gone(&Said { ts: Some(ts), user: event.said.user.clone(), ..Said::default() })
            }
        }
    }

    fn gone(&self, said: &Said) -> Result<Received, Refusal> {
        if self.is_bots(said) {
            return Ok(Received::ignored("a bot wrote it"));
        }
        // Without its words nobody knows whom it called.
        if !said.text.is_empty() && !self.calls(said) && !self.is_direct() {
            return Ok(Received::ignored("it did not mention the bot"));
        }
        Ok(Received::one(self.inbound(said, |_| Ok(Event::Deleted))?))
    }

    fn inbound(&self, said: &Said, event: impl FnOnce(&Address) -> Result<Event, Refusal>) -> Result<Inbound, Refusal> {
        let address = self.address(said)?;
        let user = said.user.as_deref().unwrap_or_default();
        if !user.is_empty() && !bounds::is_id(user) || !bounds::is_id(&self.event_id) {
            return Err(Refusal::Malformed);
        }
        Ok(Inbound {
            platform: PLATFORM,
            delivery: self.event_id.clone(),
            conversation: address.conversation(),
            subject: said.ts.clone(),
            author: bounds::author(user, user),
            place: address.place(),
            repository: Where::Chat,
            event: event(&address)?,
        })
    }

    fn request(&self, said: &Said, address: &Address) -> Result<Request, Refusal> {
        if said.user.is_none() {
            return Err(Refusal::Malformed);
        }
        Ok(Request {
            text: bounds::text(&text::plain(&said.text, self.bot())),
            work: Work::thread(&address.conversation()).map_err(|_| Refusal::Malformed)?,
            title: None,
            context: None,
            links: Vec::new(),
            pull: None,
        })
    }

    /// Answers go into the message's thread, or open one.
    fn address(&self, said: &Said) -> Result<Address, Refusal> {
        let channel = self.event.channel.as_deref().ok_or(Refusal::Malformed)?;
        let thread = said.thread_ts.as_deref().or(said.ts.as_deref()).ok_or(Refusal::Malformed)?;
        Address::new(&self.team_id, channel, Some(thread)).ok_or(Refusal::Malformed)
    }

    fn subject_in_full(&self, said: &Said) -> Result<String, Refusal> {
        let channel = self.event.channel.as_deref().ok_or(Refusal::Malformed)?;
        let address = Address::new(&self.team_id, channel, said.ts.as_deref()).ok_or(Refusal::Malformed)?;
        Ok(address.conversation())
    }

    fn bot(&self) -> Option<&str> {
        self.authorizations.iter().find_map(|authorization| authorization.user_id.as_deref())
    }

    fn calls(&self, said: &Said) -> bool {
        self.bot().is_some_and(|bot| text::mentions(&said.text, bot))
    }

    fn is_bots(&self, said: &Said) -> bool {
        let is_bot = said.bot_id.is_some() || said.subtype.as_deref() == Some("bot_message");
        is_bot || (said.user.is_some() && said.user.as_deref() == self.bot())
    }

    fn is_direct(&self) -> bool {
        self.event.channel_type.as_deref() == Some("im")
    }
}
