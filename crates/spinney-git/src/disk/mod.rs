//! Files that git or somebody else writes, read and locked without a process of git.

pub(crate) mod file_lock;
pub(crate) mod presence;
pub(crate) mod regular;
pub(crate) mod scratch;
pub(crate) mod stamp;
