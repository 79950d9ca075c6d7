//! What the tests share.

pub mod api;
pub mod common;
pub mod crash;
pub mod job;
pub mod kill;
pub mod lost;
pub mod pool;
pub mod routes;
pub mod serve;
pub mod tls;
