//! The daemon: an API and a dashboard over what the engine and the jobs do, for people and programs of several accounts.
//!
//! A request passes [`observe`](observe::observe) (its id, the hosts that count), the gate of its route (who asks, and
//! whether they may), and the handler that the table of [`routes`] names.

mod api;
mod app;
mod auth;
mod background;
mod error;
pub mod events;
mod hosts;
mod idempotency;
mod listen;
mod loops;
mod maintenance;
mod metrics;
mod observe;
mod openapi;
mod operations;
mod pages;
pub mod routes;
mod schedules;
mod serve;
mod stop;
mod tally;

pub use error::ApiError;
pub use listen::TlsError;
pub use serve::{Listening, ServeError, ServeOptions, running_url, serve};
pub use stop::{Stop, Stopper};
