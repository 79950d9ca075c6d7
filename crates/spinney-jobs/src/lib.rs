//! Jobs: an agent's run on a piece of work, from prompt to pull request.

pub mod runtime;
pub mod runtimes;
mod sink;

pub use sink::Sink;
