//! What the tests of the other crates stand on: real repositories, remotes and servers, each in a directory of its own.
//!
//! Hermetic: a [`Sandbox`] has its own `HOME`, git configuration and Spinney home, and lets nothing of the outer
//! environment in but `PATH`. Helpers panic with what went wrong, since a test can do nothing better about it.
//!
//! ```
//! use spinney_testkit::Sandbox;
//!
//! let sandbox = Sandbox::new();
//! let repository = sandbox.repository("app").with_remote();
//! assert_eq!(repository.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main");
//! ```

#![expect(clippy::disallowed_methods, reason = "the kit starts real programs, git among them, beside the product")]

#[cfg(feature = "browser")]
mod browser;
mod chat;
mod fingerprint;
mod forge;
mod hmac;
mod http;
mod http_remote;
mod linear;
mod load;
mod loop_image;
mod mcp;
mod model;
mod postgres;
mod programs;
mod remote;
mod repository;
mod sandbox;
mod tokens;
mod wait;

#[cfg(feature = "browser")]
pub use browser::{Browser, ColorScheme, ConsoleEntry, Key, Window};
#[cfg(feature = "discord")]
pub use chat::{DiscordMessage, TestDiscord, TestGateway};
pub use chat::{SlackMessage, TelegramMessage, TestSlack, TestTelegram, WebhookCall};
pub use fingerprint::Fingerprint;
pub use forge::{
    Exchange, Fork, Gate, TestComment, TestForge, TestPullRequest, Trouble, github_description, github_recordings,
    github_signatures,
};
pub use hmac::github_signature;
pub use http::{Connection, EventStream, HttpClient, Reply, ServerEvent};
pub use http_remote::HttpRemote;
pub use linear::{LinearTrouble, TestLinear};
pub use load::{Heard, Listeners, Outcome, Requests};
pub use loop_image::LoopImage;
pub use mcp::{McpClient, mcp_npm_clients, mcp_python_client};
pub use model::{ModelRequest, StubModel};
pub use postgres::database::{PostgresDatabase, postgres_database, postgres_url};
pub use postgres::server::PostgresServer;
pub use programs::agent_cli::AgentCli;
pub use programs::cli::{Cli, Running};
pub use programs::daemon::Daemon;
pub use programs::git_wrapper::{GitWrapper, git_of_version};
pub use programs::needs::{LEFT_OUT, left_out_without};
pub use programs::process::Ran;
pub use programs::scripted_agent::scripted_agent;
pub use programs::written::write_program;
pub use remote::Remote;
pub use repository::TestRepository;
pub use sandbox::Sandbox;
pub use tokens::{Plant, Token, Tokens};
pub use wait::wait_until;
