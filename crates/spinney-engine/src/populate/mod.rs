//! Filling a workspace's files by sharing the blocks of files that are there already, instead of checking them out.
//!
//! Every way here may fail without harm: what it made is in a directory that nobody uses yet, and the caller moves that
//! aside and checks the files out instead. Nothing here writes to what is copied from.

mod directory;
mod error;
mod probe;
mod reflink;
mod snapshot;

#[cfg(test)]
mod tests;

#[expect(unused_imports, reason = "creation does not use them yet")]
pub(crate) use {
    directory::{Carried, clone_directory},
    error::CopyError,
    probe::{Capabilities, Capability, probe},
    reflink::{Cloned, clone_tree},
    snapshot::{Btrfs, Shared, is_subvolume},
};
