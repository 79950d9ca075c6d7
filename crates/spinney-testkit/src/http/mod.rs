//! A small HTTP server on loopback, for what the tests talk to. One request a connection, a few connections at a time.

mod request;
mod response;
mod server;

pub(crate) use request::Request;
pub(crate) use response::Response;
pub(crate) use server::HttpServer;
#[cfg(test)]
pub(crate) use server::SILENCE;
