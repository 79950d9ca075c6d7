//! A database: where it is, how it is opened, upgraded and spoken to, and how its rows are read.

pub(crate) mod backup;
pub(crate) mod connection;
pub(crate) mod dialect;
#[doc(hidden)]
pub mod migrate;
pub(crate) mod network;
pub(crate) mod page;
pub(crate) mod place;
pub(crate) mod row;
pub(crate) mod sqlite;
pub(crate) mod store;
pub(crate) mod unify;
pub(crate) mod url;
