//! A linked worktree: added, filled, moved between commits, asked for its status, committed.

pub(crate) mod add;
pub(crate) mod checkout;
pub(crate) mod commit_files;
pub(crate) mod files;
pub(crate) mod hidden;
pub(crate) mod linked;
pub(crate) mod list;
pub(crate) mod move_files;
pub(crate) mod progress;
pub(crate) mod signature;
pub(crate) mod status;
pub(crate) mod status_parse;
pub(crate) mod submodule;
pub(crate) mod switch;
