//! What one process at a time may act on.

use std::fmt;
use std::path::{Path, PathBuf};

use spinney_core::{JobId, OperationId, Platform};

/// How often a file of jobs that seems to be locked is tried again.
const LOOKERS: u32 = 3;

/// What one process at a time may act on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ownable {
    Job(JobId),
    Operation(OperationId),
    /// All schedules of a home.
    Schedules,
    /// What came from a platform, by the platform's own id of the sending.
    Message {
        platform: Platform,
        id: String,
    },
    /// Whose turn it is among the jobs of a home.
    Queue,
    /// The daemon's work in a home.
    Daemon,
    /// The sweeping of a home.
    Sweep,
    /// The measuring of sizes in the background.
    Measuring,
}

impl Ownable {
    /// The file that is locked by its owner; none for what only tasks of the daemon's process act on.
    pub(super) fn file(&self, home: &Path) -> Option<PathBuf> {
        Some(match self {
            Self::Job(id) => home.join("jobs").join(id.as_str()),
            Self::Operation(id) => home.join("operations").join(id.as_str()),
            Self::Queue => home.join("jobs").join("queue.lock"),
            Self::Schedules => home.join("schedules.lock"),
            Self::Daemon => home.join("serve.lock"),
            Self::Sweep => home.join("sweep.lock"),
            Self::Measuring => home.join("measure.lock"),
            Self::Message { .. } => return None,
        })
    }

    /// How often it is tried again: somebody may only be looking whether it is owned, which takes a moment. Operations are
    /// looked through by every command, which must not wait for those that are under way.
    pub(super) fn lookers(&self) -> u32 {
        if matches!(self, Self::Job(_) | Self::Queue) { LOOKERS } else { 0 }
    }

    /// Whether it is given up by its owner alone, and never carried on.
    pub(super) fn ends_with_its_owner(&self) -> bool {
        matches!(self, Self::Schedules)
    }
}

impl fmt::Display for Ownable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(id) => write!(formatter, "job {id}"),
            Self::Operation(id) => write!(formatter, "operation {id}"),
            Self::Queue => formatter.write_str("the queue"),
            Self::Schedules => formatter.write_str("the schedules"),
            Self::Message { platform, id } => write!(formatter, "message {id} of {platform}"),
            Self::Daemon => formatter.write_str("the daemon's work"),
            Self::Sweep => formatter.write_str("the sweep"),
            Self::Measuring => formatter.write_str("the measuring"),
        }
    }
}
