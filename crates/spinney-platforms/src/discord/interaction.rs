//! Interactions: slash commands, which Discord sends to the webhook. It hears at once that the answer comes later.

use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::ignored::quoted;
use spinney_core::{IgnoreReason, Work};

use super::PLATFORM;
use super::address::{Address, Interaction, is_snowflake};
use crate::http::{bounds, fault};
use crate::{Answer, Event, Ignored, Inbound, Received, Refusal, Request, Where};

const PING: u64 = 1;
const COMMAND: u64 = 2;
const AUTOCOMPLETE: u64 = 4;
/// Of answers.
const PONG: u64 = 1;
const LATER: u64 = 5;
const CHOICES: u64 = 8;
/// Of commands: one that is typed.
const TYPED: u64 = 1;
const MAX_TOKEN_CHARS: usize = 500;
/// Deeper than any command is nested.
const MAX_DEPTH: usize = 3;

#[derive(Debug, Deserialize)]
struct Sent {
    #[serde(rename = "type")]
    kind: u64,
    #[serde(default)]
    id: String,
    #[serde(default)]
    application_id: String,
    #[serde(default)]
    token: String,
    channel_id: Option<String>,
    member: Option<Member>,
    user: Option<User>,
    data: Option<Command>,
}

#[derive(Debug, Deserialize)]
struct Member {
    user: User,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub id: String,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    pub bot: bool,
}

#[derive(Debug, Deserialize)]
struct Command {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<u64>,
    #[serde(default)]
    options: Vec<CommandOption>,
}

#[derive(Debug, Deserialize)]
struct CommandOption {
    name: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    options: Vec<Self>,
}

/// Reads what was verified.
pub(super) fn read(body: &[u8]) -> Result<Received, Refusal> {
    let sent: Sent = serde_json::from_slice(body).map_err(|_| Refusal::Malformed)?;
    let answered = |reason, answer: Value| {
        Ok(Received { answer: Answer::Json(answer), ..Received::ignored(sent.ignored(reason)) })
    };
    match sent.kind {
        PING => answered(IgnoreReason::PlatformCheck, json!({ "type": PONG })),
        COMMAND => sent.command(),
        // It comes with each letter that somebody types.
        AUTOCOMPLETE => answered(IgnoreReason::PlatformCheck, json!({ "type": CHOICES, "data": { "choices": [] } })),
        _ => Ok(Received::ignored(sent.unsupported("interactions other than commands"))),
    }
}

/// What is wrong with an interaction that was refused.
pub(super) fn fault(body: &[u8]) -> IgnoreReason {
    fault::read::<Sent>("interaction", body).err().unwrap_or_else(|| fault::malformed("interaction", None, false))
}

impl Sent {
    /// What is known of an interaction that nothing is done about.
    fn ignored(&self, reason: IgnoreReason) -> Ignored {
        let user = self.member.as_ref().map(|member| &member.user).or(self.user.as_ref());
        Ignored {
            platform: PLATFORM,
            delivery: format!("interaction:{}", quoted(&self.id)),
            conversation: self.channel_id.as_deref().map(quoted).unwrap_or_default(),
            author: user.map(|user| quoted(&user.id)).unwrap_or_default(),
            reason,
        }
    }

    fn unsupported(&self, what: &str) -> Ignored {
        self.ignored(IgnoreReason::Unsupported { what: what.to_owned() })
    }

    fn command(self) -> Result<Received, Refusal> {
        let data = self.data.as_ref().ok_or(Refusal::Malformed)?;
        if data.kind.unwrap_or(TYPED) != TYPED {
            return Ok(Received::ignored(self.unsupported("commands of menus")));
        }
        let user = self.member.as_ref().map(|member| &member.user).or(self.user.as_ref()).ok_or(Refusal::Malformed)?;
        let channel = self.channel_id.as_deref().ok_or(Refusal::Malformed)?;
        let is_token = (1..=MAX_TOKEN_CHARS).contains(&self.token.len())
            && self.token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b'\\');
        let ids = [&*self.id, &*self.application_id, &*user.id, channel];
        if !ids.into_iter().all(is_snowflake) || !is_token {
            return Err(Refusal::Malformed);
        }
        let interaction = Some(Interaction { application: self.application_id.clone(), token: self.token.clone() });
        let address = Address { interaction, ..Address::channel(channel) };
        let request = Request {
            text: bounds::text(&data.text().ok_or(Refusal::Malformed)?),
            work: Work::thread(channel).map_err(|_| Refusal::Malformed)?,
            title: None,
            context: None,
            links: Vec::new(),
            pull: None,
        };
        let inbound = Inbound {
            platform: PLATFORM,
            delivery: format!("interaction:{}", self.id),
            conversation: channel.to_owned(),
            subject: None,
            author: bounds::author(&user.id, &user.username),
            place: address.place(),
            repository: Where::Chat,
            event: Event::Asked(request),
        };
        Ok(Received { answer: Answer::Json(json!({ "type": LATER })), ..Received::one(inbound) })
    }
}

impl Command {
    /// As it would be typed elsewhere: `/worktree remove name --force`.
    fn text(&self) -> Option<String> {
        let name = self.name.as_deref().filter(|name| is_word(name))?;
        let mut text = format!("/{name}");
        write(&self.options, MAX_DEPTH, &mut text)?;
        Some(text)
    }
}

fn write(options: &[CommandOption], depth: usize, text: &mut String) -> Option<()> {
    for option in options {
        match &option.value {
            Value::Null if depth > 0 && is_word(&option.name) => {
                text.push_str(&format!(" {}", option.name));
                write(&option.options, depth - 1, text)?;
            }
            Value::String(value) => text.push_str(&format!(" {value}")),
            Value::Number(value) => text.push_str(&format!(" {value}")),
            Value::Bool(true) if is_word(&option.name) => text.push_str(&format!(" --{}", option.name)),
            Value::Bool(false) => {}
            _ => return None,
        }
    }
    Some(())
}

/// A name of a command or option as Discord allows them.
fn is_word(name: &str) -> bool {
    (1..=32).contains(&name.chars().count()) && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}
