//! The dashboard: what a person does with it in a real browser, and what an agent's words can't do to it.

#[path = "../common/mod.rs"]
mod common;
mod desk;
mod forms;
#[path = "../job_support/mod.rs"]
mod job_support;
mod keyboard;
mod pictures;
#[path = "../serve_support/mod.rs"]
mod serve_support;
mod stories;
mod trouble;
