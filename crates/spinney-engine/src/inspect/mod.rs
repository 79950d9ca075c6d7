//! What can be seen of workspaces and of what Spinney stands on. Changes nothing.

pub(crate) mod conflicts;
pub(crate) mod crowd;
pub(crate) mod details;
pub(crate) mod doctor;
mod pushed;
pub(crate) mod sizes;
