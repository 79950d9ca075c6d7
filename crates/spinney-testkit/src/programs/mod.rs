//! Programs that tests start: ours, git, and agents; and what is said where one is missing.

pub(crate) mod agent_cli;
pub(crate) mod cli;
pub(crate) mod daemon;
pub(crate) mod git_wrapper;
pub(crate) mod needs;
pub(crate) mod process;
pub(crate) mod scripted_agent;
pub(crate) mod written;
