//! What jobs have to tell people: the facts, and no sentence. Whoever opens the jobs gives the [`Words`].

mod comment;
mod detail;
mod facts;
mod failure;
mod finding;
mod hook;
mod idle;
mod mcp;
mod turn;
mod warning;

use std::fmt::Debug;

use spinney_core::quantity::Span;
use spinney_core::{JobId, JobStatus};
use spinney_engine::Check;

use crate::sources::Ticket;

pub use comment::{Comment, GivenBack};
pub use detail::Detail;
pub use facts::Facts;
pub use failure::{BranchOwner, Copied, Failure, LeftWith};
pub use finding::Finding;
pub use hook::HookFault;
pub use idle::Idle;
pub use mcp::McpFault;
pub use turn::{Ended, Refusal, Retry, TurnFailure};
pub use warning::{Cause, NoNote, Warning};

/// Says in words what jobs tell.
pub trait Words: Debug + Send + Sync {
    /// Why a job does not complete.
    fn failure(&self, failure: &Failure) -> String;

    /// Why a turn of an agent failed.
    fn turn_failure(&self, failure: &TurnFailure) -> String;

    /// Why a runtime tries again by itself.
    fn retry(&self, retry: &Retry) -> String;

    fn warning(&self, warning: &Warning) -> String;

    /// What a phase is about.
    fn detail(&self, detail: &Detail) -> String;

    /// What stands at the end of a text that was cut.
    fn cut(&self, left_out_bytes: u64) -> String;

    /// Why a schedule's run has no job.
    fn idle(&self, idle: &Idle) -> String;

    /// Why a schedule is paused that failed so many times in a row; with what was told of the last time.
    fn pause(&self, failures: u32, last: Option<&str>) -> String;

    /// What is written on an issue, below the marker.
    fn comment(&self, ticket: &Ticket, comment: &Comment<'_>) -> String;

    /// Why a sweep takes a workspace whose job is over.
    fn orphan(&self, job: &JobId) -> String;

    /// Why a sweep takes what a job left that ended badly, in which nothing happened for a time.
    fn abandoned(&self, job: &JobId, ended: JobStatus, after: &Span) -> String;

    /// What `doctor` shows.
    fn check(&self, finding: &Finding) -> Check;
}
