//! Makes the clone that a job works on, where there is none yet.

use spinney_core::JobPhase;
use spinney_git::without_credentials;

use super::{End, Run, Step};
use crate::maintenance::outage::through;
use crate::runner::control::Stop;
use crate::told::Detail;

impl Run<'_> {
    /// Clones, and goes back to those who wait: from here on as one that works on the clone.
    pub(super) async fn move_to_clone(&mut self, url: &str) -> Step<()> {
        self.begin_with(JobPhase::SetUp, &Detail::Clones { url: without_credentials(url) });
        let (jobs, control) = (self.jobs, self.control.clone());
        let clone = tokio::select! {
            clone = through(async || jobs.clone_of(&self.agent.name, &self.agent.config.working_directory, url).await) => clone?,
            stop = control.more_than(Stop::No) => return Err(End::Stopped(stop)),
        };
        let configured_in = std::mem::replace(&mut self.job.repository, clone.repository.name.clone());
        self.job.repository_id = clone.repository.id.clone();
        (self.job.request.configured_in, self.job.request.clone_url) = (Some(configured_in), None);
        self.context = clone;
        through(async || self.require_forge().await).await?;
        through(async || Ok::<_, End>(jobs.engine.store().read().await?.move_job(&self.job).await?)).await?;
        self.wait_again().await
    }
}
