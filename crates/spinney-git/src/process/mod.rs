//! A git process: its environment and flags, how it is run, bounded and ended, and what its failure means.

pub(crate) mod classify;
pub(crate) mod command;
pub(crate) mod environment;
mod memory;
pub(crate) mod redact;
pub(crate) mod retry;
pub(crate) mod running;
pub(crate) mod silence;
pub(crate) mod threads;
