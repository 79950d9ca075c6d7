//! Who asks, and what they may: bearer tokens, browser sessions, the owner at the Unix socket.

mod attempts;
mod caller;
mod cookie;
mod csrf;
pub(crate) mod gate;

pub(crate) use attempts::Attempts;
pub(crate) use caller::{Caller, Via};
pub(crate) use cookie::{SESSION_FOR, forget_session, read_session, remember_session};
pub(crate) use csrf::Csrf;
