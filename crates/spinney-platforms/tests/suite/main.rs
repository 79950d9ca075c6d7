//! Platforms, as they send and as they answer on loopback.

mod chats;
mod github;
mod telegram;
