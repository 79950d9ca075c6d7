//! What is said on a platform, before any platform's own form: what comes in, what is known of it, what goes out.

pub(crate) mod desk;
pub(crate) mod inbound;
pub(crate) mod inbox;
pub(crate) mod message;
pub(crate) mod split;
