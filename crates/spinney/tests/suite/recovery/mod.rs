//! What is left after a death or an error, and who mends it.

mod broken_refs;
mod commands;
#[cfg(feature = "fail-points")]
mod crash;
#[cfg(feature = "fail-points")]
mod error_injection;
mod guards;
mod stories;
