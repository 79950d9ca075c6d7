//! What people and programs can ask for, and how it is told: the room between the engine with its jobs, and the fronts
//! (command line, API, pages, chats).
//!
//! A front reads what somebody asks for into a [`WorkRequest`] and calls one function: of [`workspaces`], [`jobs`],
//! [`repositories`], [`accounts`], [`trust`], [`adoption`], [`housekeeping`] or [`activity`]. The function checks, chooses and
//! does; the front renders the outcome.
//!
//! Here are also the JSON documents ([`document`]), the words that people read ([`words`]), and how this program starts itself
//! again for jobs and chores ([`own_program`]). Nothing here knows HTTP, a
//! terminal, or the markup of a platform.
//!
//! ```
//! use spinney_app::{WorkRequest, workspaces};
//! use spinney_core::{Platform, Work};
//! use spinney_engine::{Engine, EngineOptions};
//! # use spinney_testkit::Sandbox;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let sandbox = Sandbox::new();
//! # let checkout = sandbox.repository("app");
//! # let (home, environment) = (sandbox.spinney_home(), sandbox.environment());
//! let engine = Engine::open(EngineOptions { environment, ..EngineOptions::of(home) }).await?;
//! let context = engine.find_context(None, checkout.path()).await?;
//! let request = WorkRequest { work: Some(Work::issue(42)), ..WorkRequest::from(Platform::Api) };
//! let created = workspaces::create(&engine, context, request, &|_| {}).await?;
//! assert_eq!(created.resolution.workspace.name.to_string(), "issue-42");
//! # Ok(())
//! # }
//! ```

pub mod accounts;
pub mod activity;
pub mod adoption;
pub mod advice;
pub mod document;
mod error;
pub mod housekeeping;
pub mod jobs;
pub mod own_program;
mod page;
pub mod repositories;
mod request;
pub mod trust;
pub mod words;
pub mod workspaces;

pub use advice::{Front, advise, advise_all};
pub use error::{Error, Result};
pub use page::{Page, PageAsked};
pub use request::{InvalidRequest, Prompt, WorkRequest};
