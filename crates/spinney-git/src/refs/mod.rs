//! Refs: read from git's files or from git, changed by their old value.

pub(crate) mod broken_refs;
pub(crate) mod checked_out;
pub(crate) mod files;
pub(crate) mod head;
mod reflog;
pub(crate) mod symbolic;
pub(crate) mod update;
