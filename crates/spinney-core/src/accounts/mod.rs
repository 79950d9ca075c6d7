//! Accounts, who acts for them, and with which token.

pub mod account;
pub mod actor;
pub mod token;
