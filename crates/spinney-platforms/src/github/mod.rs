//! GitHub, on github.com and on Enterprise: its webhooks in, comments out.
//!
//! What is asked of GitHub goes through `spinney-forge`, with the token of `[forge.github]` or as an app.

mod channel;
mod closing;
mod descriptor;
mod escape;
mod markdown;
mod marker;
mod mention;
mod parse;
mod payload;
mod prose;
mod render;
mod verify;
mod who;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderMap;
use spinney_core::{Forge, Platform, Secret, Timestamp};
use spinney_forge::{App, AppKeyError, ForgeOptions, GITHUB, KindOptions, Located, OpenError, Patience};

use marker::Marker;
use mention::Mention;
use parse::Reader;
use verify::Verifier;

use crate::http::fault;
use crate::{Adapter, Answering, Author, Ignored, Inbound, Limits, Message, Place, Received, Refusal, Sent};

pub use descriptor::DESCRIPTOR;

const PLATFORM: Platform = Platform::on("github");

/// GitHub takes some hundred changes an hour from one account.
const EDIT_EVERY: Duration = Duration::from_secs(30);
/// Longer waits are the orchestrator's.
const PATIENCE: Patience = Patience { total: Duration::from_secs(10), answer: Duration::from_secs(10) };

/// How GitHub is spoken to, and how it proves itself.
#[derive(Debug, Clone)]
pub struct GithubOptions {
    /// Two, separated by a comma, while they change.
    pub webhook_secrets: Secret,
    /// With the `@`.
    pub mention: String,
    /// Empty for the public one.
    pub api_url: String,
    pub token: Option<Secret>,
    /// Used in place of the token.
    pub app: Option<GithubApp>,
    pub proxy: Option<Secret>,
}

#[derive(Debug, Clone)]
pub struct GithubApp {
    pub id: String,
    /// In PEM.
    pub private_key: Secret,
}

/// Why GitHub can't be spoken to as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum GithubError {
    #[error("the webhook's secret is empty")]
    NoSecret,
    #[error("the app's private key can't be used")]
    Key(#[source] AppKeyError),
    #[error("GitHub's API can't be used")]
    Open(#[source] OpenError),
}

pub struct GithubAdapter {
    verifier: Verifier,
    mention: Mention,
    marker: Marker,
    options: ForgeOptions,
    /// By `owner/name`.
    forges: Mutex<HashMap<String, Arc<dyn Forge>>>,
}

impl fmt::Debug for GithubAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubAdapter").field("mention", &self.mention).finish_non_exhaustive()
    }
}

impl GithubAdapter {
    pub fn new(options: &GithubOptions) -> Result<Self, GithubError> {
        let verifier = Verifier::new(&options.webhook_secrets).ok_or(GithubError::NoSecret)?;
        let app = options.app.as_ref().map(|app| App::new(&app.id, &app.private_key));
        let app = app.transpose().map_err(GithubError::Key)?.map(Arc::new);
        let github = KindOptions { api_url: options.api_url.clone(), token: options.token.clone(), app };
        let proxy = options.proxy.clone();
        let forge = ForgeOptions { patience: PATIENCE, proxy, ..ForgeOptions::default() }.with(&GITHUB, github);
        // What is wrong for one repository is wrong for all.
        let any = Located {
            kind: &GITHUB,
            api_url: forge.api_url(&GITHUB).to_owned(),
            owner: "owner".to_owned(),
            name: "name".to_owned(),
        };
        spinney_forge::open(&any, &forge).map_err(GithubError::Open)?;
        Ok(Self {
            marker: Marker::new(verifier.keys().to_vec()),
            verifier,
            mention: Mention::new(&options.mention),
            options: forge,
            forges: Mutex::default(),
        })
    }
}

impl Adapter for GithubAdapter {
    fn platform(&self) -> Platform {
        PLATFORM
    }

    fn receive(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<Received, Refusal> {
        let hook = self.verifier.verify(headers, body)?;
        Reader { mention: &self.mention, marker: &self.marker, now }.read(&hook)
    }

    fn fault(&self, headers: &HeaderMap, body: &[u8], _now: Timestamp) -> Option<Ignored> {
        let reason = match self.verifier.verify(headers, body) {
            Ok(hook) => return Some(parse::about(&hook, parse::fault(&hook))),
            Err(Refusal::ContentType) => fault::content_type(headers),
            Err(Refusal::Malformed) => fault::malformed("webhook", None, false),
            Err(_) => return None,
        };
        Some(fault::unread(PLATFORM, body, reason))
    }

    fn limits(&self) -> Limits {
        Limits { edit_every: EDIT_EVERY }
    }

    fn who(&self) -> Answering<'_, String> {
        Box::pin(self.name())
    }

    fn complete<'a>(&'a self, inbound: &'a mut Inbound) -> Answering<'a, ()> {
        Box::pin(self.add_pull(inbound))
    }

    fn may_change<'a>(&'a self, place: &'a Place, author: &'a Author) -> Answering<'a, bool> {
        Box::pin(self.may_write(place, author))
    }

    fn post<'a>(&'a self, place: &'a Place, key: &'a str, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(self.say(place, key, None, message))
    }

    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(self.say(place, "", Some(sent), message))
    }
}
