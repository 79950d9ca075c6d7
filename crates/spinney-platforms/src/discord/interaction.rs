//! Interactions: slash commands, which Discord sends to the webhook. It hears at once that the answer comes later.

use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::Work;

use super::PLATFORM;
use super::address::{Address, Interaction, is_snowflake};
use crate::{Answer, Event, Inbound, Received, Refusal, Request, Where, bounds};

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
    let answered = |why, answer: Value| Ok(Received { answer: Answer::Json(answer), ..Received::ignored(why) });
    match sent.kind {
        PING => answered("Discord checks the address", json!({ "type": PONG })),
        COMMAND => sent.command(),
        AUTOCOMPLETE => answered("nothing is suggested", json!({ "type": CHOICES, "data": { "choices": [] } })),
        _ => Ok(Received::ignored("it is no command")),
    }
}

impl Sent {
    fn command(self) -> Result<Received, Refusal> {
        let data = self.data.as_ref().ok_or(Refusal::Malformed)?;
        if data.kind.unwrap_or(TYPED) != TYPED {
            return Ok(Received::ignored("it is no command that is typed"));
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
