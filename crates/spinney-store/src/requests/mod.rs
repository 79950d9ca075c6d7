//! What was asked for, and how far the answer has come.

pub(crate) mod delivery;
pub(crate) mod idempotency;
pub(crate) mod long_operation;
