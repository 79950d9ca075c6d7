//! What the platforms' APIs and webhooks have in common over HTTP.

pub(crate) mod api;
pub(crate) mod bounds;
pub(crate) mod fault;
pub(crate) mod form;
pub(crate) mod header;
pub(crate) mod hex;
