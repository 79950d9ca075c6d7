//! Workspaces whose job ended without its teardown: they go by the same policy, only later.

use spinney_core::config::Keep;
use spinney_core::{Push, Timestamp, WorkKind, Workspace};

use crate::context::Context;
use crate::{Engine, Result};

impl Engine {
    /// Why the policy of a workspace's last job lets it go; none where it keeps it, or nothing is known of it.
    pub(super) async fn left_by_its_job(&self, context: &Context, workspace: &Workspace) -> Result<Option<String>> {
        let last = self.store.read().await?.jobs_in(&workspace.id, 1).await?.pop();
        let Some(job) = last.filter(|job| job.status.is_final()) else { return Ok(None) };
        let agents = &context.config().agents;
        let Some(agent) = job.agent.parse().ok().and_then(|name| agents.get(&name)) else { return Ok(None) };
        let delivered = job.outcome.finished
            && matches!(job.outcome.push, Some(Push::Pushed | Push::Nothing | Push::Off | Push::NoRemote));
        let goes = match agent.workspace.keep {
            Keep::Auto => delivered && workspace.work.kind == WorkKind::Job,
            Keep::UntilDelivered => delivered,
            Keep::UntilClosed => false,
            Keep::For(span) => job.ended_at.is_some_and(|ended| ended.plus(span.0) <= Timestamp::now()),
        };
        Ok(goes.then(|| format!("job {} ended without taking it away", job.id)))
    }
}
