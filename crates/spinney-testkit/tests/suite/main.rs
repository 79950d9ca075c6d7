//! The kit itself: its agent, its models.

mod agents;
mod scripted_agent;
mod stub_model;
