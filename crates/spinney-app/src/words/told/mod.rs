//! What jobs tell, in English.

mod check;
mod comment;
mod detail;
mod failure;
mod schedule;
mod turn;
mod warning;

use spinney_core::quantity::Span;
use spinney_core::{CommitId, Dropped, DroppedCommit, JobId, JobStatus};
use spinney_engine::Check;
use spinney_git::Head;
use spinney_jobs::sources::Ticket;
use spinney_jobs::told::{Comment, Detail, Failure, Finding, Idle, Retry, TurnFailure, Warning, Words};

use super::{counted, first_line, plain};

/// How many names a message has.
const MAX_NAMED: usize = 5;
/// How many lost commits a message names.
const MAX_LOST: u64 = 3;

/// The words of all fronts.
#[derive(Debug, Clone, Copy)]
pub struct English;

impl Words for English {
    fn failure(&self, failure: &Failure) -> String {
        failure::failure(failure)
    }

    fn turn_failure(&self, failure: &TurnFailure) -> String {
        turn::failure(failure)
    }

    fn retry(&self, retry: &Retry) -> String {
        turn::retry(retry)
    }

    fn warning(&self, warning: &Warning) -> String {
        warning::warning(warning)
    }

    fn detail(&self, detail: &Detail) -> String {
        detail::detail(detail)
    }

    fn cut(&self, left_out_bytes: u64) -> String {
        format!("… ({left_out_bytes} bytes more)")
    }

    fn idle(&self, idle: &Idle) -> String {
        schedule::idle(idle)
    }

    fn pause(&self, failures: u32, last: Option<&str>) -> String {
        schedule::pause(failures, last)
    }

    fn comment(&self, ticket: &Ticket, comment: &Comment<'_>) -> String {
        comment::comment(ticket, comment)
    }

    fn orphan(&self, job: &JobId) -> String {
        format!("job {job} ended without releasing it")
    }

    fn abandoned(&self, job: &JobId, ended: JobStatus, after: &Span) -> String {
        let ended = match ended {
            JobStatus::TimedOut => "timed out",
            JobStatus::Cancelled => "was cancelled",
            JobStatus::Interrupted => "was interrupted",
            _ => "failed",
        };
        format!("job {job} {ended}, and nothing happened in it for {after}")
    }

    fn check(&self, finding: &Finding) -> Check {
        check::check(finding)
    }
}

/// The first of some names, in backticks.
fn named(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{}`", plain(name))).collect();
    if names.len() > MAX_NAMED {
        shown.push(format!("{} more", names.len() - MAX_NAMED));
    }
    shown.join(", ")
}

/// Where HEAD was left.
fn left(head: &Head) -> String {
    match head {
        Head::Branch { name, .. } => format!("on `{name}`"),
        Head::Detached { commit, .. } => format!("on no branch at {}", commit.short()),
    }
}

/// A base and its commit.
fn base(branch: Option<&spinney_core::BranchName>, commit: &CommitId) -> String {
    match branch {
        Some(branch) => format!("{branch} {}", commit.short()),
        None => commit.short().to_string(),
    }
}

/// The commits that a branch lost.
fn dropped(dropped: &Dropped) -> String {
    let one = |lost: &DroppedCommit| format!("{} ({})", lost.commit.short(), first_line(&lost.subject));
    let first: Vec<String> = dropped.commits.iter().take(MAX_LOST as usize).map(one).collect();
    let more = match dropped.count.saturating_sub(MAX_LOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let count = counted(dropped.count, "commit");
    format!("the branch lost {count} that no remote has: {}{more}", first.join(", "))
}
