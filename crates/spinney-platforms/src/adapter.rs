//! What a platform's adapter can do. It verifies, parses and sends; it decides nothing.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use spinney_core::{Platform, Timestamp};
use tokio::sync::mpsc;

use crate::{Author, Heard, Ignored, Inbound, Message, Place};

/// What listens until it is dropped.
pub type Listening = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An answer that is on its way.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, SendError>> + Send + 'a>>;

pub trait Adapter: Send + Sync + fmt::Debug {
    fn platform(&self) -> Platform;

    /// Verifies what was sent to the webhook, over its raw bytes, and tells what it means. No I/O, nothing slow.
    fn receive(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Received, Refusal>;

    /// What is wrong with something that was verified, and refused as malformed or for its content type.
    fn fault(&self, _headers: &HeaderMap, _body: &[u8], _now: Timestamp) -> Option<Ignored> {
        None
    }

    /// Listens by itself, where the platform does not call: connects, and again when that breaks, and hands on what it
    /// hears, for as long as somebody takes it. None where there is nothing to listen to.
    fn listen(&self, _heard: mpsc::Sender<Heard>) -> Option<Listening> {
        None
    }

    /// Told of what was heard by [`Self::listen`] once no death loses it, in the order in which it was handed on.
    fn written(&self, _inbound: &Inbound) {}

    /// The conversation that a place is a part of, as a thread of its channel: what was said there of the repository
    /// counts here too.
    fn parent(&self, _place: &Place) -> Option<String> {
        None
    }

    fn limits(&self) -> Limits;

    /// Tells the platform to call this address from now on; none where its API can't be told that.
    fn set_webhook<'a>(&'a self, _url: &'a str) -> Option<Answering<'a, ()>> {
        None
    }

    /// Asks the platform who the bot is there, which tells whether it takes the secrets.
    fn who(&self) -> Answering<'_, String>;

    /// Asks the platform for what a webhook did not tell of the work. Called once, before anything is decided.
    fn complete<'a>(&'a self, _inbound: &'a mut Inbound) -> Answering<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Whether the platform itself lets somebody change the work of a place (GitHub: write access to the repository).
    fn may_change<'a>(&'a self, place: &'a Place, author: &'a Author) -> Answering<'a, bool>;

    /// Says something new at a place, split where it is too long. `key` names this saying: where the platform can tell that
    /// it was said before a death, it is found again instead of being said twice.
    fn post<'a>(&'a self, place: &'a Place, key: &'a str, message: &'a Message) -> Answering<'a, Sent>;

    /// Changes what was said; what is gone is said anew.
    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent>;
}

/// What came of a webhook that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// None asks for anything: then it says why.
    pub inbound: Vec<Inbound>,
    /// Why there is nothing to do.
    pub ignored: Option<Ignored>,
    pub answer: Answer,
}

impl Received {
    /// Something that asks for nothing.
    #[must_use]
    pub fn ignored(ignored: Ignored) -> Self {
        Self { inbound: Vec::new(), ignored: Some(ignored), answer: Answer::Empty }
    }

    #[must_use]
    pub fn one(inbound: Inbound) -> Self {
        Self { inbound: vec![inbound], ignored: None, answer: Answer::Empty }
    }
}

/// What the platform wants to hear at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Empty,
    Text(String),
    Json(Value),
}

/// Why a webhook is not taken. Says nothing that helps to forge one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it is not signed by the platform")]
    Unsigned,
    #[error("its timestamp is too old, or in the future")]
    Stale,
    #[error("a field of the payload is missing or has the wrong type")]
    Malformed,
    #[error("its content type is not taken")]
    ContentType,
    /// It would be read a moment later.
    #[error("it can't be read yet; it has to be sent again")]
    NotYet,
}

impl Refusal {
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::Unsigned | Self::Stale => StatusCode::UNAUTHORIZED,
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NotYet => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// Messages as they stand on the platform: the parts of one saying, in the adapter's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sent(pub Value);

/// How a platform wants to be spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Between two edits of one message.
    pub edit_every: Duration,
}

/// Why something could not be said.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("{platform} limits requests: the next one is allowed in {after:?}")]
    RateLimited { platform: Platform, after: Duration },
    #[error("{platform} can't be reached: {detail}")]
    Unreachable { platform: Platform, detail: String },
    /// Trying again would not help.
    #[error("{platform} refused: {detail}")]
    Refused { platform: Platform, detail: String },
}

impl SendError {
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }
}
