//! HTTP on loopback: a small server for what the tests talk to, and a client that sends whatever a test wants.
//!
//! One request a connection, unless the client keeps it; the server takes a few connections at a time.

mod client;
mod connection;
mod events;
mod reply;
mod request;
mod response;
mod server;
mod socket;

pub use client::HttpClient;
pub use connection::Connection;
pub(crate) use events::Closer;
pub use events::{EventStream, ServerEvent};
pub use reply::Reply;
pub(crate) use request::{Request, unescape};
pub(crate) use response::Response;
pub(crate) use server::HttpServer;
#[cfg(test)]
pub(crate) use server::SILENCE;
