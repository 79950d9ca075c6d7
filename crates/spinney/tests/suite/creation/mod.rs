//! How a piece of work gets its workspace.

mod admission;
mod base;
mod concurrency;
mod fork_setup;
mod populate;
mod preparation;
mod requests;
mod room;
mod sharing;
mod silent_remote;
mod sizes;
