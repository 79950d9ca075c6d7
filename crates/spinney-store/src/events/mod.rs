//! The audit log, and those who read it.

pub(crate) mod cursor;
pub(crate) mod event;
