//! What commits say of a branch: whether it is merged, what it brings, what would be lost with it.

pub(crate) mod added;
pub(crate) mod changed_paths;
pub(crate) mod changes;
pub(crate) mod conflict;
pub(crate) mod contents;
pub(crate) mod diff;
pub(crate) mod history;
pub(crate) mod merge;
pub(crate) mod reachable;
pub(crate) mod rescue;
