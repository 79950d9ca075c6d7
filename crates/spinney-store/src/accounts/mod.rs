//! Accounts, their tokens, and what a person of one has trusted.

pub(crate) mod account;
pub(crate) mod token;
pub(crate) mod trust;
