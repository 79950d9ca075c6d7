//! People ask where they talk: the whole daemon, webhooks as the platforms send them, and small platforms on loopback that
//! keep what is said.

mod commands;
#[path = "../common/mod.rs"]
mod common;
mod deaths;
mod flood;
mod github;
mod hooks;
mod hostile;
#[path = "../job_support/mod.rs"]
mod job_support;
mod office;
mod room;
mod slack;
mod strangers;
mod trial;
