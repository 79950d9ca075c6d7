//! Where people ask for work: GitHub, Slack, Discord, Telegram.
//!
//! One way for all: an adapter verifies and parses what came ([`Adapter::receive`]) into [`Inbound`]s, the inbox writes
//! them down before anything is answered, the [`Orchestrator`] decides what becomes of each, and what it says goes back
//! through the adapter ([`Adapter::post`], [`Adapter::edit`]). Adapters make no workspaces and word no messages.

mod adapter;
mod bounds;
pub mod command;
mod desk;
mod discord;
mod error;
mod form;
mod github;
mod header;
mod hex;
mod http;
mod inbound;
mod inbox;
mod message;
mod orchestrator;
mod section;
mod set_up;
mod slack;
mod split;
mod standing;
mod table;
mod telegram;
#[cfg(feature = "trial")]
mod trial;

pub use adapter::{Adapter, Answer, Answering, Limits, Listening, Received, Refusal, SendError, Sent};
pub use desk::Desk;
pub use discord::{Discord, DiscordOptions};
pub use error::{Error, Result};
pub use github::{GithubAdapter, GithubApp, GithubError, GithubOptions};
pub use http::OpenError;
pub use inbound::{Author, Event, Inbound, Place, Pull, Request, Where};
pub use inbox::Inbox;
pub use message::{Message, Span};
pub use orchestrator::{Orchestrator, REMEMBERED_FOR};
pub use set_up::{Fault, adapters, announce};
pub use slack::Slack;
pub use standing::{SecretVariable, Standing, diagnose, secret_variables, standing, unreachable, webhook_url};
pub use table::{Descriptor, Expected, Guide, Made, PLATFORMS, Setting, Step, Webhook, descriptor, schema};
pub use telegram::{Telegram, TelegramOptions};
