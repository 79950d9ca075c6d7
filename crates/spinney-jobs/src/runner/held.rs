//! What is held for a person before a push: commits with a file that Spinney copied, and a branch that lost commits.
//!
//! The commits that a branch has when a job begins are pinned ([`spinney_engine::tip_ref`]). The pin goes when the job is over and the commits are still there; otherwise it
//! stays, and the job names it.

use std::collections::BTreeSet;

use spinney_core::{Advice, Began, CommitId, Dropped, Held, HeldFile, Push, Workspace};
use spinney_engine::Tree;

use super::{End, Run, Step, Why};
use crate::delivery::held::{find_copied, find_dropped, safe_commits};
use crate::told::{Copied, Failure, Warning};

impl Run<'_> {
    /// Pins the commits that are not known to be safe without the branch.
    pub(super) async fn pin_tips(&self, workspace: &Workspace, began: &Began) -> Step<()> {
        for tip in &began.tips {
            self.context.keep_tip(workspace, tip, &safe_commits(workspace)).await?;
        }
        Ok(())
    }

    /// Looks which commits are not on the branch any more, and names them on the job. Gives the tips that had them.
    async fn find_dropped(&mut self, workspace: &Workspace, tree: &Tree) -> Step<BTreeSet<CommitId>> {
        let Some(tips) = self.stock.as_ref().map(|stock| stock.began.tips.clone()) else { return Ok(BTreeSet::new()) };
        let found = find_dropped(self.jobs.engine, &self.context, workspace, tree, tips).await?;
        let (dropped, from) = found.unzip();
        self.job.outcome.dropped = dropped;
        Ok(from.unwrap_or_default())
    }

    /// Ends the job where a person has to look before its commit is pushed.
    pub(super) async fn hold(&mut self, workspace: &Workspace, tree: &Tree, commit: &CommitId) -> Step<()> {
        self.job.outcome.held = None;
        let is_dropped = !self.find_dropped(workspace, tree).await?.is_empty();
        let has_copies = self.stock.as_ref().is_some_and(|stock| stock.copies.anywhere.has_copies());
        let is_pushed = has_copies
            && self.agent.config.workspace.push_on_success
            && self.jobs.engine.remote(&self.context).await?.is_some();
        let copied = self.find_copied(workspace, commit, is_pushed).await?;
        if self.job.outcome.accepted.as_ref() == Some(commit) {
            self.job.outcome.dropped = None;
            if !copied.is_empty() {
                self.jobs.engine.record_accepted(workspace, commit).await?;
            }
            return Ok(());
        }
        let job = self.job.id.clone();
        let (mut held, mut advice) = (None, Vec::new());
        if !copied.is_empty() {
            let name = workspace.name.clone();
            let paths: BTreeSet<String> = copied.iter().map(|file| file.path.clone()).collect();
            let paths = paths.into_iter().collect();
            if is_pushed {
                held = Some(Copied { workspace: name, paths, first: copied[0].commit.clone() });
                advice.extend([
                    Advice::TakeOutAndRetry { job: job.clone() },
                    Advice::AcceptHeld { job: job.clone(), without_lost: false },
                ]);
            } else {
                self.warn(&Warning::Copied { workspace: name, paths });
            }
        }
        let dropped = self.job.outcome.dropped.clone().filter(|_| is_dropped);
        if let Some(dropped) = &dropped {
            advice.push(merge_back(workspace, dropped));
            advice.push(Advice::AcceptHeld { job, without_lost: true });
        }
        if held.is_none() && dropped.is_none() {
            return Ok(());
        }
        self.job.outcome.push = Some(Push::Held);
        self.job.outcome.held = Some(Held { commit: commit.clone(), copied });
        self.record().await?;
        Err(End::Failed(Why::new(Failure::Held { copied: held, dropped }, advice)))
    }

    async fn find_copied(&self, workspace: &Workspace, commit: &CommitId, is_pushed: bool) -> Step<Vec<HeldFile>> {
        let Some(stock) = &self.stock else { return Ok(Vec::new()) };
        Ok(find_copied(self.jobs.engine, &self.context, workspace, commit, &stock.copies, is_pushed).await?)
    }

    /// When the job is over: drops the pins of what is still on the branch, and gives what is not.
    pub(super) async fn settle_tips(
        &mut self,
        workspace: &Workspace,
        tree: &Tree,
        completed: bool,
    ) -> Step<BTreeSet<CommitId>> {
        let accepted = completed && self.job.outcome.accepted.is_some();
        let was_told = self.job.outcome.held.is_some();
        let dropped = self.find_dropped(workspace, tree).await?;
        if accepted {
            self.job.outcome.dropped = None;
            return Ok(BTreeSet::new());
        }
        if let Some(lost) = self.job.outcome.dropped.clone().filter(|_| !dropped.is_empty() && !was_told) {
            let advice = merge_back(workspace, &lost);
            let warning = Warning::Dropped(lost);
            self.warn_advised(&warning, vec![advice.clone()]);
            let text = self.words().warning(&warning);
            let error = self.job.outcome.error.take();
            self.job.outcome.error = Some(error.map_or(text.clone(), |error| format!("{error}; {text}")));
            self.job.outcome.advice.push(advice);
        }
        let tips = self.stock.as_ref().map(|stock| stock.began.tips.clone()).unwrap_or_default();
        for tip in tips.difference(&dropped) {
            self.context.release_tip(workspace, tip).await?;
        }
        Ok(dropped)
    }
}

/// What brings lost commits back.
fn merge_back(workspace: &Workspace, dropped: &Dropped) -> Advice {
    Advice::MergeBack { workspace: workspace.name.clone(), refs: dropped.refs.join(" ") }
}
