//! The trash: removed workspaces, whole, until they are purged; and the archives of those that were.

mod archive;
mod archives;
mod attributes;
pub(crate) mod branch;
mod erasable;
mod erase;
mod forget;
#[cfg(test)]
mod hostile_archive;
mod inside;
mod mend;
mod print;
mod purge;
pub(crate) mod remove;
pub(crate) mod restore;
mod size;
mod sparse;
mod unarchive;
mod view;

pub(crate) use archive::load_marker;
pub use archives::{ExpiredArchive, Expiry};
pub use erasable::Erasable;
pub(crate) use erase::ERASED_ASIDE;
pub use erase::Erasure;
pub use purge::{Purged, Trashed};
pub(crate) use size::{size_on_disk, size_on_disk_until};
pub(crate) use view::VIEW;
