//! One sweep over repositories and their workspaces.
//!
//! 1. Base is fetched once. What an earlier sweep found out about merges is read.
//! 2. Of each workspace, store and refs are asked first, then the forge where it was pushed. Most stay by their word.
//! 3. What could go is proved with the whole verdict, which walks its tree, and goes.
//! 4. Branches that Spinney made, whose workspaces had gone before, are looked at.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{
    Consent, JobId, Merge, Reason, ReasonCode, Remover, Repository, Sweep, Timestamp, Verdict, Workspace,
    WorkspaceStatus,
};

use spinney_git::Wanted;

use super::{Caches, ForgeAsked, Kept, Report, What};
use crate::inspect::crowd::ask_all;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::trash::remove::Removed;
use crate::trash::size_on_disk;
use crate::verdict::{Beside, ForgeWord, Glance};
use crate::{Engine, Error, Result};

/// Why a workspace would go.
enum Cause {
    Merged(String),
    Closed(String),
    Stale(String),
    /// Stale, if its files say so, too: nothing happened since.
    Quiet(Timestamp, String),
}

impl Cause {
    /// The sweep that takes it.
    fn sweep(&self) -> Sweep {
        match self {
            Self::Merged(_) => Sweep::Merged,
            Self::Closed(_) => Sweep::Close,
            Self::Stale(_) | Self::Quiet(..) => Sweep::Stale,
        }
    }

    fn why(&self) -> String {
        let (Self::Merged(why) | Self::Closed(why) | Self::Stale(why) | Self::Quiet(_, why)) = self;
        why.clone()
    }
}

/// What a sweep does with each workspace.
struct Turn {
    what: What,
    dry_run: bool,
    forge: ForgeAsked,
}

impl Engine {
    /// Sweeps repositories; the caller is the sweeper.
    #[boxed]
    pub async fn sweep(
        &self,
        repositories: Vec<Repository>,
        what: What,
        dry_run: bool,
        observer: &dyn Observer,
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
        observer: &dyn Observer,
    ) -> Result<()> {
        let context = self.known_repository(repository).await?;
        // What reconciling takes in now is a sweep's only in the next run: its owner has not seen it yet.
        let known = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        if what.orphans {
            let findings = self.reconcile(&context, dry_run).await?;
            report.findings.extend(findings);
        }
        if what.merged || what.stale {
            self.fetch_base(&context, observer).await?;
            context.load_remembered().await;
            // Many are asked at once; each alone is quick then.
            ask_all(known.iter().map(|workspace| self.glance_at_refs(&context, workspace, None))).await;
            // What is broken there, `doctor` tells; it keeps nothing else from being swept.
            match self.sweep_rescues(&context, dry_run).await {
                Ok(findings) => report.findings.extend(findings),
                Err(error) if error.is_cut_off() => return Err(error),
                Err(error) => {
                    let what = format!("rescue refs were not looked at: {}", error.in_full());
                    observer(Notice::Warning(Warning::Minor { what }));
                }
            }
        }
        if what.stale || what.orphans {
            report.findings.extend(self.sweep_reading(&context, dry_run, observer).await?);
        }
        let mut turn = Turn { what, dry_run, forge: ForgeAsked::unopened() };
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
        if !what.is_only_caches() {
            self.sweep_branches(&context, dry_run, &mut turn.forge, report, observer).await?;
        }
        if what.merged || what.stale {
            context.save_remembered();
        }
        Ok(())
    }

