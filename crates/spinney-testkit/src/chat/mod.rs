//! Chats on loopback: Slack's Web API, Discord's REST API and its gateway.
//!
//! They answer in the shapes of the real ones, keep everything in memory, record every exchange, and get into any
//! [`Trouble`](crate::Trouble) that a test asks for. What they would send to a webhook they sign.

mod server;
mod slack;

pub use slack::{SlackMessage, TestSlack};
