//! What goes to a remote and comes from it: clones, fetches, pushes, credentials.

pub(crate) mod clone;
pub(crate) mod credential;
pub(crate) mod fetch;
pub(crate) mod mirror;
pub(crate) mod network;
pub(crate) mod push;
pub(crate) mod push_parse;
pub(crate) mod record;
pub(crate) mod remote;
pub(crate) mod remote_cache;
pub(crate) mod secrets;
