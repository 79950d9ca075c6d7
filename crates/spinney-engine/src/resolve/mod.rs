//! From a request to a workspace: the one that is there, or leave to have another.

pub(crate) mod admit;
mod ahead;
pub(crate) mod kept;
pub(crate) mod lookup;
pub(crate) mod order;
pub(crate) mod remote_name;
pub(crate) mod request;
pub(crate) mod room;
mod spoken;
