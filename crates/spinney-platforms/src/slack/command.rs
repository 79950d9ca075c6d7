//! Slash commands: a form with what was typed. They are written outside of threads, so that their conversation is the
//! channel, and what is answered stands in it for all to see.

use spinney_core::{IgnoreReason, Work};

use super::PLATFORM;
use super::address::Address;
use crate::http::{bounds, fault, form};
use crate::{Event, Inbound, Received, Refusal, Request, Where};

/// Stands before our own commands where Slack or another app has taken their names, as Slack has `/status`.
const PREFIX: &str = "/spinney";

/// Reads what was verified.
pub(super) fn read(body: &[u8]) -> Result<Received, Refusal> {
    let fields = form::fields(body).ok_or(Refusal::Malformed)?;
    let field = |name: &str| fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
    if field("ssl_check") == Some("1") {
        return Ok(Received::ignored(fault::unread(PLATFORM, body, IgnoreReason::PlatformCheck)));
    }
    if field("payload").is_some() {
        let reason = IgnoreReason::Unsupported { what: "buttons and menus".to_owned() };
        return Ok(Received::ignored(fault::unread(PLATFORM, body, reason)));
    }
    let require = |name: &str| field(name).filter(|value| !value.is_empty()).ok_or(Refusal::Malformed);
    let command = require("command")?;
    let is_command =
        command.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains(|c: char| c.is_whitespace()));
    let (user, trigger) = (require("user_id")?, require("trigger_id")?);
    let is_trigger = trigger.len() <= 200 && trigger.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    if !is_command || !bounds::is_id(user) || !is_trigger {
        return Err(Refusal::Malformed);
    }
    let address = Address::new(require("team_id")?, require("channel_id")?, None).ok_or(Refusal::Malformed)?;
    let said = field("text").unwrap_or_default().trim();
    let text = if command == PREFIX { format!("/{said}") } else { format!("{command} {said}") };
    let conversation = address.conversation();
    let request = Request {
        text: bounds::text(&text),
        work: Work::thread(&conversation).map_err(|_| Refusal::Malformed)?,
        title: None,
        context: None,
        links: Vec::new(),
        pull: None,
    };
    Ok(Received::one(Inbound {
        platform: PLATFORM,
        delivery: trigger.to_owned(),
        conversation,
        subject: None,
        author: bounds::author(user, field("user_name").unwrap_or(user)),
        place: address.place(),
        repository: Where::Chat,
        event: Event::Asked(request),
    }))
}
