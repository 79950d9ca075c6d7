//! Discord: commands come signed to the webhook, messages by the gateway, answers go out by the REST API. A mention outside
//! of a thread opens one.

mod address;
mod descriptor;
mod dispatch;
mod gateway;
mod interaction;
mod markup;
mod rest;
mod verify;

#[cfg(test)]
mod tests;

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Uri};
use spinney_core::config::ApiUrl;
use spinney_core::{Platform, Secret, Timestamp};
use spinney_forge::http::Url;
use tokio::sync::mpsc;

use self::address::Address;
pub use self::descriptor::DESCRIPTOR;
use self::gateway::Gateway;
use self::rest::Rest;
use self::verify::Verifier;
use crate::http::api::Api;
use crate::http::fault;
use crate::{
    Adapter, Answering, Author, Heard, Ignored, Limits, Listening, Message, OpenError, Place, Received, Refusal,
    SendError, Sent,
};

const PLATFORM: Platform = Platform::on("discord");

/// Discord takes five edits in five seconds.
const EDIT_EVERY: Duration = Duration::from_secs(2);

/// How Discord is spoken to.
#[derive(Debug, Clone)]
pub struct DiscordOptions {
    pub api_url: ApiUrl,
    /// Empty for Discord's own.
    pub gateway_url: String,
    pub token: Secret,
    /// In hexadecimal; empty: no interactions are taken.
    pub public_key: String,
    /// For the REST API; the gateway is connected to directly.
    pub proxy: Option<Secret>,
}

#[derive(Debug)]
pub struct Discord {
    verifier: Option<Verifier>,
    rest: Rest,
    gateway_url: Option<String>,
    token: Secret,
}

impl Discord {
    /// Nothing is asked yet.
    pub fn new(options: DiscordOptions) -> Result<Self, OpenError> {
        let DiscordOptions { api_url, gateway_url, token, public_key, proxy } = options;
        let verifier = match public_key.as_str() {
            "" => None,
            key => Some(Verifier::new(key).ok_or(OpenError::BadSecret(PLATFORM))?),
        };
        let gateway_url = match gateway_url.as_str() {
            "" => None,
            url if is_safe(url) => Some(url.trim_end_matches('/').to_owned()),
            _ => return Err(OpenError::BadUrl(PLATFORM)),
        };
        let api = Api::new(PLATFORM, &api_url, Some("Bot"), token.clone(), proxy.as_ref())?;
        Ok(Self { verifier, rest: Rest { api }, gateway_url, token })
    }

    /// Asks Discord who the token belongs to: its user's id and name.
    pub async fn test(&self) -> Result<(String, String), SendError> {
        self.rest.test().await
    }

    fn address(&self, place: &Place) -> Result<Address, SendError> {
        Address::of(place).ok_or_else(|| self.rest.api.refused("the place is none of Discord's"))
    }
}

/// Whether the token may travel to a gateway: encrypted, or to this machine itself.
fn is_safe(gateway_url: &str) -> bool {
    let http = gateway_url.strip_prefix("ws").map(|rest| format!("http{rest}"));
    http.and_then(|url| Url::parse(&url)).is_some_and(|url| url.is_safe()) && gateway_url.parse::<Uri>().is_ok()
}

impl Adapter for Discord {
    fn platform(&self) -> Platform {
        PLATFORM
    }

    fn receive(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Received, Refusal> {
        self.verifier.as_ref().ok_or(Refusal::Unsigned)?.verify(headers, body, now)?;
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err(Refusal::ContentType);
        }
        interaction::read(body)
    }

    fn fault(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Ignored> {
        let reason = match self.receive(headers, body, now) {
            Err(Refusal::Malformed) => interaction::fault(body),
            Err(Refusal::ContentType) => fault::content_type(headers),
            _ => return None,
        };
        Some(fault::unread(PLATFORM, body, reason))
    }

    fn listen(&self, heard: mpsc::Sender<Heard>) -> Option<Listening> {
        let gateway = Gateway { api: self.rest.api.clone(), url: self.gateway_url.clone(), token: self.token.clone() };
        Some(Box::pin(gateway.listen(heard)))
    }

    fn parent(&self, place: &Place) -> Option<String> {
        Address::of(place)?.opened_by.map(|opening| opening.channel)
    }

    fn limits(&self) -> Limits {
        Limits { edit_every: EDIT_EVERY }
    }

    fn who(&self) -> Answering<'_, String> {
        Box::pin(async { self.test().await.map(|(_, name)| name) })
    }

    /// Discord knows nothing of repositories.
    fn may_change<'a>(&'a self, _place: &'a Place, _author: &'a Author) -> Answering<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    fn post<'a>(&'a self, place: &'a Place, key: &'a str, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.rest.post(&self.address(place)?, key, message).await })
    }

    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.rest.edit(&self.address(place)?, sent, message).await })
    }
}
