//! People ask where they talk: the whole daemon, webhooks as the platforms send them, and small platforms on loopback that
//! keep what is said.

mod commands;
mod deaths;
mod github;
pub mod hooks;
mod hostile;
mod inbox;
pub mod office;
mod room;
mod set_up;
mod slack;
mod strangers;
mod trial;
