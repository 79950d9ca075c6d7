//! Filling a workspace's files by sharing the blocks of files that are there already, instead of checking them out.
//!
//! Every way here may fail without harm: what it made is in a directory that nobody uses yet, and the caller moves that
//! aside and checks the files out instead. Nothing here writes to what is copied from.

mod artifacts;
mod directory;
mod error;
mod fill;
mod probe;
mod reflink;
mod snapshot;

#[cfg(test)]
mod tests;

pub(crate) use directory::clone_directory;
pub(crate) use error::CopyError;
pub(crate) use fill::{may_share, point_to_admin_dir};
pub(crate) use probe::{Capabilities, Capability};
pub(crate) use reflink::clone_tree;
pub(crate) use snapshot::{Btrfs, is_subvolume};
