//! How a hook failed.

use super::Failure;

/// How a line of an agent's hooks failed.
#[derive(Debug)]
pub enum HookFault {
    /// With the last line of its standard error.
    Status {
        status: i32,
        said: Option<String>,
    },
    Signal(i32),
    /// Nobody knows how it ended.
    Unknown,
    /// It took too long.
    TooSlow,
    /// It did not come to run.
    NotRun(Box<Failure>),
}
