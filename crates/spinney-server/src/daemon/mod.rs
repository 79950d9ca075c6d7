//! The daemon from its start to its end, and what it does by itself.

pub(crate) mod background;
pub(crate) mod configuration;
pub(crate) mod loops;
pub(crate) mod maintenance;
pub(crate) mod reload;
pub(crate) mod serve;
pub(crate) mod stop;
