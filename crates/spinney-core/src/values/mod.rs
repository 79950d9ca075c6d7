//! Values that every other type is made of: ids, names, branches, commits, times, amounts, texts.

pub mod branch;
pub(crate) mod checked_text;
pub mod commit;
pub mod id;
pub(crate) mod in_full;
pub mod names;
pub mod quantity;
pub mod secret;
pub mod time;
