//! What people and programs can ask for, and how it is told: the room between the engine with its jobs, and the fronts
//! (command line, API, pages, chats).
//!
//! A front reads what somebody asks for into a [`WorkRequest`] and calls one function: of [`workspaces`], [`jobs`] or
//! [`housekeeping`]. The function checks, chooses and does; the front renders the outcome.
//!
//! Here are also the JSON documents ([`document`]), the words that people read ([`words`]), and how this program starts itself
//! again for jobs and chores ([`own_program`]). Nothing here knows HTTP, a
//! terminal, or the markup of a platform.

pub mod advice;
pub mod document;
mod error;
pub mod housekeeping;
pub mod jobs;
pub mod own_program;
mod request;
pub mod words;
pub mod workspaces;

pub use advice::{Front, advise, advise_all};
pub use error::{Error, Result};
pub use request::{InvalidRequest, Prompt, WorkRequest};
