//! Many clients of a daemon at once: requests at a steady rate, and listeners beside them.

mod listeners;
mod requests;

pub use listeners::{Heard, Listeners};
pub use requests::{Outcome, Requests};
