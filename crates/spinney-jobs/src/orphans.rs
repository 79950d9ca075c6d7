//! Workspaces whose job ended without its teardown: its process died, or something stood in the way. They follow the rules
//! of a job that ends now. Running work never does, whatever its age.

use spinney_core::{Job, Repository, Sweep, Workspace};
use spinney_engine::notice::Observer;
use spinney_engine::{Among, Context, Error, Kept, Report};

use crate::keep::{self, Fate};
use crate::{Agent, Jobs, Result};

impl Jobs<'_> {
    /// Lets the orphans of repositories go, and adds to a sweep's report what became of them.
    pub(crate) async fn sweep_orphans(
        &self,
        repositories: &[Repository],
        dry_run: bool,
        report: &mut Report,
        observer: Observer<'_>,
    ) -> Result<()> {
        for repository in repositories {
            let name = repository.name.to_string();
            // What is wrong with the repository itself was told by the sweep.
            let Ok(context) = self.engine.repository(Some(&name), self.engine.home().root()).await else { continue };
            for workspace in self.engine.workspaces(Some(&repository.id), Among::Live).await? {
                let name = workspace.name.to_string();
                if let Err(error) = self.sweep_orphan(&context, workspace, dry_run, report, observer).await {
                    report.failed.push((name, spinney_core::in_full(&error)));
                }
            }
        }
        Ok(())
    }

    async fn sweep_orphan(
        &self,
        context: &Context,
        workspace: Workspace,
        dry_run: bool,
        report: &mut Report,
        observer: Observer<'_>,
    ) -> Result<()> {
        let Some(job) = self.load_last_job(&workspace).await? else { return Ok(()) };
        // Nobody knows what an agent wanted that is not there any more.
        let Ok(agent) = self.agent_of(context, &job).await else { return Ok(()) };
        let policy = &agent.config.workspace;
        let consent = match keep::fate(policy, &job, keep::ended_as(policy, &job)) {
            Fate::Stays => return Ok(()),
            Fate::StaysFor(span) => {
                if workspace.metadata.keep_until_ms.is_none() && !dry_run {
                    self.engine.keep_for(&workspace, span).await?;
                }
                return Ok(());
            }
            Fate::Goes(consent) => consent,
        };
        let (sweep, own) = (Sweep::Teardown, Some(&job.id));
        let gone = match dry_run {
            true => {
                self.engine.judge_letting_go(context, &workspace, sweep, &consent, own).await.map(|_| workspace.clone())
            }
            false => {
                let removed = self.engine.let_go(context, &workspace, sweep, &consent, own, observer).await;
                removed.map(|removed| removed.workspace)
            }
        };
        match gone {
            Ok(gone) => report.removed.push((gone, format!("job {} is over, and did not let it go", job.id))),
            Err(Error::Refused { reasons, .. }) => {
                // What the sweep for merged ones has told is not told again.
                if report.kept.iter().all(|kept| kept.workspace.id != workspace.id) {
                    report.kept.push(Kept { workspace, reasons });
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The job that had a workspace to itself last, if it is over, none is to follow, and nobody used the workspace since.
    async fn load_last_job(&self, workspace: &Workspace) -> Result<Option<Job>> {
        let mut db = self.engine.store().read().await?;
        let Some(job) = db.jobs_in(&workspace.id, 1).await?.pop() else { return Ok(None) };
        let place = Some(workspace.id.to_string());
        let is_meant = |other: &Job| other.place == place || other.work == job.work;
        let unfinished = db.unfinished_jobs(self.engine.home().node()).await?;
        let is_over = job.status.is_final() && !unfinished.iter().any(is_meant);
        // Who restored it, or asked for it, wants it.
        let is_unused = job.ended_at.is_some_and(|ended| workspace.last_activity_at <= ended);
        Ok(Some(job).filter(|job| is_over && is_unused && job.place == place))
    }

    async fn agent_of(&self, context: &Context, job: &Job) -> Result<Agent> {
        let name =
            job.agent.parse().map_err(|_| crate::Error::UnknownAgent { name: job.agent.clone(), known: Vec::new() })?;
        match &job.request.configured_in {
            None => Agent::find(context, &name),
            Some(other) => {
                let other = self.engine.repository(Some(&other.to_string()), self.engine.home().root()).await?;
                Agent::find(&other, &name)
            }
        }
    }
}
