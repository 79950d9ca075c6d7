//! Warm workspaces.

mod claim;
mod crowd;
#[cfg(feature = "fail-points")]
mod death;
mod drain;
mod setup;
