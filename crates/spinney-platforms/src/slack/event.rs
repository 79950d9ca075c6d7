//! What Slack tells by its Events API.

use serde::Deserialize;
use serde_json::json;
use spinney_core::ignored::quoted;
use spinney_core::{IgnoreReason, Work};

use super::address::Address;
use super::{PLATFORM, text};
use crate::http::{bounds, fault};
use crate::{Answer, Event, Ignored, Inbound, Received, Refusal, Request, Where};

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
    message: Option<EventMessage>,
    previous_message: Option<EventMessage>,
    deleted_ts: Option<String>,
    #[serde(flatten)]
    said: EventMessage,
}

/// A message.
#[derive(Debug, Default, Deserialize)]
struct EventMessage {
    user: Option<String>,
    bot_id: Option<String>,
    subtype: Option<String>,
    #[serde(default)]
    text: String,
    ts: Option<String>,
    thread_ts: Option<String>,
    edited: Option<serde::de::IgnoredAny>,
}

/// What is wrong with a payload that was refused.
pub(super) fn fault(body: &[u8]) -> IgnoreReason {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    let kind = match fault::read::<Kind>("event", body) {
        Ok(Kind { kind }) => kind,
        Err(reason) => return reason,
    };
    match kind.as_str() {
        "event_callback" => fault::read::<Callback>(&kind, body).err(),
        _ => None,
    }
    .unwrap_or_else(|| fault::malformed(&kind, None, false))
}

/// Reads what was verified.
pub(super) fn read(body: &[u8]) -> Result<Received, Refusal> {
    match serde_json::from_slice(body).map_err(|_| Refusal::Malformed)? {
        Envelope::UrlVerification { challenge } => {
            let answer = Answer::Json(json!({ "challenge": challenge }));
            let check = fault::unread(PLATFORM, body, IgnoreReason::PlatformCheck);
            Ok(Received { answer, ..Received::ignored(check) })
        }
        Envelope::EventCallback(callback) => callback.read(),
        Envelope::Other => {
            let reason = IgnoreReason::Unsupported { what: "envelopes other than `event_callback`".to_owned() };
            Ok(Received::ignored(fault::unread(PLATFORM, body, reason)))
        }
    }
}

impl Callback {
    fn read(&self) -> Result<Received, Refusal> {
        let event = &self.event;
        match (event.kind.as_str(), event.subtype.as_deref()) {
            // An edit is told as a change.
            ("app_mention", _) if event.said.edited.is_some() => Ok(self
                .ignored(&event.said, IgnoreReason::Action { event: event.kind.clone(), action: "edited".to_owned() })),
            ("app_mention", _) => self.asked(true),
            ("message", None | Some("file_share" | "thread_broadcast")) => self.asked(self.calls(&event.said)),
            ("message", Some("message_changed")) => self.changed(),
            ("message", Some("message_deleted")) => self.deleted(),
            ("message", Some(subtype)) => {
                let reason = IgnoreReason::Action { event: event.kind.clone(), action: quoted(subtype) };
                Ok(self.ignored(&event.said, reason))
            }
            _ => Ok(self.ignored(&event.said, IgnoreReason::EventKind { event: quoted(&event.kind) })),
        }
    }

    /// A message. Outside of direct messages only those count that call the bot.
    fn asked(&self, calls: bool) -> Result<Received, Refusal> {
        let said = &self.event.said;
        if let Some(reason) = self.of_bot(said) {
            return Ok(self.ignored(said, reason));
        }
        if !calls && !self.is_direct() {
            return Ok(self.ignored(said, IgnoreReason::NoMention { mention: None }));
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
        if let Some(reason) = self.of_bot(said) {
            return Ok(self.ignored(said, reason));
        }
        if before.is_some_and(|before| before.text == said.text) {
            return Ok(self.ignored(said, IgnoreReason::SameText));
        }
        let asks = self.calls(said) || self.is_direct();
        if !asks && !before.is_some_and(|before| self.calls(before)) {
            return Ok(self.ignored(said, IgnoreReason::NoMention { mention: None }));
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
                self.gone(&EventMessage { ts: Some(ts), user: event.said.user.clone(), ..EventMessage::default() })
            }
        }
    }

    fn gone(&self, said: &EventMessage) -> Result<Received, Refusal> {
        if let Some(reason) = self.of_bot(said) {
            return Ok(self.ignored(said, reason));
        }
        // Without its words nobody knows whom it called.
        if !said.text.is_empty() && !self.calls(said) && !self.is_direct() {
            return Ok(self.ignored(said, IgnoreReason::NoMention { mention: None }));
        }
        Ok(Received::one(self.inbound(said, |_| Ok(Event::Deleted))?))
    }

    fn inbound(
        &self,
        said: &EventMessage,
        event: impl FnOnce(&Address) -> Result<Event, Refusal>,
    ) -> Result<Inbound, Refusal> {
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

    fn request(&self, said: &EventMessage, address: &Address) -> Result<Request, Refusal> {
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
    fn address(&self, said: &EventMessage) -> Result<Address, Refusal> {
        let channel = self.event.channel.as_deref().ok_or(Refusal::Malformed)?;
        let thread = said.thread_ts.as_deref().or(said.ts.as_deref()).ok_or(Refusal::Malformed)?;
        Address::new(&self.team_id, channel, Some(thread)).ok_or(Refusal::Malformed)
    }

    fn subject_in_full(&self, said: &EventMessage) -> Result<String, Refusal> {
        let channel = self.event.channel.as_deref().ok_or(Refusal::Malformed)?;
        let address = Address::new(&self.team_id, channel, said.ts.as_deref()).ok_or(Refusal::Malformed)?;
        Ok(address.conversation())
    }

    fn bot(&self) -> Option<&str> {
        self.authorizations.iter().find_map(|authorization| authorization.user_id.as_deref())
    }

    fn calls(&self, said: &EventMessage) -> bool {
        self.bot().is_some_and(|bot| text::mentions(&said.text, bot))
    }

    /// Why a bot's message is nothing to us; none for a person's.
    fn of_bot(&self, said: &EventMessage) -> Option<IgnoreReason> {
        if said.user.is_some() && said.user.as_deref() == self.bot() {
            return Some(IgnoreReason::OwnMessage);
        }
        let is_bot = said.bot_id.is_some() || said.subtype.as_deref() == Some("bot_message");
        let user = said.user.as_deref().or(said.bot_id.as_deref()).unwrap_or_default();
        is_bot.then(|| IgnoreReason::Bot { user: quoted(user) })
    }

    /// What is known of a message that nothing is done about.
    fn ignored(&self, said: &EventMessage, reason: IgnoreReason) -> Received {
        Received::ignored(Ignored {
            platform: PLATFORM,
            delivery: quoted(&self.event_id),
            conversation: self.address(said).map(|address| address.conversation()).unwrap_or_default(),
            author: said.user.as_deref().map(quoted).unwrap_or_default(),
            reason,
        })
    }

    fn is_direct(&self) -> bool {
        self.event.channel_type.as_deref() == Some("im")
    }
}
