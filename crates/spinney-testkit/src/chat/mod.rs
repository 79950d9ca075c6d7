//! Chats on loopback: Slack's Web API, Discord's REST API and its gateway, Telegram's Bot API.
//!
//! They answer in the shapes of the real ones, keep everything in memory, record every exchange, and get into any
//! [`Trouble`](crate::Trouble) that a test asks for. What they would send to a webhook they sign.

#[cfg(feature = "discord")]
mod discord;
#[cfg(feature = "discord")]
mod gateway;
mod server;
mod slack;
mod telegram;

#[cfg(feature = "discord")]
pub use discord::{DiscordMessage, TestDiscord};
#[cfg(feature = "discord")]
pub use gateway::TestGateway;
pub use slack::{SlackMessage, TestSlack};
pub use telegram::{TelegramMessage, TestTelegram, WebhookCall};
