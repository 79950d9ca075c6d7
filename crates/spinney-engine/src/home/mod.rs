//! Spinney's home on disk, who there is in it, and what the file system says.

pub(crate) mod accounts;
pub(crate) mod delete;
pub(crate) mod disk;
pub(crate) mod layout;
pub(crate) mod links;
pub(crate) mod secrets;
pub(crate) mod tokens;
pub(crate) mod walk;
