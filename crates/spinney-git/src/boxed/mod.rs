//! The git of a box: its private git dir, the base mirror that it borrows from, and what can be asked about its tree.
//!
//! An agent in a box writes its tree and its private git dir, and nothing else. So both are opened in the jail only; the base
//! mirror, which boxes read, and the host's own admin dir are the host's.

pub(crate) mod files;
pub(crate) mod left_over;
pub(crate) mod left_over_parse;
pub(crate) mod mirror;
pub(crate) mod places;
pub(crate) mod private;
pub(crate) mod questions;
pub(crate) mod tree;
