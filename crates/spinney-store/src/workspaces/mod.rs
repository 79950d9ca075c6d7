//! Workspaces, with what points at them and what they hold.

pub(crate) mod conversation;
pub(crate) mod operation;
pub(crate) mod origin;
pub(crate) mod port;
pub(crate) mod work;
pub(crate) mod workspace;
