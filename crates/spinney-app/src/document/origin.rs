//! What of a job's workspace was not delivered as its agent's, and what a person has to look at.

use serde::Serialize;
use utoipa::ToSchema;

use super::LeftOutReason;

/// A file that is not in the commit of what an agent left.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LeftOut {
    pub path: String,
    pub reason: LeftOutReason,
}

impl LeftOut {
    pub(super) fn of(left_out: &spinney_core::LeftOut) -> Self {
        Self { path: left_out.path.clone(), reason: left_out.reason.into() }
    }
}

/// Commits that an agent took off its branch, and that no remote has.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Dropped {
    /// The refs that keep them.
    pub refs: Vec<String>,
    pub count: u64,
    /// The newest of them.
    pub commits: Vec<DroppedCommit>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DroppedCommit {
    pub commit: String,
    pub subject: String,
}

impl Dropped {
    pub(super) fn of(dropped: &spinney_core::Dropped) -> Self {
        let commit = |dropped: &spinney_core::DroppedCommit| DroppedCommit {
            commit: dropped.commit.to_string(),
            subject: dropped.subject.clone(),
        };
        Self { refs: dropped.refs.clone(), count: dropped.count, commits: dropped.commits.iter().map(commit).collect() }
    }
}

/// What is not pushed until a person has looked at it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Held {
    /// What would be pushed.
    pub commit: String,
    /// Files in its history that Spinney copied from the main checkout.
    pub copied: Vec<HeldFile>,
}

/// A copied file in a commit.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HeldFile {
    pub commit: String,
    pub path: String,
}

impl Held {
    pub(super) fn of(held: &spinney_core::Held) -> Self {
        let file =
            |file: &spinney_core::HeldFile| HeldFile { commit: file.commit.to_string(), path: file.path.clone() };
        Self { commit: held.commit.to_string(), copied: held.copied.iter().map(file).collect() }
    }
}
