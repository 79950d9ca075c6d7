//! What is asked for: on which platform, and how far the answer has come.

pub mod delivery;
pub mod ignored;
pub mod long_operation;
pub mod platform;
pub mod work_address;
