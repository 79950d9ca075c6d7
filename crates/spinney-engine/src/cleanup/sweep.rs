//! One sweep over repositories and their workspaces.

use std::time::Duration;

use spinney_core::{
    Consent, Forge, JobId, Merge, ReasonCode, Remover, Repository, Sweep, Timestamp, Verdict, Workspace,
    WorkspaceStatus,
};

use spinney_git::Wanted;

use super::{Kept, Report, What};
use crate::context::Context;
use crate::lookup::Among;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::remove::Removed;
use crate::trash::size_on_disk;
use crate::verdict::{Beside, ForgeWord};
use crate::{Engine, Error, Result};

/// Why a workspace would go.
enum Cause {
    Merged(String),
    Closed(String),
    Stale(String),
}

/// What a sweep does with each workspace.
struct Turn {
    what: What,
    dry_run: bool,
    forge: Option<Box<dyn Forge>>,
}

impl Turn {
    /// What the forge says of a workspace's branch. Without a forge, a pull request that is known is taken for open. One
    /// that gave no answer is asked no more.
    async fn ask_forge(&mut self, workspace: &Workspace, observer: Observer<'_>) -> Option<ForgeWord> {
        let Some(forge) = &self.forge else {
            let open = workspace.pull_request.clone()?;
            return Some(ForgeWord { open: Some(open), ..ForgeWord::default() });
        };
        let (word, fault) = Engine::forge_word(&**forge, workspace).await;
        if let Some(fault) = fault {
            let what = format!("pull requests that are known are taken for open: {fault}");
            observer(Notice::Warning(Warning::Minor { what }));
            self.forge = None;
        }
        Some(word)
    }
}

impl Engine {
    /// Sweeps repositories; the caller is the sweeper.
    pub async fn sweep(
        &self,
        repositories: Vec<Repository>,
        what: What,
        dry_run: bool,
        observer: Observer<'_>,
    ) -> Result<Report> {
        let mut report = Report::default();
        for repository in repositories {
            let name = repository.name.to_string();
            if let Err(error) = self.sweep_repository(repository, what, dry_run, &mut report, observer).await {
                report.failed.push((name, error.in_full()));
            }
        }
        Ok(report)
    }

    async fn sweep_repository(
        &self,
        repository: Repository,
        what: What,
        dry_run: bool,
        report: &mut Report,
        observer: Observer<'_>,
    ) -> Result<()> {
        let context = self.known_repository(repository).await?;
        // What reconciling takes in now is a sweep's only in the next run: its owner has not seen it yet.
        let known = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        if what.orphans {
            let findings = self.reconcile(&context, dry_run).await?;
            report.findings.extend(findings);
        }
        if what.merged || what.stale {
            self.refresh_base(&context, observer).await?;
        }
        if what.stale || what.orphans {
            report.findings.extend(self.sweep_reading(&context, dry_run, observer).await?);
        }
        let forge = self.forge_of_sweep(&context, what, observer).await;
        let mut turn = Turn { what, dry_run, forge };
        for workspace in known {
            // A sweep is long; the row is read anew when its turn comes.
            let row = self.store.read().await?.workspace(&workspace.id).await?;
            let Some(workspace) = row.filter(|row| row.status.is_live()) else { continue };
            let name = workspace.name.to_string();
            observer(Notice::Phase(Phase::Sweeping { workspace: name.clone() }));
            if let Err(error) = self.sweep_workspace(&context, workspace, &mut turn, report, observer).await {
                report.failed.push((name, error.in_full()));
            }
        }
        Ok(())
    }

    /// The forge that a sweep asks; none where there is none, or it can't be spoken to.
    async fn forge_of_sweep(&self, context: &Context, what: What, observer: Observer<'_>) -> Option<Box<dyn Forge>> {
        if !(what.merged || what.stale) {
            return None;
        }
        match self.hasty_forge(context).await {
            Ok(forge) => forge,
            Err(error) => {
                observer(Notice::Warning(Warning::Minor { what: error.in_full() }));
                None
            }
        }
    }

    /// Fetches once, so that merges are judged against what the remote has now. A failure is told, and what is known is
    /// used: it can only make the sweep keep more.
    async fn refresh_base(&self, context: &Context, observer: Observer<'_>) -> Result<()> {
        let Some(remote) = self.remote(context).await? else { return Ok(()) };
        observer(Notice::Phase(Phase::Fetching { remote: remote.name.clone() }));
        let credential = self.credential(&context.repository)?;
        let live = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        let mut branches: Vec<_> = live.into_iter().filter_map(|workspace| workspace.base_branch).collect();
        branches.sort();
        branches.dedup();
        // Nothing is pruned here: a tracking branch may be the last that leads to a commit.
        let wanted = Wanted { default_branch: true, branches, pulls: Vec::new() };
        let before = context.load_known(&remote.name, &wanted);
        let fetched = context.fetch(&remote.name, &wanted, Duration::ZERO, credential.as_ref()).await;
        if let Err(error) = fetched {
            let at = before.map(|known| known.at).or_else(|| context.load_fetched_by_hand(&remote.name));
            let age = at.map(|at| at.elapsed());
            let warning = Warning::FetchFailed { remote: remote.name, cause: error.to_string(), age };
            observer(Notice::Warning(warning));
        }
        Ok(())
    }

