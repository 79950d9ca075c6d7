//! Tears a job's workspace down, by the agent's `keep`. It is a sweep: what the verdict keeps, stays.

use spinney_core::config::Keep;
use spinney_core::{Consent, JobPhase, JobStatus, Push, ReasonCode, Sweep, WorkKind};

use super::Run;
use super::setup::Place;

/// What somebody lets go who sets `cleanup_on_failure`: a failed job's own doing, which the trash keeps whole. What is
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

impl Run<'_> {
    pub(super) async fn tear_down(&mut self, place: &Place, status: JobStatus) {
        let Some(workspace) = place.own_workspace() else { return };
        let policy = &self.agent.config.workspace;
        let delivered = status == JobStatus::Completed
            && matches!(self.job.outcome.push, Some(Push::Pushed | Push::Nothing | Push::Off | Push::NoRemote));
        let (goes, keep_for) = match policy.keep {
            Keep::Auto => (delivered && self.job.work.kind == WorkKind::Job, None),
            Keep::UntilDelivered => (delivered, None),
            Keep::UntilClosed => (false, None),
            Keep::For(span) => (false, Some(span)),
        };
        let failed = status == JobStatus::Failed && policy.cleanup_on_failure;
        let engine = self.jobs.engine;
        if let Some(span) = keep_for
            && let Err(error) = engine.keep_for(workspace, span.0).await
        {
            return self.warn(format!("how long {} is to be kept could not be noted: {error}", workspace.name));
        }
        if !goes && !failed {
            return;
        }
        self.begin(JobPhase::TearDown, None);
        let Ok(Some(workspace)) = self.load_workspace(&workspace.id).await else { return };
        let consent = if failed { Consent::Codes(OF_A_FAILURE.into()) } else { Consent::None };
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
                    reasons.iter().map(|reason| format!("{} ({})", reason.code, reason.detail)).collect();
                self.begin(JobPhase::TearDown, Some(format!("{} stays: {}", workspace.name, reasons.join(", "))));
            }
            Err(error) => self.warn(format!("{} stays: {}", workspace.name, error.in_full())),
        }
    }

    async fn load_workspace(
        &self,
        id: &spinney_core::WorkspaceId,
    ) -> Result<Option<spinney_core::Workspace>, spinney_store::Error> {
        self.jobs.engine.store().read().await?.workspace(id).await
    }
}
