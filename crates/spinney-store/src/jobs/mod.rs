//! Jobs, their sessions, and the schedules that start them.

pub(crate) mod claim;
pub(crate) mod job;
pub(crate) mod schedule;
pub(crate) mod session;
