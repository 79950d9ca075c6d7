//! Tears a job's workspace down, by the agent's `keep`. It is a sweep: what the verdict keeps, stays.

use spinney_core::{JobPhase, JobStatus, Sweep};

use super::Run;
use super::setup::JobPlace;
use crate::jobs::reopen::has_tries_left;
use crate::maintenance::outage::through;
use crate::runner::keep::{self, Fate};
use crate::told::{Detail, Warning};
use crate::{Error, Result};

impl Run<'_> {
    pub(super) async fn tear_down(&mut self, place: JobPlace, status: JobStatus) {
        let Some(workspace) = place.workspace() else { return self.stop_reading(place).await };
        let engine = self.jobs.engine;
        let goes_on = status == JobStatus::Interrupted && has_tries_left(&self.job, &self.agent);
        let consent = match keep::fate(&self.agent.config.workspace, &self.job, status, goes_on) {
            Fate::Stays => return,
            Fate::StaysFor(span) => {
                if let Err(error) = through(async || Ok::<_, Error>(engine.keep_for(workspace, span).await?)).await {
                    self.warn(&Warning::KeepUnnoted { workspace: workspace.name.clone(), error: error.into() });
                }
                return;
            }
            Fate::Goes(consent) => consent,
        };
        self.begin(JobPhase::TearDown);
        let Ok(Some(workspace)) = self.load_workspace(&workspace.id).await else { return };
        let (name, own) = (workspace.name.clone(), Some(&self.job.id));
        match engine.let_go(&self.context, &workspace, Sweep::Teardown, &consent, own, &|_| {}).await {
            Ok(_) => {
                self.begin_with(JobPhase::TearDown, &Detail::Trashed { workspace: name });
                if let Err(error) = self.jobs.purge_trash().await {
                    self.warn(&Warning::TrashUnseen(error.into()));
                }
            }
            Err(spinney_engine::Error::Refused { reasons, .. }) => {
                self.begin_with(JobPhase::TearDown, &Detail::Stays { workspace: name, reasons });
            }
            Err(error) => self.warn(&Warning::Stays { workspace: name, error: error.into() }),
        }
    }

    async fn load_workspace(&self, id: &spinney_core::WorkspaceId) -> Result<Option<spinney_core::Workspace>> {
        let store = self.jobs.engine.store();
        through(async || Ok(store.read().await?.workspace(id).await?)).await
    }
}
