//! Repositories: found, registered, followed when they move, trusted, and seen as a request sees them.

pub(crate) mod context;
pub(crate) mod credential;
pub(crate) mod escape;
pub(crate) mod forge;
pub(crate) mod identity;
pub(crate) mod known;
pub(crate) mod own_settings;
pub(crate) mod proxy;
pub(crate) mod relocate;
pub(crate) mod settings_print;
pub(crate) mod trust;
