//! Where people ask for work: GitHub, Slack, Discord, Telegram.
//!
//! One way for all: an adapter verifies and parses what came ([`Adapter::receive`]) into [`Inbound`]s, the inbox writes
//! them down before anything is answered, the [`Orchestrator`] decides what becomes of each, and what it says goes back
//! through the adapter ([`Adapter::post`], [`Adapter::edit`]). Adapters make no workspaces and word no messages.
//!
//! ```
//! use spinney_platforms::command::{Command, parse};
//!
//! assert!(matches!(parse("/status"), Some(Ok(Command::Status))));
//! assert!(matches!(parse("/repo acme/app"), Some(Ok(Command::Repo { name: Some(_) }))));
//! assert!(parse("fix the log-in").is_none(), "what is no command is something to do");
//! ```

mod adapter;
pub mod command;
mod conversation;
mod discord;
mod error;
mod github;
mod http;
mod orchestrator;
mod section;
mod set_up;
mod slack;
mod standing;
mod table;
mod telegram;
#[cfg(feature = "trial")]
mod trial;

pub use adapter::{Adapter, Answer, Answering, Limits, Listening, Received, Refusal, SendError, Sent};
pub use conversation::desk::Desk;
pub use conversation::inbound::{Author, Event, Heard, Ignored, Inbound, Place, Pull, Request, Where};
pub use conversation::inbox::Inbox;
pub use conversation::message::{Message, Span};
pub use discord::{Discord, DiscordOptions};
pub use error::{Error, Result};
pub use github::{GithubAdapter, GithubApp, GithubError, GithubOptions};
pub use http::api::OpenError;
pub use orchestrator::Orchestrator;
pub use set_up::{Fault, adapters, announce};
pub use slack::Slack;
pub use standing::{SecretVariable, Standing, diagnose, secret_variables, standing, unreachable, webhook_url};
pub use table::{Descriptor, Expected, Guide, Made, PLATFORMS, Setting, Step, Webhook, descriptor, schema};
pub use telegram::{Telegram, TelegramOptions};
