//! What becomes of a job's workspace, by the agent's `keep` and `cleanup_on_failure`.

use std::time::Duration;

use spinney_core::config::{AgentWorkspace, Keep};
use spinney_core::{Consent, Job, JobStatus, Push, ReasonCode, WorkKind};

/// What somebody lets go who sets `cleanup_on_failure`: the doing of a job that ended badly, which the trash keeps whole. What is
/// shared, pinned, locked or in use stays.
const OF_A_FAILURE: [ReasonCode; 9] = [
    ReasonCode::Dirty,
    ReasonCode::Untracked,
    ReasonCode::PreciousIgnored,
    ReasonCode::Stash,
    ReasonCode::DetachedCommits,
    ReasonCode::OperationInProgress,
    ReasonCode::NestedRepository,
    ReasonCode::SubmoduleUnpushed,
    ReasonCode::Unpushed,
];

/// What becomes of a workspace when its job is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Stays,
    /// A sweep may take it after this time.
    StaysFor(Duration),
    /// To the trash, with what is agreed to beforehand.
    Goes(Consent),
}

/// Whether a job did not complete.
pub(crate) fn is_bad_end(status: JobStatus) -> bool {
    matches!(status, JobStatus::Failed | JobStatus::Cancelled | JobStatus::TimedOut | JobStatus::Interrupted)
}

/// The fate of the workspace of a job that ends so; `goes_on` tells whether a daemon takes the job up again by itself.
pub(crate) fn fate(policy: &AgentWorkspace, job: &Job, status: JobStatus, goes_on: bool) -> Fate {
    let delivered = status == JobStatus::Completed && is_delivered(job);
    if job.outcome.push == Some(Push::Held) {
        return Fate::Stays;
    }
    if is_bad_end(status) && policy.cleanup_on_failure && !goes_on {
        return Fate::Goes(Consent::Codes(OF_A_FAILURE.into()));
    }
    match policy.keep {
        Keep::Auto if delivered && job.work.kind == WorkKind::Job => Fate::Goes(Consent::None),
        Keep::UntilDelivered if delivered => Fate::Goes(Consent::None),
        Keep::For(span) => Fate::StaysFor(span.0),
        Keep::Auto | Keep::UntilDelivered | Keep::UntilClosed => Fate::Stays,
    }
}

/// How a job ended as far as its workspace goes: one that died after it had delivered all had only its end left.
pub(crate) fn ended_as(policy: &AgentWorkspace, job: &Job) -> JobStatus {
    let has_pull_request =
        !policy.create_pr || job.outcome.push != Some(Push::Pushed) || job.outcome.pull_request.is_some();
    match job.status {
        JobStatus::Interrupted if job.outcome.finished && is_delivered(job) && has_pull_request => JobStatus::Completed,
        status => status,
    }
}

fn is_delivered(job: &Job) -> bool {
    matches!(job.outcome.push, Some(Push::Pushed | Push::Nothing | Push::Off | Push::NoRemote))
}
