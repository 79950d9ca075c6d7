//! What jobs left behind. Running work never counts, whatever its age.
//!
//! - **Orphans**: workspaces whose job ended without its teardown, because its process died or something stood in the way.
//!   They follow the rules of a job that ends now.
//! - **Abandoned**: workspaces that a job made, whose last job ended badly, and in which nothing happened for
//!   `cleanup.abandoned_after`. They go although they are dirty or unpushed: the trash keeps them whole.

use spinney_core::{Consent, Job, JobId, Push, Reason, Repository, Sweep, Timestamp, Workspace, WorkspaceStatus};
use spinney_engine::notice::Observer;
use spinney_engine::{Among, Caches, Context, Error, Kept, Report, What};

use crate::runner::keep::{self, Fate};
use crate::{Agent, Jobs, Result};

/// A sweep for what jobs left, while it goes on.
struct Turn<'a> {
    what: What,
    dry_run: bool,
    report: &'a mut Report,
    observer: &'a dyn Observer,
}

impl Turn<'_> {
    /// What the sweep for merged ones has told is not told again.
    fn keep(&mut self, workspace: Workspace, reasons: Vec<Reason>) {
        if self.report.kept.iter().all(|kept| kept.workspace.id != workspace.id) {
            self.report.kept.push(Kept { workspace, reasons });
        }
    }
}

/// A workspace that may go, and why.
struct Going<'a> {
    sweep: Sweep,
    consent: Consent,
    /// The job that lets its own workspace go.
    own: Option<&'a JobId>,
    why: String,
}

/// The last job that had a workspace to itself.
struct LastJob {
    job: Job,
    /// Whether nobody asked for the workspace since.
    is_unused: bool,
}

impl Jobs<'_> {
    /// Lets go what jobs left in repositories, and adds to a sweep's report what became of it.
    pub(crate) async fn sweep_left(
        &self,
        repositories: &[Repository],
        what: What,
        dry_run: bool,
        report: &mut Report,
        observer: &dyn Observer,
    ) -> Result<()> {
        let mut turn = Turn { what, dry_run, report, observer };
        for repository in repositories {
            let name = repository.name.to_string();
            // What is wrong with the repository itself was told by the sweep.
            let Ok(context) = self.engine.find_context(Some(&name), self.engine.home().root()).await else { continue };
            for workspace in self.engine.workspaces(Some(&repository.id), Among::Live).await? {
                let name = workspace.name.to_string();
                if let Err(error) = self.sweep_one(&context, workspace, &mut turn).await {
                    turn.report.failed.push((name, spinney_core::in_full(&error)));
                }
            }
        }
        Ok(())
    }

    async fn sweep_one(&self, context: &Context, workspace: Workspace, turn: &mut Turn<'_>) -> Result<()> {
        let Some(last) = self.load_last_job(&workspace).await? else { return Ok(()) };
        if self.is_abandoned(context, &workspace, &last.job).await? {
            let why =
                self.words.abandoned(&last.job.id, last.job.status, &self.engine.config().cleanup.abandoned_after);
            let going = Going { sweep: Sweep::Abandoned, consent: Consent::None, own: None, why };
            return self.let_go(context, workspace, going, turn).await;
        }
        // Who restored it, or asked for it, wants it.
        if turn.what.orphans && last.is_unused {
            return self.sweep_orphan(context, workspace, &last.job, turn).await;
        }
        Ok(())
    }

    async fn sweep_orphan(
        &self,
        context: &Context,
        workspace: Workspace,
        job: &Job,
        turn: &mut Turn<'_>,
    ) -> Result<()> {
        // Nobody knows what an agent wanted that is not there any more.
        let Ok(agent) = self.agent_of(context, job).await else { return Ok(()) };
        let policy = &agent.config.workspace;
        let consent = match keep::fate(policy, job, keep::ended_as(policy, job), self.may_resume(job).await) {
            Fate::Stays => return Ok(()),
            Fate::StaysFor(span) => {
                if workspace.metadata.keep_until_ms.is_none() && !turn.dry_run {
                    self.engine.keep_for(&workspace, span).await?;
                }
                return Ok(());
            }
            Fate::Goes(consent) => consent,
        };
        let why = self.words.orphan(&job.id);
        let going = Going { sweep: Sweep::Teardown, consent, own: Some(&job.id), why };
        self.let_go(context, workspace, going, turn).await
    }

    /// Whether nobody came back to what a job left that ended badly. A person who asks for the workspace, or works in it,
    /// is waited for as long again. What is held for a person is never taken.
    async fn is_abandoned(&self, context: &Context, workspace: &Workspace, job: &Job) -> Result<bool> {
        let after = self.engine.config().cleanup.abandoned_after.0;
        let is_meant = workspace.status == WorkspaceStatus::Active
            && workspace.metadata.made_by_job.is_some()
            && keep::is_bad_end(job.status)
            && job.outcome.push != Some(Push::Held);
        let since = Timestamp::now().minus(after);
        if after.is_zero() || !is_meant || job.ended_at.is_none_or(|ended| ended > since) {
            return Ok(false);
        }
        Ok(self.engine.is_quiet_since(context, workspace, since, Caches::Count).await?)
    }

    async fn let_go(
        &self,
        context: &Context,
        workspace: Workspace,
        going: Going<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<()> {
        let Going { sweep, consent, own, why } = going;
        // What store and refs rule out takes no look at its files.
        if let Some(reasons) = self.engine.ruled_out(context, &workspace, sweep, &consent, own).await? {
            turn.keep(workspace, reasons);
            return Ok(());
        }
        let gone = match turn.dry_run {
            true => {
                self.engine.judge_letting_go(context, &workspace, sweep, &consent, own).await.map(|_| workspace.clone())
            }
            false => {
                let removed = self.engine.let_go(context, &workspace, sweep, &consent, own, turn.observer).await;
                removed.map(|removed| removed.workspace)
            }
        };
        match gone {
            Ok(gone) => {
                turn.report.kept.retain(|kept| kept.workspace.id != gone.id);
                turn.report.removed.push((gone, why));
            }
            Err(Error::Refused { reasons, .. }) => turn.keep(workspace, reasons),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The job that had a workspace to itself last, if it is over and none is to follow.
    async fn load_last_job(&self, workspace: &Workspace) -> Result<Option<LastJob>> {
        let mut db = self.engine.store().read().await?;
        let Some(job) = db.jobs_in(&workspace.id, 1).await?.pop() else { return Ok(None) };
        let place = Some(workspace.id.to_string());
        let is_meant = |other: &Job| other.place == place || other.work == job.work;
        let unfinished = db.unfinished_jobs(self.engine.home().node()).await?;
        let is_over = job.status.is_final() && !unfinished.iter().any(is_meant);
        let is_unused = job.ended_at.is_some_and(|ended| workspace.last_activity_at <= ended);
        Ok((is_over && job.place == place).then_some(LastJob { job, is_unused }))
    }

    async fn agent_of(&self, context: &Context, job: &Job) -> Result<Agent> {
        let name =
            job.agent.parse().map_err(|_| crate::Error::UnknownAgent { name: job.agent.clone(), known: Vec::new() })?;
        match &job.request.configured_in {
            None => Agent::find(context, &name),
            Some(other) => {
                let other = self.engine.find_context(Some(&other.to_string()), self.engine.home().root()).await?;
                Agent::find(&other, &name)
            }
        }
    }
}
