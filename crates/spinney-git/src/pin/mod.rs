//! The pin: one commit under the rescue ref that keeps every object of a workspace alive.

pub(crate) mod bundle;
pub(crate) mod index;
pub(crate) mod keep;
pub(crate) mod lfs_objects;
pub(crate) mod pack;
pub(crate) mod sources;
pub(crate) mod stamp;
pub(crate) mod whole;
