//! No words at all: the facts as they stand in the code.

use spinney_core::quantity::Span;
use spinney_core::{JobId, JobStatus};
use spinney_engine::Check;

use super::{Comment, Detail, Failure, Finding, Idle, Retry, TurnFailure, Warning, Words};
use crate::sources::Ticket;

/// Shows facts as `Debug` does. For tests, which compare facts and not sentences.
#[derive(Debug, Clone, Copy)]
pub struct Facts;

impl Words for Facts {
    fn failure(&self, failure: &Failure) -> String {
        format!("{failure:?}")
    }

    fn turn_failure(&self, failure: &TurnFailure) -> String {
        format!("{failure:?}")
    }

    fn retry(&self, retry: &Retry) -> String {
        format!("{retry:?}")
    }

    fn warning(&self, warning: &Warning) -> String {
        format!("{warning:?}")
    }

    fn detail(&self, detail: &Detail) -> String {
        format!("{detail:?}")
    }

    fn cut(&self, left_out_bytes: u64) -> String {
        format!("{left_out_bytes:?}")
    }

    fn idle(&self, idle: &Idle) -> String {
        format!("{idle:?}")
    }

    fn pause(&self, failures: u32, last: Option<&str>) -> String {
        format!("{failures:?} {last:?}")
    }

    fn comment(&self, ticket: &Ticket, comment: &Comment<'_>) -> String {
        format!("{ticket:?} {comment:?}")
    }

    fn orphan(&self, job: &JobId) -> String {
        format!("{job:?}")
    }

    fn abandoned(&self, job: &JobId, ended: JobStatus, after: &Span) -> String {
        format!("{job:?} {ended:?} {after:?}")
    }

    fn check(&self, finding: &Finding) -> Check {
        Check::good("jobs", format!("{finding:?}"))
    }
}
