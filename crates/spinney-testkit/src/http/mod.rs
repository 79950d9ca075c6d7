//! HTTP on loopback: a small server for what the tests talk to, and a client that sends whatever a test wants.
//!
//! One request a connection; the server takes a few connections at a time.

mod client;
mod events;
mod reply;
mod request;
mod response;
mod server;

pub use client::HttpClient;
pub use events::{EventStream, ServerEvent};
pub use reply::Reply;
pub(crate) use request::{Request, unescape};
pub(crate) use response::Response;
pub(crate) use server::HttpServer;
#[cfg(test)]
pub(crate) use server::SILENCE;
