//! What the tests of the other crates stand on: real repositories, remotes and servers, each in a directory of its own.
//!
//! Hermetic: a [`Sandbox`] has its own `HOME`, git configuration and Spinney home, and lets nothing of the outer
//! environment in but `PATH`. Helpers panic with what went wrong, since a test can do nothing better about it.

#![expect(clippy::disallowed_methods, reason = "the kit starts real programs, git among them, beside the product")]

mod agent_cli;
#[cfg(feature = "browser")]
mod browser;
mod chat;
mod cli;
mod daemon;
mod fingerprint;
mod forge;
mod git_wrapper;
mod hmac;
mod http;
mod http_remote;
mod linear;
mod load;
mod loop_image;
mod model;
mod postgres;
mod postgres_server;
mod process;
mod remote;
mod repository;
mod sandbox;
mod scripted_agent;
mod tokens;
mod wait;

pub use agent_cli::AgentCli;
#[cfg(feature = "browser")]
pub use browser::{Browser, ColorScheme, ConsoleEntry, Key, Window};
#[cfg(feature = "discord")]
pub use chat::{DiscordMessage, TestDiscord, TestGateway};
pub use chat::{SlackMessage, TelegramMessage, TestSlack, TestTelegram, WebhookCall};
pub use cli::{Cli, Running};
pub use daemon::Daemon;
pub use fingerprint::Fingerprint;
pub use forge::{
    Exchange, Fork, Gate, TestComment, TestForge, TestPullRequest, Trouble, github_description, github_recordings,
    github_signatures,
};
pub use git_wrapper::{GitWrapper, git_of_version};
pub use hmac::github_signature;
pub use http::{Connection, EventStream, HttpClient, Reply, ServerEvent};
pub use http_remote::HttpRemote;
pub use linear::{LinearTrouble, TestLinear};
pub use load::{Heard, Listeners, Outcome, Requests};
pub use loop_image::LoopImage;
pub use model::{ModelRequest, StubModel};
pub use postgres::{PostgresDatabase, postgres_database, postgres_url};
pub use postgres_server::PostgresServer;
pub use process::Ran;
pub use remote::Remote;
pub use repository::TestRepository;
pub use sandbox::Sandbox;
pub use scripted_agent::scripted_agent;
pub use tokens::{Plant, Token, Tokens};
pub use wait::wait_until;
