//! The MCP server: twelve tools and a few resources, over stdio and behind the daemon's gate.
//!
//! A [`Seat`] says who asks, for which account and repository, and what they may. [`Server`] reads a request, calls one
//! function of `spinney-app`, and answers with one of its JSON documents. What a client sends is bounded, and so is what it
//! gets: a document has at most [`spinney_app::document::fit::MAX_BYTES`].
//!
//! The engine blocks, so that a tool's work is done on an engine thread. It goes on when the client that asked disappears:
//! nothing is left half made.
//!
//! ```
//! use std::sync::Arc;
//!
//! use spinney_app::own_program::OwnProgram;
//! use spinney_core::Scope;
//! use spinney_engine::{Engine, EngineOptions, EngineThreads};
//! use spinney_mcp::{Seat, serve};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let home = directory.path().join("home");
//! let seat = Seat {
//!     launcher: Arc::new(OwnProgram::on("spinney".into(), &home, None)),
//!     engine: Arc::new(Engine::open(EngineOptions::of(home)).await?),
//!     threads: EngineThreads::new(4),
//!     tasks: Default::default(),
//!     scope: Scope::Read,
//!     repository: None,
//!     job: None,
//! };
//! // A client that leaves without a word; `serve_stdio` reads stdin.
//! serve(seat, tokio::io::empty(), tokio::io::sink()).await?;
//! # Ok(())
//! # }
//! ```

mod arguments;
mod error;
mod family;
mod http;
mod jobs;
mod lines;
mod overview;
mod resources;
mod schema;
mod seat;
mod server;
mod stdio;
mod tools;
mod wait;
mod workspaces;

pub use http::{HttpService, http_service};
pub use seat::Seat;
pub use server::Server;
pub use stdio::{StdioError, serve, serve_stdio};
