//! PostgreSQL: the one that the tests share, and one of a test's own.

pub(crate) mod database;
pub(crate) mod server;