    /// Fetches once, so that merges are judged against what the remote has now. A failure is told, and what is known is
    /// used: it can only make the sweep keep more.
    #[boxed]
    pub async fn fetch_base(&self, context: &Context, observer: &dyn Observer) -> Result<()> {
        let Some(remote) = self.remote(context).await? else { return Ok(()) };
        observer(Notice::Phase(Phase::Fetching { remote: remote.name.clone() }));
        let live = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        let left = self.left_branches(context).await?.into_iter().map(|left| left.workspace);
        let mut branches: Vec<_> = live.into_iter().chain(left).filter_map(|workspace| workspace.base_branch).collect();
        branches.sort();
        branches.dedup();
        // Nothing is pruned here: a tracking branch may be the last that leads to a commit.
        let wanted = Wanted { default_branch: true, branches, pulls: Vec::new() };
        let before = context.load_known(&remote.name, &wanted);
        let fetched = self.fetch_from(context, &remote.name, &wanted, Duration::ZERO).await;
        if let Err(error @ Error::TokenMissing { .. }) = fetched {
            return Err(error);
        }
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
        observer: &dyn Observer,
    ) -> Result<()> {
        let (what, dry_run) = (turn.what, turn.dry_run);
        // The forge is asked only about what was pushed.
        let pushed = self.learn_pushed(context, &workspace).await;
        let workspace = Workspace { pushed, ..workspace };
        if what.caches
            && let Some(cleaned) = self.clean_caches(context, &workspace, dry_run).await?
        {
            report.caches.push(cleaned);
        }
        if !(what.merged || what.stale) || !is_sweepable(workspace.status) {
            return Ok(());
        }
        let Some((cause, word)) = self.cause(context, &workspace, turn, report, observer).await? else { return Ok(()) };
        // What store and refs did not rule out is proved now, with its files.
        let remover = Remover::Sweep(cause.sweep());
        let verdict = self.judge_told(context, &workspace, remover, word.as_ref()).await?;
        let blockers = self.blockers(&verdict);
        if !blockers.is_empty() {
            report.kept.push(Kept { workspace, reasons: blockers });
            return Ok(());
        }
        if dry_run {
            report.bytes += size_on_disk(&workspace.path).unwrap_or(0);
            report.removed.push((workspace, cause.why()));
            return Ok(());
        }
        let workspace = self.note_merged_by(workspace, word.as_ref()).await?;
        let removed = self.remove_judged(context, &workspace, &verdict, remover, None, observer).await?;
        if cause.sweep() == Sweep::Stale && self.config.cleanup.prune_unmerged_branches {
            self.prune_branch(context, &removed.workspace).await?;
        }
        report.removed.push((removed.workspace, cause.why()));
        Ok(())
    }

    /// Removes one workspace for what ended its use, not for a person: what the verdict holds back stays, but for what was
    /// agreed to beforehand. For a job that removes its own workspace, neither that it runs itself nor the pull request
    /// that it delivered is a reason.
    #[boxed]
    pub async fn let_go(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        own: Option<&JobId>,
        observer: &dyn Observer,
    ) -> Result<Removed> {
        let verdict = self.judge_letting_go(context, workspace, sweep, consent, own).await?;
        self.remove_judged(context, workspace, &verdict, Remover::Sweep(sweep), own, observer).await
    }

    /// The verdict by which [`Engine::let_go`] would remove a workspace; [`Error::Refused`] where it would not.
    #[boxed]
    pub async fn judge_letting_go(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        own: Option<&JobId>,
    ) -> Result<Verdict> {
        // Nobody asks the forge here: a pull request that is known is taken for open.
        let open = workspace.open_pull_request().filter(|_| own.is_none());
        let word = open.map(|open| ForgeWord { open: Some(open.to_owned()), ..ForgeWord::default() });
        self.judge_letting_go_told(context, workspace, sweep, consent, Beside { own, forge: word.as_ref() }).await
    }

