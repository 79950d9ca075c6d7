//! The trash: removed workspaces, whole, until they are purged; and the archives of those that were.

mod archive;
mod purge;
mod size;
mod unarchive;

pub use purge::{Purged, Trashed};
pub(crate) use size::size_on_disk;
