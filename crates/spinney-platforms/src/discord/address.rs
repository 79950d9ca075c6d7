//! Where a conversation is on Discord.

use serde::{Deserialize, Serialize};
use spinney_core::Secret;

use crate::Place;
use crate::http::bounds;

/// Discord's bound for the name of a thread.
const MAX_NAME_CHARS: usize = 90;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Address {
    /// The thread, direct messages, or the channel of a command.
    pub channel: String,
    /// What opens the thread, where there is none yet: it gets the message's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Opening>,
    /// The answer to a command that is still owed, for a quarter of an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<Interaction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Opening {
    pub channel: String,
    pub message: String,
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Interaction {
    pub application: String,
    pub token: String,
}

impl std::fmt::Debug for Interaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = Secret::new(&*self.token);
        f.debug_struct("Interaction").field("application", &self.application).field("token", &token).finish()
    }
}

impl Address {
    pub fn channel(channel: &str) -> Self {
        Self { channel: channel.to_owned(), opened_by: None, interaction: None }
    }

    /// The thread that a message opens.
    pub fn opened_by(channel: &str, message: &str, text: &str) -> Self {
        let first = bounds::name(text.lines().next().unwrap_or_default());
        let name: String = first.chars().take(MAX_NAME_CHARS).collect();
        let name = if name.trim().is_empty() { "Spinney".to_owned() } else { name };
        let opened_by = Some(Opening { channel: channel.to_owned(), message: message.to_owned(), name });
        Self { channel: message.to_owned(), opened_by, interaction: None }
    }

    pub fn place(&self) -> Place {
        Place(serde_json::json!(self))
    }

    pub fn of(place: &Place) -> Option<Self> {
        let address: Self = serde_json::from_value(place.0.clone()).ok()?;
        is_snowflake(&address.channel).then_some(address)
    }
}

/// Whether a text is an id as Discord has them.
pub(super) fn is_snowflake(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}
