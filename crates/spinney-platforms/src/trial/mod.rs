//! A platform for tests: all that a new one needs is this folder and one line in the table.
//!
//! Messages come to the webhook as `{ "id", "chat", "user", "text" }` with a secret in a header; what is said goes out by two
//! calls in the manner of Slack's, for which the tests have a server.

mod descriptor;

use std::time::Duration;

use http::HeaderMap;
use ring::hmac;
use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::config::ApiUrl;
use spinney_core::{Platform, Secret, Timestamp, Work};
use spinney_forge::http::Call;

pub use self::descriptor::DESCRIPTOR;
use crate::conversation::message::Span;
use crate::http::api::Api;
use crate::http::{bounds, header};
use crate::{
    Adapter, Answering, Author, Event, Inbound, Limits, Message, OpenError, Place, Received, Refusal, Request,
    SendError, Sent, Where,
};

const PLATFORM: Platform = Platform::on("trial");
const SECRET_HEADER: &str = "x-trial-secret";

#[derive(Debug)]
pub(crate) struct Trial {
    key: hmac::Key,
    expected: hmac::Tag,
    api: Api,
}

/// What somebody wrote.
#[derive(Deserialize)]
struct Written {
    id: String,
    chat: String,
    user: String,
    text: String,
}

impl Trial {
    fn new(api_url: &ApiUrl, token: Secret, webhook_secret: &Secret) -> Result<Self, OpenError> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, webhook_secret.expose().as_bytes());
        let expected = hmac::sign(&key, webhook_secret.expose().as_bytes());
        Ok(Self { key, expected, api: Api::new(PLATFORM, api_url, Some("Bearer"), token, None)? })
    }

    /// Says or changes a message; gives where it stands.
    async fn call(
        &self,
        method: &str,
        place: &Place,
        ts: Option<&Value>,
        message: &Message,
    ) -> Result<Sent, SendError> {
        let body = json!({ "channel": place.0, "ts": ts, "text": text(message) });
        let reply = self.api.ask(Call::post(format!("/{method}"), body)).await?;
        let answer = reply.json().unwrap_or_default();
        match answer["ts"].as_str() {
            Some(ts) if answer["ok"] == true => Ok(Sent(ts.into())),
            _ => Err(self.api.refusal(&reply)),
        }
    }
}

impl Adapter for Trial {
    fn platform(&self) -> Platform {
        PLATFORM
    }

    fn receive(&self, headers: &HeaderMap, body: &[u8], _now: Timestamp) -> Result<Received, Refusal> {
        let given = header::only(headers, SECRET_HEADER).ok_or(Refusal::Unsigned)?;
        hmac::verify(&self.key, given.as_bytes(), self.expected.as_ref()).map_err(|_| Refusal::Unsigned)?;
        let written: Written = serde_json::from_slice(body).map_err(|_| Refusal::Malformed)?;
        if ![&written.id, &written.chat, &written.user].into_iter().all(|id| bounds::is_id(id)) {
            return Err(Refusal::Malformed);
        }
        let request = Request {
            text: bounds::text(&written.text),
            work: Work::thread(&written.chat).map_err(|_| Refusal::Malformed)?,
            title: None,
            context: None,
            links: Vec::new(),
            pull: None,
        };
        Ok(Received::one(Inbound {
            platform: PLATFORM,
            delivery: written.id,
            author: bounds::author(&written.user, &written.user),
            place: Place(written.chat.as_str().into()),
            conversation: written.chat,
            subject: None,
            repository: Where::Chat,
            event: Event::Asked(request),
        }))
    }

    fn limits(&self) -> Limits {
        Limits { edit_every: Duration::from_millis(100) }
    }

    fn who(&self) -> Answering<'_, String> {
        Box::pin(async {
            let reply = self.api.ask(Call::post("/auth.test".to_owned(), json!({}))).await?;
            let answer = reply.json().unwrap_or_default();
            answer["user_id"].as_str().map(str::to_owned).ok_or_else(|| self.api.refusal(&reply))
        })
    }

    fn may_change<'a>(&'a self, _place: &'a Place, _author: &'a Author) -> Answering<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    fn post<'a>(&'a self, place: &'a Place, _key: &'a str, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(self.call("chat.postMessage", place, None, message))
    }

    fn edit<'a>(&'a self, place: &'a Place, sent: &'a Sent, message: &'a Message) -> Answering<'a, Sent> {
        Box::pin(self.call("chat.update", place, Some(&sent.0), message))
    }
}

/// A message without any markup.
fn text(message: &Message) -> String {
    let text = |span: &Span| match span {
        Span::Plain(text) | Span::Strong(text) | Span::Code(text) | Span::Block(text) | Span::Prose(text) => {
            text.clone()
        }
        Span::Link { text, .. } => text.clone(),
        Span::Break => "\n".to_owned(),
    };
    message.0.iter().map(text).collect()
}
