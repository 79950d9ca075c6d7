//! Telegram: updates come to the webhook with a secret, or are asked for; answers go out by the Bot API. There are no
//! threads: a chat, or a topic of a group, is one lasting conversation.

mod address;
mod bot_api;
mod descriptor;
mod markup;
mod poll;
mod text;
mod update;
mod verify;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use spinney_core::config::ApiUrl;
use spinney_core::{Platform, Secret, Timestamp};
use tokio::sync::{mpsc, watch};

use self::address::Address;
use self::bot_api::{BotApi, Me};
pub use self::descriptor::DESCRIPTOR;
use self::update::Bot;
use self::verify::Verifier;
use crate::http::api::Api;
use crate::http::fault;
use crate::{
    Adapter, Answering, Author, Heard, Ignored, Inbound, Limits, Listening, Message, OpenError, Place, Received,
    Refusal, SendError, Sent,
};

const PLATFORM: Platform = Platform::on("telegram");

/// Telegram takes some twenty messages a minute in a group.
const EDIT_EVERY: Duration = Duration::from_secs(3);

/// How Telegram is spoken to.
#[derive(Debug, Clone)]
pub struct TelegramOptions {
    pub api_url: ApiUrl,
    pub token: Secret,
    /// None: nobody calls, Telegram is asked.
    pub webhook_secret: Option<Secret>,
    pub proxy: Option<Secret>,
}

#[derive(Debug)]
pub struct Telegram {
    verifier: Option<Verifier>,
    webhook_secret: Option<Secret>,
    shared: Arc<Shared>,
}

/// What the adapter and its listener have in common.
#[derive(Debug)]
struct Shared {
    api: BotApi,
    /// The bot's own, which stands before the colon of its token.
    id: i64,
    name: OnceLock<String>,
    /// The last delivery that was written down.
    written: watch::Sender<Option<String>>,
}

impl Telegram {
    /// Nothing is asked yet.
    pub fn new(options: TelegramOptions) -> Result<Self, OpenError> {
        let TelegramOptions { api_url, token, webhook_secret, proxy } = options;
        let bad = OpenError::BadSecret(PLATFORM);
        let id = bot_of(&token).ok_or(bad)?;
        let verifier = webhook_secret.as_ref().map(|secret| Verifier::new(secret).ok_or(bad)).transpose()?;
        let api = Api::new(PLATFORM, &api_url, None, token.clone(), proxy.as_ref())?;
        let api = BotApi::new(api, token);
        let shared = Shared { api, id, name: OnceLock::new(), written: watch::Sender::new(None) };
        Ok(Self { verifier, webhook_secret, shared: Arc::new(shared) })
    }

    /// Asks Telegram who the token belongs to: its id and name.
    pub async fn test(&self) -> Result<(String, String), SendError> {
        let Me { id, name } = self.shared.api.me().await?;
        Ok((id.to_string(), name))
    }

    fn address(&self, place: &Place) -> Result<Address, SendError> {
        Address::of(place).ok_or_else(|| self.shared.api.refused("the place is none of Telegram's"))
    }
}

/// The bot that a token is of: `123456:ABC-DEF`. None where it is no token, which stands in each path.
fn bot_of(token: &Secret) -> Option<i64> {
    let (id, secret) = token.expose().split_once(':')?;
    let is_plain =
        !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|_| is_plain && is_number)
}

impl Adapter for Telegram {
    fn platform(&self) -> Platform {
        PLATFORM
    }

    fn receive(&self, headers: &HeaderMap, body: &[u8], _now: Timestamp) -> Result<Received, Refusal> {
        self.verifier.as_ref().ok_or(Refusal::Unsigned)?.verify(headers)?;
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err(Refusal::ContentType);
        }
        update::read(body, Bot { id: self.shared.id, name: self.shared.name.get().map(String::as_str) })
    }

    fn fault(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Ignored> {
        let reason = match self.receive(headers, body, now) {
            Err(Refusal::Malformed) => update::fault(body),
            Err(Refusal::ContentType) => fault::content_type(headers),
            _ => return None,
        };
        Some(fault::unread(PLATFORM, body, reason))
    }

    /// With a webhook, learns the bot's name and is done.
    fn listen(&self, heard: mpsc::Sender<Heard>) -> Option<Listening> {
        let (shared, is_called) = (self.shared.clone(), self.verifier.is_some());
        Some(Box::pin(async move {
            match is_called {
                true => drop(poll::learn_name(&shared).await),
                false => poll::listen(&shared, heard).await,
            }
        }))
    }

    fn written(&self, inbound: &Inbound) {
        self.shared.written.send_replace(Some(inbound.delivery.clone()));
    }

    fn limits(&self) -> Limits {
        Limits { edit_every: EDIT_EVERY }
    }

    fn set_webhook<'a>(&'a self, url: &'a str) -> Option<Answering<'a, ()>> {
        Some(Box::pin(async move {
            let secret = self.webhook_secret.as_ref();
            let secret = secret.ok_or_else(|| self.shared.api.refused("there is no secret for a webhook"))?;
            self.shared.api.set_webhook(url, secret).await
        }))
    }

    fn who(&self) -> Answering<'_, String> {
        Box::pin(async { self.test().await.map(|(_, name)| format!("@{name}")) })
    }

    /// Telegram knows nothing of repositories.
    fn may_change<'a>(&'a self, _place: &'a Place, _author: &'a Author) -> Answering<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    fn post<'a>(&'a self, place: &'a Place, key: &'a str, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.shared.api.post(self.address(place)?, key, message).await })
    }

    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.shared.api.edit(self.address(place)?, sent, message).await })
    }
}
