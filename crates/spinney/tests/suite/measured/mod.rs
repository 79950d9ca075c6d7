//! What measures time under load: `cargo xtask test` runs these tests one after the other, beside nothing else.

mod daemon_death;
#[cfg(feature = "fail-points")]
mod engine_threads;
#[cfg(feature = "fail-points")]
mod flood;
mod mcp_server;
mod queue;
mod soak;
