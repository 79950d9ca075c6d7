//! Who asks, and what they may: bearer tokens, browser sessions, the owner at the Unix socket.

mod attempts;
mod caller;
mod cookie;
mod csrf;
pub(crate) mod gate;
mod session;

pub(crate) use attempts::Attempts;
pub(crate) use caller::{Caller, Via};
pub(crate) use cookie::{forget_session, read_session, remember_session};
pub(crate) use csrf::Csrf;
pub(crate) use session::{begin_session, end_session};

use cookie::SESSION_FOR;
