//! What a job that has not started waits for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Advice, JobId, WorkspaceName};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitsFor {
    /// Its own row, which is not to be seen yet.
    Record,
    /// A job that runs where it wants to.
    Holder { job: JobId, agent: String, workspace: WorkspaceName },
    /// A job that wants the same place, and asked first.
    Older { job: JobId, agent: String },
    /// Its agent, which runs as often at once as it may.
    Agent { agent: String, busy: usize, limit: u32 },
    /// A worker of the node.
    Worker { busy: usize, limit: u32 },
    /// Room for its workspace.
    Room(NoRoom),
}

/// Why there is no room for a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoRoom {
    pub why: String,
    /// What makes room.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// How many workspaces a sweep of what is merged would take at most.
    pub merged: usize,
    /// How many one of what is stale would.
    pub stale: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl WaitsFor {
    /// The word that metrics tell it by: it names nobody.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Record => "start",
            Self::Holder { .. } | Self::Older { .. } => "job",
            Self::Agent { .. } => "agent",
            Self::Worker { .. } => "worker",
            Self::Room(_) => "room",
        }
    }
}

/// As it follows "waits for".
impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("its own row in the store"),
            Self::Holder { job, agent, workspace } => write!(f, "job {job} of `{agent}`, which has {workspace}"),
            Self::Older { job, agent } => write!(f, "job {job} of `{agent}`, which asked first"),
            Self::Agent { agent, busy, limit } => write!(f, "agent `{agent}` ({busy} of {limit} busy)"),
            Self::Worker { busy, limit } => write!(f, "a worker ({busy} of {limit} busy)"),
            Self::Room(no_room) => write!(f, "room: {no_room}"),
        }
    }
}
