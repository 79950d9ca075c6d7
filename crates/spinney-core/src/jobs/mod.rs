//! Jobs, the agents that carry them out, and the schedules that start them.

pub mod agent;
pub mod job;
pub mod job_event;
pub mod schedule;
pub mod waits_for;