    async fn sweep_workspace(
        &self,
        context: &Context,
        workspace: Workspace,
        turn: &mut Turn,
        report: &mut Report,
        observer: Observer<'_>,
    ) -> Result<()> {
        let (what, dry_run) = (turn.what, turn.dry_run);
        if what.caches
            && let Some(cleaned) = self.clean_caches(context, &workspace, dry_run).await?
        {
            report.caches.push(cleaned);
        }
        if !(what.merged || what.stale) || !is_sweepable(workspace.status) {
            return Ok(());
        }
        let sweep = if what.merged { Sweep::Merged } else { Sweep::Stale };
        let word = turn.ask_forge(&workspace, observer).await;
        let judge = async |sweep| self.judge_told(context, &workspace, Remover::Sweep(sweep), word.as_ref()).await;
        let verdict = judge(sweep).await?;
        let Some(cause) = self.cause(context, &workspace, &verdict, word.as_ref(), what).await? else {
            // Not stale is no reason to tell; not merged, or merged and held back, is.
            let reasons = if what.merged { self.blockers(&verdict) } else { Vec::new() };
            if !reasons.is_empty() {
                report.kept.push(Kept { workspace, reasons });
            }
            return Ok(());
        };
        let verdict = match cause {
            Cause::Merged(_) => verdict,
            Cause::Closed(_) => judge(Sweep::Close).await?,
            Cause::Stale(_) => judge(Sweep::Stale).await?,
        };
        let blockers = self.blockers(&verdict);
        if !blockers.is_empty() {
            report.kept.push(Kept { workspace, reasons: blockers });
            return Ok(());
        }
        let (Cause::Merged(why) | Cause::Closed(why) | Cause::Stale(why)) = &cause;
        if dry_run {
            report.bytes += size_on_disk(&workspace.path).unwrap_or(0);
            report.removed.push((workspace, why.clone()));
            return Ok(());
        }
        let removed = self.remove_judged(context, &workspace, &verdict, Remover::Sweep(sweep), None, observer).await?;
        if matches!(cause, Cause::Stale(_)) && self.config.cleanup.prune_unmerged_branches {
            self.prune_branch(context, &removed.workspace).await?;
        }
        report.removed.push((removed.workspace, why.clone()));
        Ok(())
    }

    /// Removes one workspace for what ended its use, not for a person: what the verdict holds back stays, but for what was
    /// agreed to beforehand. For a job that removes its own workspace, neither that it runs itself nor the pull request
    /// that it delivered is a reason.
    pub async fn let_go(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        own: Option<&JobId>,
        observer: Observer<'_>,
    ) -> Result<Removed> {
        let verdict = self.judge_letting_go(context, workspace, sweep, consent, own).await?;
        self.remove_judged(context, workspace, &verdict, Remover::Sweep(sweep), own, observer).await
    }

    /// The verdict by which [`Engine::let_go`] would remove a workspace; [`Error::Refused`] where it would not.
    pub async fn judge_letting_go(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        own: Option<&JobId>,
    ) -> Result<Verdict> {
        if !is_sweepable(workspace.status) {
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        // Nobody asks the forge here: a pull request that is known is taken for open.
        let open = workspace.pull_request.clone().filter(|_| own.is_none());
        let word = open.map(|open| ForgeWord { open: Some(open), ..ForgeWord::default() });
        let beside = Beside { own, forge: word.as_ref() };
        let verdict = self.judge_beside(context, workspace, Remover::Sweep(sweep), beside).await?;
        let mut reasons = self.blockers(&verdict);
        reasons.retain(|reason| !consent.covers(reason));
        if !reasons.is_empty() {
            return Err(Error::Refused { name: workspace.name.clone(), reasons });
        }
        Ok(verdict)
    }

    /// Why a workspace would go, if it would.
    async fn cause(
        &self,
        context: &Context,
        workspace: &Workspace,
        verdict: &Verdict,
        word: Option<&ForgeWord>,
        what: What,
    ) -> Result<Option<Cause>> {
        if what.merged
            && let Merge::Merged(evidence) = &verdict.merge
        {
            return Ok(Some(Cause::Merged(evidence.detail.clone())));
        }
        if what.closed
            && let Some(closed) = word.and_then(|word| word.closed.as_ref())
        {
            return Ok(Some(Cause::Closed(format!("{closed} was closed"))));
        }
        if !what.stale || verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Persistent) {
            return Ok(None);
        }
        let (stale_after, max_age) = (self.config.cleanup.stale_after, self.config.cleanup.max_age);
        if !max_age.0.is_zero() && workspace.created_at.elapsed() > max_age.0 {
            return Ok(Some(Cause::Stale(format!("older than {max_age}"))));
        }
        if workspace.metadata.keep_until_ms.is_some_and(|until| until <= Timestamp::now().as_millisecond()) {
            return Ok(Some(Cause::Stale("the time that it was kept for after its job is over".to_owned())));
        }
        let since = Timestamp::now().minus(stale_after.0);
        if !stale_after.0.is_zero() && self.is_quiet_since(context, workspace, since).await? {
            return Ok(Some(Cause::Stale(format!("nothing happened in it for {stale_after}"))));
        }
        Ok(None)
    }

    /// What stops a sweep. Adopted trees are let go where the configuration says so.
    pub(crate) fn blockers(&self, verdict: &Verdict) -> Vec<spinney_core::Reason> {
        let allowed = |code: ReasonCode| code == ReasonCode::Adopted && self.config.cleanup.adopted;
        verdict.blockers(&Consent::None).filter(|reason| !allowed(reason.code)).cloned().collect()
    }
}

/// What a sweep may take: a removal that failed before is tried again.
fn is_sweepable(status: WorkspaceStatus) -> bool {
    matches!(status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken)
}
