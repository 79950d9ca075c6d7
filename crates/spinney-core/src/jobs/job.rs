//! A job: one run of an agent on one piece of work.

use serde::{Deserialize, Serialize};

use crate::workspace::words;
use crate::{
    Advice, BranchName, CommitId, JobId, Method, NodeId, Platform, RepositoryId, RepositoryName, ScheduleName,
    SessionId, Timestamp, WaitsFor, Work, WorkspaceId,
};

words!(
    JobStatus {
        /// Recorded; it waits for its turn.
        Pending = "pending",
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
        TimedOut = "timed_out",
        /// Its process died under it; its work is where it was.
        Interrupted = "interrupted",
    }
);

impl JobStatus {
    /// Whether nothing more happens to it by itself.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }
}

words!(
    /// Whether somebody wants it to end.
    Cancel {
        No = "no",
        /// Its agent is asked to end, and made to after a while.
        Asked = "asked",
        /// Its agent is ended at once.
        AtOnce = "at_once",
    }
);

words!(
    /// What became of the push.
    Push {
        Pushed = "pushed",
        /// Nothing changed since the base.
        Nothing = "nothing",
        /// There is no remote.
        NoRemote = "no_remote",
        /// The agent's policy says not to.
        Off = "off",
        /// The remote did not take it.
        Refused = "refused",
        /// A person has to look first.
        Held = "held",
    }
);

words!(
    /// Why a file is not in the commit of what an agent left.
    LeftOutReason {
        /// It was there when the job began, and its agent did not change it.
        ThereBefore = "there_before",
        /// Spinney copied it from the main checkout.
        Copied = "copied",
        /// `setup` made it, and nobody changed it since.
        SetUp = "set_up",
        /// It is a repository of its own.
        Repository = "repository",
    }
);

words!(
    SessionStatus {
        Running = "running",
        Finished = "finished",
        Failed = "failed",
        /// Its context was full, and another session went on with its note.
        HandedOff = "handed_off",
        /// It was ended: by a cancel, a time limit, or the death of its process.
        Ended = "ended",
    }
);

/// One row of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub account: String,
    pub node: NodeId,
    pub repository_id: RepositoryId,
    /// The repository's name, joined in when a row is read.
    pub repository: RepositoryName,
    pub agent: String,
    pub work: Work,
    pub title: Option<String>,
    pub prompt: String,
    /// Who asked.
    pub trigger: Platform,
    pub status: JobStatus,
    /// What it waits for in the queue. None while it is pending: it is being started, by the process that owns it.
    pub waits_for: Option<WaitsFor>,
    pub cancel: Cancel,
    /// How often it was started; at least one once it ran.
    pub attempt: u32,
    /// What no other job may use while this one runs: its workspace's id, or a directory.
    pub place: Option<String>,
    pub workspace_id: Option<WorkspaceId>,
    /// The job whose agent asked for this one.
    pub parent: Option<JobId>,
    /// Until when it counts as waiting for its children: it takes no worker meanwhile. Whoever waits for it writes that anew.
    pub awaits_until: Option<Timestamp>,
    pub request: JobRequest,
    pub outcome: Outcome,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl Job {
    /// Whether its agent waits for its children, at a time.
    #[must_use]
    pub fn awaits_children(&self, now: Timestamp) -> bool {
        self.awaits_until.is_some_and(|until| until > now)
    }

    /// Whether it waits in the queue: it has no process, nobody needs to own it, and it is started at its turn. One that is
    /// pending and not in the queue is being started, and died if nobody owns it.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.status == JobStatus::Pending && self.waits_for.is_some()
    }

    /// The workspace that it has to itself; none for one that only reads.
    #[must_use]
    pub fn own_workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace_id.as_ref().filter(|_| !self.request.reads)
    }
}

/// The hints that came with a job, for the resolving of its workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BranchName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<BranchName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha: Option<CommitId>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Whether `setup` runs for work from a fork or a review too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub setup: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Work>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggest: Option<BranchName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Whether it waits where it would be blocked, until there is room: nobody sits there who could make some.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_room: bool,
    /// What the jobs of one list (`run --each`) have in common: one that is done and delivered makes room for the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<JobId>,
    /// Whether it only reads, as its agent was configured when it was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
    /// The schedule that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleName>,
    /// The repository whose configuration has the agent, where that is not the one it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configured_in: Option<RepositoryName>,
    /// The URL that is cloned before it begins; from then on it works on that clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clone_url: Option<String>,
    /// How many jobs of its agent may run at once, as configured when it was asked for: others tell by it whether it waits
    /// for its agent. Zero: no limit.
    pub max_concurrent: u32,
}

