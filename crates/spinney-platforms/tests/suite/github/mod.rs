//! The adapter for GitHub: what comes in, and what goes out to a small GitHub on loopback.

mod bad_input;
mod comments;
mod events;
mod fuzz;
mod recorded;
mod story;
