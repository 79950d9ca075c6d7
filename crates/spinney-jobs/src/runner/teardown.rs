//! Tears a job's workspace down, by the agent's `keep`. It is a sweep: what the verdict keeps, stays.

use spinney_core::{JobPhase, JobStatus, Sweep};

use super::Run;
use super::setup::Place;
use crate::keep::{self, Fate};
use crate::outage::through;
use crate::{Error, Result};

impl Run<'_> {
    pub(super) async fn tear_down(&mut self, place: Place, status: JobStatus) {
        let Some(workspace) = place.workspace() else { return self.stop_reading(place).await };
        let engine = self.jobs.engine;
        let consent = match keep::fate(&self.agent.config.workspace, &self.job, status) {
            Fate::Stays => return,
            Fate::StaysFor(span) => {
                if let Err(error) = through(async || Ok::<_, Error>(engine.keep_for(workspace, span).await?)).await {
                    self.warn(format!("how long {} is to be kept could not be noted: {error}", workspace.name));
                }
                return;
            }
            Fate::Goes(consent) => consent,
        };
        self.begin(JobPhase::TearDown, None);
        let Ok(Some(workspace)) = self.load_workspace(&workspace.id).await else { return };
        let own = Some(&self.job.id);
        match engine.let_go(&self.context, &workspace, Sweep::Teardown, &consent, own, &|_| {}).await {
            Ok(_) => {
                self.begin(JobPhase::TearDown, Some(format!("{} is in the trash", workspace.name)));
                if let Err(error) = self.jobs.purge_trash().await {
                    self.warn(format!("the trash is not looked at: {}", spinney_core::in_full(&error)));
                }
            }
            Err(spinney_engine::Error::Refused { reasons, .. }) => {
                let reasons: Vec<_> =
                    reasons.iter().map(|reason| format!("{} ({})", reason.code, reason.detail())).collect();
                self.begin(JobPhase::TearDown, Some(format!("{} stays: {}", workspace.name, reasons.join(", "))));
            }
            Err(error) => self.warn(format!("{} stays: {}", workspace.name, error.in_full())),
        }
    }

    async fn load_workspace(&self, id: &spinney_core::WorkspaceId) -> Result<Option<spinney_core::Workspace>> {
        let store = self.jobs.engine.store();
        through(async || Ok(store.read().await?.workspace(id).await?)).await
    }
}
