//! What is written on an issue about the job that has it.

use spinney_core::Outcome;

/// What a comment tells.
#[derive(Debug, Clone, Copy)]
pub enum Comment<'a> {
    Claimed,
    GivenBack(GivenBack),
    Done(&'a Outcome),
}

/// Why an item is given back. Anybody may read it: a job's own error may tell too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenBack {
    Cancelled,
    TimedOut,
    Interrupted,
    Failed,
    NeverBegan,
}
