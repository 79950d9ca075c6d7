//! The journal: operations, what becomes of those whose owner died, and the audit log.

pub(crate) mod events;
pub mod fail;
pub(crate) mod operations;
pub(crate) mod recover;