/// What a job has come to, as far as it has; grows without a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub summary: Option<String>,
    pub error: Option<String>,
    /// What helps with the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// Whether the agent has done its part: what is left is to deliver it.
    pub finished: bool,
    /// Whether that was delivered: nothing is left but to let its workspace go.
    pub delivered: bool,
    /// How often a daemon took it up again.
    pub resumed: u32,
    /// By which mark somebody asked last to run it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retried_by: Option<JobId>,
    /// Whether there is no room for its workspace: while it waits for some it stands in nobody's way, and it fails where it
    /// does not wait.
    pub blocked: bool,
    /// The last try to have a workspace, while it waits for room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried_room: Option<TriedRoom>,
    /// How often its process went back to the queue: somebody else was faster, or there was no room.
    pub turned_back: u32,
    /// Where its branch is to be pushed to, as it was before the agent began.
    pub push_url: Option<String>,
    /// How its first try got its workspace.
    pub method: Option<Method>,
    /// The branch as git told it at the end: an agent may rename it.
    pub branch: Option<String>,
    pub base_commit: Option<CommitId>,
    pub commit: Option<CommitId>,
    /// Commits of its own since the base.
    pub commits: u64,
    pub files: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub push: Option<Push>,
    pub pull_request: Option<String>,
    /// Paths of the main checkout that changed while it ran; and, with their directory, of the checkout that it only read in.
    pub escaped: Vec<String>,
    /// Whether its workspace has neither commits since its base nor changed files, as far as could be told at the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untouched: bool,
    /// Files that differ from the commit and are not in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Paths that somebody had changed before its agent began, and that are in its commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Commits that were on the branch before it and are not there any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// What a person has to look at before it is pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// The commit that is to be pushed although it was held: a person said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<CommitId>,
    /// Tools that its agent was not allowed to use.
    pub denied: Vec<String>,
    pub usage: Usage,
}

/// A try to have a workspace for which there was no room: what was there by then made none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedRoom {
    pub at_ms: i64,
    /// When there may be some, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at_ms: Option<i64>,
    /// The workspaces of its list that were done by then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<WorkspaceId>,
}

/// A file that is not in the commit of what an agent left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub reason: LeftOutReason,
}

/// Commits that an agent took off its branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The refs that keep them.
    pub refs: Vec<String>,
    pub count: u64,
    /// The newest of them.
    pub commits: Vec<DroppedCommit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCommit {
    pub commit: CommitId,
    pub subject: String,
}

/// What is not pushed until a person has looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What would be pushed.
    pub commit: CommitId,
    /// Files in its history that Spinney copied from the main checkout.
    pub copied: Vec<HeldFile>,
}

/// A copied file in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldFile {
    pub commit: CommitId,
    pub path: String,
}

/// What an agent's model took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read by the model, without what came from its cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// In millionths of a dollar, where the runtime tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

impl Usage {
    /// All tokens together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }

    /// The greater of each of two counts of the same.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.max(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.max(other.cache_write_tokens),
            cost_micros: self.cost_micros.max(other.cost_micros),
        }
    }

    /// What two sessions took together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let cost_micros = match (self.cost_micros, other.cost_micros) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0) + two.unwrap_or(0)),
        };
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_read_tokens: self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            cost_micros,
        }
    }
}

/// One conversation of a runtime inside a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub job_id: JobId,
    pub workspace_id: Option<WorkspaceId>,
    pub agent: String,
    pub work: Work,
    pub runtime: String,
    /// The runtime's own name for the conversation; a later session that resumes it has the same.
    pub conversation: Option<String>,
    pub resumed: bool,
    pub status: SessionStatus,
    pub usage: Usage,
    /// How much of the context window was used last, and how large it is, where the runtime tells.
    pub context_tokens: Option<u64>,
    pub context_window: Option<u64>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_of_an_older_version_can_be_read() {
        let outcome: Outcome = serde_json::from_str("{\"summary\":\"done\",\"usage\":{\"input_tokens\":3}}").unwrap();
        assert_eq!((outcome.summary.as_deref(), outcome.usage.tokens()), (Some("done"), 3));
    }

    #[test]
    fn costs_add_up_where_they_are_known() {
        let known = Usage { cost_micros: Some(5), ..Usage::default() };
        assert_eq!(Usage::default().plus(Usage::default()).cost_micros, None);
        assert_eq!(known.plus(Usage::default()).cost_micros, Some(5));
        assert_eq!(known.plus(known).cost_micros, Some(10));
    }
}
