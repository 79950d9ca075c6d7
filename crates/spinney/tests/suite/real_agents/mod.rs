//! Jobs with the real agent programs, from `spinney run` to the pushed branch, with a model on loopback.
//!
//! Claude Code is there in every `cargo xtask test`; the others with `--agents`. A test whose program is not there says so
//! and is over.

mod claude;
mod defaults;
mod ending;
mod hand_off;
mod leaving;
mod mcp_servers;
mod others;
mod refusals;
mod sessions;
mod spent;
mod stage;
