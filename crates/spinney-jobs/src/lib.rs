//! Jobs: an agent's run on a piece of work, from prompt to pull request.
//!
//! [`Jobs`] records, starts, cancels and tries again; a process of its own ([`runner`]) runs each job and holds its lock. What
//! can't begin waits in the queue, for one process of the home that starts it at its turn ([`supervisor`]).
//! Nothing here prints or reads the user's environment: the engine was opened with it.
//!
//! What people are to be told are facts ([`told`]); whoever opens the jobs gives the words for them, as it gives the
//! [`Launcher`]. Sentences are here only where nobody who follows a job reads them as such: what errors say, faults of the
//! configuration, lines for the operator (`tracing`), and what agents are asked.
//!
//! What an agent says is made fit for a terminal before anybody reads it:
//!
//! ```
//! use spinney_jobs::plain::plain;
//!
//! assert_eq!(plain("\u{1b}[31mred\u{1b}[0m and \u{202e}reversed"), "red and reversed");
//! ```

mod agent;
mod children;
pub mod delivery;
mod error;
mod events;
mod jobs;
mod launch;
mod log;
mod maintenance;
mod places;
pub mod plain;
mod runner;
pub mod runtime;
pub mod runtimes;
pub mod schedules;
pub mod sources;
mod supervisor;
pub mod told;

pub use agent::Agent;
pub use children::MAX_CHILDREN;
pub use error::{Error, Result};
pub use jobs::{Busy, Jobs, NewJob};
pub use launch::{Chore, JobStart, Launcher, StartedJob, Variables};
pub use log::{LogReader, Sink};
pub use maintenance::outage::STORE_PATIENCE;
pub use maintenance::retention::Forgotten;
pub use runner::ConfiguredLimits;
