//! The trash: removed workspaces, whole, until they are purged; and the archives of those that were.

mod archive;
mod attributes;
#[cfg(test)]
mod hostile_archive;
mod mend;
mod print;
mod purge;
mod size;
mod sparse;
mod unarchive;
mod view;

pub(crate) use archive::load_marker;
pub use purge::{Purged, Trashed};
pub(crate) use size::{size_on_disk, size_on_disk_until};
pub(crate) use view::VIEW;
