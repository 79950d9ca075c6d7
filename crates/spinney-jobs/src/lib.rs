//! Jobs: an agent's run on a piece of work, from prompt to pull request.
//!
//! [`Jobs`] records, starts, cancels and tries again; a process of its own ([`runner`]) runs each job and holds its lock.
//! Nothing here prints or reads the user's environment: the engine was opened with it.

mod agent;
mod beside;
mod control;
mod doctor;
mod error;
mod events;
mod family;
mod jobs;
mod keep;
mod launch;
mod log;
mod origin;
mod orphans;
mod outage;
mod places;
pub mod plain;
mod process;
mod queue;
mod retention;
mod runner;
pub mod runtime;
pub mod runtimes;
pub mod schedules;
mod sink;
pub mod sources;
mod sweep;
mod uuid;

pub use agent::Agent;
pub use error::{Error, Result};
pub use jobs::{Busy, Jobs, NewJob};
pub use launch::{Chore, JobStart, Launcher, StartedJob};
pub use log::LogReader;
pub use outage::STORE_PATIENCE;
pub use retention::Forgotten;
pub use runner::ConfiguredLimits;
pub use sink::Sink;
