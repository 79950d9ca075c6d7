//! A repository: found, locked, kept private, and what its main checkout holds.

pub(crate) mod checkout_files;
pub(crate) mod ignored;
pub(crate) mod ignored_path;
pub(crate) mod lock;
pub(crate) mod opened;
#[cfg(feature = "fail-points")]
pub(crate) mod private;
pub(crate) mod stale_lock;
pub(crate) mod stash;
