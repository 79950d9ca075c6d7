//! The program, run as people and daemons run it: by real processes, on real repositories.

mod adoption;
mod commands;
mod creation;
mod daemon;
mod dashboard;
mod hostile;
mod jobs;
mod mcp;
mod measured;
#[cfg(feature = "fail-points")]
mod platforms;
mod pool;
mod real_agents;
mod recovery;
mod removal;
mod repositories;
mod support;
