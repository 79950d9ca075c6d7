//! What the agent of a job sees: its own workspace, and what it asked for. This keeps agents from each other's work; it is no
//! security boundary, for an agent outside of a box can run `spinney` itself.

use spinney_app::jobs;
use spinney_core::{Job, Method, WorkspaceId};

use crate::error::{Fault, Result};
use crate::seat::Seat;

/// A job with the jobs that its agent asked for.
#[derive(Debug)]
pub(crate) struct Family {
    pub job: Job,
    pub children: Vec<Job>,
}

impl Family {
    /// Loads the family of the job that asks; none where no job asks.
    pub(crate) async fn load(seat: &Seat) -> Result<Option<Self>> {
        let Some(id) = &seat.job else { return Ok(None) };
        let known = seat.jobs()?;
        let job = jobs::find(&known, id.as_str()).await?;
        let children = known.children(&job.id).await?;
        Ok(Some(Self { job, children }))
    }

    /// The workspaces that it sees: its own first, then those that were made for jobs that its agent asked for.
    pub(crate) fn workspaces(&self) -> Vec<&WorkspaceId> {
        let mut seen: Vec<&WorkspaceId> = Vec::new();
        let made = self.children.iter().filter(|job| job.outcome.method == Some(Method::Created));
        for id in std::iter::once(&self.job).chain(made).filter_map(|job| job.workspace_id.as_ref()) {
            if !seen.contains(&id) {
                seen.push(id);
            }
        }
        seen
    }

    fn is_child(&self, job: &Job) -> bool {
        self.children.iter().any(|child| child.id == job.id)
    }
}

/// What somebody wants with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    Look,
    /// Wait for it, or end it: nobody does that to the job that asks.
    Act,
}

/// Finds a job that the caller may see.
pub(crate) async fn find_job(seat: &Seat, id: &str, wish: Wish) -> Result<Job> {
    let job = jobs::find(&seat.jobs()?, id).await?;
    if !seat.is_of_repository(&job.repository_id) {
        return Err(Fault::not_found("job", id));
    }
    let Some(family) = Family::load(seat).await? else { return Ok(job) };
    match (job.id == family.job.id, wish) {
        (true, Wish::Act) => {
            Err(Fault::usage(format!("{id} is the job that asks: it does not wait for itself or end itself")))
        }
        (true, Wish::Look) => Ok(job),
        (false, _) if family.is_child(&job) => Ok(job),
        (false, _) => Err(Fault::not_found("job", id)),
    }
}
