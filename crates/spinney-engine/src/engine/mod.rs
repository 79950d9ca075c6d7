//! The engine: what it is made of, the threads on which it is asked, and what it tells while it works.

pub mod notice;
pub(crate) mod open;
pub(crate) mod threads;
