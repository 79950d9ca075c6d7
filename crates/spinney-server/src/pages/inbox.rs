//! What platforms sent, and why nothing was done about some of it.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::{Page, PageAsked, activity, words};
use spinney_core::{Delivery, DeliveryStatus};

use super::answer::{Asked, Result};
use super::frame::{Did, Frame};
use super::render;
use crate::app::App;
use crate::auth::Caller;

/// How many messages a page has.
const PAGE: u32 = 100;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct InboxQuery {
    /// The number of the oldest message of the page before.
    before: Option<String>,
    /// Everything, not only what nothing was done about.
    #[serde(default)]
    all: Option<String>,
}

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: Frame,
    rows: Vec<MessageRow>,
    older: Option<String>,
    is_first: bool,
    is_all: bool,
}

struct MessageRow {
    at: String,
    ago: String,
    platform: String,
    id: String,
    conversation: String,
    author: String,
    status: &'static str,
    is_ignored: bool,
    why: String,
    job: Option<String>,
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Asked(asked): Asked<InboxQuery>) -> Result {
    let page = PageAsked { limit: Some(PAGE), cursor: asked.before.as_deref() };
    let is_all = asked.all.is_some();
    let Page { rows, next } = activity::inbox(&app.engine_of(&caller), !is_all, &page).await?;
    Ok(render(&InboxPage {
        frame: Frame::new(&caller, "Inbox", &Did::default()),
        rows: rows.iter().map(|(_, message)| MessageRow::new(message)).collect(),
        older: next,
        is_first: asked.before.is_none(),
        is_all,
    }))
}

impl MessageRow {
    fn new(message: &Delivery) -> Self {
        let is_ignored = DeliveryStatus::IGNORED.contains(&message.status);
        Self {
            at: message.received_at.to_string(),
            ago: words::ago(message.received_at),
            platform: message.platform.to_string(),
            id: message.id.clone(),
            conversation: message.conversation.clone(),
            author: message.author.clone(),
            status: message.status.as_str(),
            is_ignored,
            why: message.reason().filter(|_| is_ignored).as_ref().map(words::ignored).unwrap_or_default(),
            job: message.job_id.as_ref().map(ToString::to_string),
        }
    }
}
