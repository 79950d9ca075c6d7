//! Slack: events and slash commands come signed to the webhook, answers go out by the Web API, always into a thread.

mod address;
mod command;
mod descriptor;
mod event;
mod markup;
mod text;
mod verify;
mod web;

#[cfg(test)]
mod tests;

use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use spinney_core::config::ApiUrl;
use spinney_core::{Platform, Secret, Timestamp};

use self::address::Address;
pub use self::descriptor::DESCRIPTOR;
use self::verify::Verifier;
use self::web::Web;
use crate::http::api::Api;
use crate::http::fault;
use crate::{
    Adapter, Answering, Author, Ignored, Limits, Message, OpenError, Place, Received, Refusal, SendError, Sent,
};

const PLATFORM: Platform = Platform::on("slack");

/// Slack takes some fifty edits a minute.
const EDIT_EVERY: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Slack {
    verifier: Verifier,
    web: Web,
}

impl Slack {
    /// Nothing is asked yet.
    pub fn new(
        api_url: &ApiUrl,
        token: Secret,
        signing_secret: &Secret,
        proxy: Option<&Secret>,
    ) -> Result<Self, OpenError> {
        if signing_secret.expose().trim().is_empty() {
            return Err(OpenError::BadSecret(PLATFORM));
        }
        let api = Api::new(PLATFORM, api_url, Some("Bearer"), token, proxy)?;
        Ok(Self { verifier: Verifier::new(signing_secret), web: Web { api } })
    }

    /// Asks Slack who the token belongs to: its user and team.
    pub async fn test(&self) -> Result<(String, String), SendError> {
        self.web.test().await
    }

    fn address(&self, place: &Place) -> Result<Address, SendError> {
        Address::of(place).ok_or_else(|| self.web.api.refused("the place is none of Slack's"))
    }
}

impl Adapter for Slack {
    fn platform(&self) -> Platform {
        PLATFORM
    }

    fn receive(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Received, Refusal> {
        self.verifier.verify(headers, body, now)?;
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "application/json" => event::read(body),
            "application/x-www-form-urlencoded" => command::read(body),
            _ => Err(Refusal::ContentType),
        }
    }

    fn fault(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<Ignored> {
        self.verifier.verify(headers, body, now).ok()?;
        let reason = match self.receive(headers, body, now) {
            Err(Refusal::Malformed) if is_json(headers) => event::fault(body),
            Err(Refusal::Malformed) => fault::malformed("slash command", None, false),
            Err(Refusal::ContentType) => fault::content_type(headers),
            _ => return None,
        };
        Some(fault::unread(PLATFORM, body, reason))
    }

    fn parent(&self, place: &Place) -> Option<String> {
        Address::of(place).filter(|address| address.thread.is_some()).map(|address| address.channel)
    }

    fn limits(&self) -> Limits {
        Limits { edit_every: EDIT_EVERY }
    }

    fn who(&self) -> Answering<'_, String> {
        Box::pin(async { self.test().await.map(|(user, team)| format!("{user} of {team}")) })
    }

    /// Slack knows nothing of repositories.
    fn may_change<'a>(&'a self, _place: &'a Place, _author: &'a Author) -> Answering<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    fn post<'a>(&'a self, place: &'a Place, key: &'a str, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.web.post(&self.address(place)?, key, message).await })
    }

    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(async move { self.web.edit(&self.address(place)?, sent, message).await })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("application/json")
}
