//! What a repository's own configuration says, and which of it may run something.

pub(crate) mod config_text;
pub(crate) mod executing;
pub(crate) mod guard;
pub(crate) mod nested;
pub(crate) mod own_config;
