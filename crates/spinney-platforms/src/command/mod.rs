//! Commands in a conversation, the same on every platform: parsed once, answered in the words of the command line.

mod carry_out;
mod parse;
mod tell;

pub(crate) use carry_out::carry_out;
pub use parse::{Command, Usage, parse};
