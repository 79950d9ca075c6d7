//! Where an agent's client is: what it may do there, and with what.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Agent, JobInBrief, RepositoryStatus, Scope};

/// Whose server a client talks to, and what it has there.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Context {
    pub version: String,
    pub account: String,
    pub scope: Scope,
    /// The one repository that this is about, or all of the account.
    pub repositories: Vec<RepositoryStatus>,
    /// The agents of the one repository; none where no repository is named.
    #[schema(required)]
    pub agents: Option<Vec<Agent>>,
    /// The job that the client is a part of.
    #[schema(required)]
    pub job: Option<OwnJob>,
}

/// A job, as its own agent is told of it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OwnJob {
    pub id: String,
    #[schema(required)]
    pub workspace_id: Option<String>,
    /// The jobs that it asked for, oldest first.
    pub children: Vec<JobInBrief>,
    /// How many more it may ask for.
    pub may_start: usize,
}

impl OwnJob {
    #[must_use]
    pub fn of(job: &spinney_core::Job, children: &[spinney_core::Job]) -> Self {
        // One that was asked for by another job asks for none.
        let most = if job.parent.is_none() { spinney_jobs::MAX_CHILDREN } else { 0 };
        Self {
            id: job.id.to_string(),
            workspace_id: job.workspace_id.as_ref().map(ToString::to_string),
            children: children.iter().map(JobInBrief::of).collect(),
            may_start: most.saturating_sub(children.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_context_is_what_its_schema_says() {
        let (full, bare) = (sample::full_job(), sample::bare_job());
        let own = OwnJob::of(&full, std::slice::from_ref(&bare));
        assert_eq!(own.may_start, 3);
        assert_described(&own, &OwnJob::of(&bare, &[]));
        let child = spinney_core::Job { parent: Some(full.id), ..bare };
        assert_eq!(OwnJob::of(&child, &[]).may_start, 0);
        let context = |agents, job| Context {
            version: "1".to_owned(),
            account: "local".to_owned(),
            scope: spinney_core::Scope::Read.into(),
            repositories: Vec::new(),
            agents,
            job,
        };
        assert_described(&context(Some(Vec::new()), Some(own)), &context(None, None));
    }
}