    pub(super) async fn judge_letting_go_told(
        &self,
        context: &Context,
        workspace: &Workspace,
        sweep: Sweep,
        consent: &Consent,
        beside: Beside<'_>,
    ) -> Result<Verdict> {
        if !is_sweepable(workspace.status) {
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        let verdict = self.judge_beside(context, workspace, Remover::Sweep(sweep), beside).await?;
        let mut reasons = self.blockers(&verdict);
        reasons.retain(|reason| !consent.covers(reason));
        if !reasons.is_empty() {
            return Err(Error::Refused { name: workspace.name.clone(), reasons });
        }
        Ok(verdict)
    }

    /// Why a workspace would go, if it would, by what store, refs and forge say; its files are looked at only for when
    /// somebody was at work in them. What is ruled out is told where that is to be told.
    async fn cause(
        &self,
        context: &Context,
        workspace: &Workspace,
        turn: &mut Turn,
        report: &mut Report,
        observer: &dyn Observer,
    ) -> Result<Option<(Cause, Option<ForgeWord>)>> {
        let what = turn.what;
        let first = Remover::Sweep(if what.merged { Sweep::Merged } else { Sweep::Stale });
        let mut keep = |reasons: Vec<Reason>| {
            // Not stale is no reason to tell; not merged, or merged and held back, is.
            if !reasons.is_empty() {
                report.kept.push(Kept { workspace: workspace.clone(), reasons });
            }
            Ok(None)
        };
        let is_lasting = context.config().cleanup.persistent_platforms.contains(&workspace.platform);
        let old = if what.stale && !is_lasting { self.stale_by_row(workspace) } else { None };
        let glance = self.glance(context, workspace, None, None).await?;
        if let Some(glance) = &glance {
            let blockers = self.blocking(glance.reasons(first));
            if glance.is_held(&blockers) {
                return keep(if what.merged || old.is_some() { blockers } else { Vec::new() });
            }
        }
        let word = turn.forge.ask(self, context, workspace, observer).await;
        let seen = match self.told(context, workspace, glance, word.as_ref()).await? {
            Some(glance) => glance,
            None => Glance::of(self.judge_told(context, workspace, first, word.as_ref()).await?),
        };
        let cause = if what.merged
            && let Merge::Merged(evidence) = &seen.merge
        {
            Some(Cause::Merged(evidence.detail.clone()))
        } else if what.closed
            && let Some(closed) = word.as_ref().and_then(|word| word.closed.as_ref())
        {
            Some(Cause::Closed(format!("{closed} was closed")))
        } else {
            old
        };
        let Some(cause) = cause else {
            return keep(if what.merged { self.blocking(seen.reasons(first)) } else { Vec::new() });
        };
        let blockers = self.blocking(seen.reasons(Remover::Sweep(cause.sweep())));
        if !blockers.is_empty() {
            return keep(blockers);
        }
        if let Cause::Quiet(since, _) = &cause
            && !self.is_quiet_since(context, workspace, *since, Caches::DoNotCount).await?
        {
            return keep(if what.merged { self.blocking(seen.reasons(first)) } else { Vec::new() });
        }
        Ok(Some((cause, word)))
    }

    /// What a glance says beside the forge's word.
    async fn told(
        &self,
        context: &Context,
        workspace: &Workspace,
        glance: Option<Glance>,
        word: Option<&ForgeWord>,
    ) -> Result<Option<Glance>> {
        match (glance, word) {
            (Some(_), Some(word)) => self.glance(context, workspace, None, Some(word)).await,
            (glance, _) => Ok(glance),
        }
    }

    /// Why a workspace would be stale, by what the store knows of it.
    fn stale_by_row(&self, workspace: &Workspace) -> Option<Cause> {
        let (stale_after, max_age) = (self.config.cleanup.stale_after, self.config.cleanup.max_age);
        if !max_age.0.is_zero() && workspace.created_at.elapsed() > max_age.0 {
            return Some(Cause::Stale(format!("older than {max_age}")));
        }
        if workspace.metadata.keep_until_ms.is_some_and(|until| until <= Timestamp::now().as_millisecond()) {
            return Some(Cause::Stale("the time that it was kept for after its job is over".to_owned()));
        }
        let since = Timestamp::now().minus(stale_after.0);
        let is_old = !stale_after.0.is_zero() && workspace.last_activity_at <= since;
        is_old.then(|| Cause::Quiet(since, format!("nothing happened in it for {stale_after}")))
    }

    /// What stops a sweep. Adopted trees are let go where the configuration says so.
    pub(crate) fn blockers(&self, verdict: &Verdict) -> Vec<Reason> {
        self.blocking(verdict.reasons.clone())
    }

    pub(crate) fn blocking(&self, mut reasons: Vec<Reason>) -> Vec<Reason> {
        let allowed = |code: ReasonCode| code == ReasonCode::Adopted && self.config.cleanup.adopted;
        reasons.retain(|reason| reason.blocks && !allowed(reason.code));
        reasons
    }
}

/// What a sweep may take: a removal that failed before is tried again.
fn is_sweepable(status: WorkspaceStatus) -> bool {
    matches!(status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken)
}
