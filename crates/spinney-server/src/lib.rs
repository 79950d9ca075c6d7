//! The daemon: an API and a dashboard over what the engine and the jobs do, for people and programs of several accounts.
//!
//! A request passes `observe` (its id, the hosts that count), the gate of its route (who asks, and
//! whether they may), and the handler that the table of [`routes`] names.
//!
//! ```
//! use spinney_server::routes::{Access, table};
//!
//! let open = table().into_iter().filter(|route| route.access == Access::Open);
//! assert!(open.map(|route| route.path).any(|path| path == "/health"));
//! ```

mod api;
mod app;
mod auth;
mod daemon;
mod error;
pub mod events;
mod hosts;
mod idempotency;
mod listen;
mod metrics;
mod observe;
mod openapi;
mod operations;
mod pages;
pub mod routes;
mod schedules;
mod tally;

pub use daemon::configuration::{ConfigSource, Standing, running_standing};
pub use daemon::serve::{Listening, ServeError, ServeOptions, running_url, serve};
pub use daemon::stop::{Stop, Stopper};
pub use error::ApiError;
pub use listen::TlsError;
