//! What is held for a person before a push: commits with a file that Spinney copied, and a branch that lost commits.
//!
//! The commits that a branch has when a job begins are pinned ([`tip_ref`]). The pin goes when the job is over and the commits are still there; otherwise it
//! stays, and the job names it.

use std::collections::BTreeSet;

use spinney_core::{Advice, Began, CommitId, Dropped, DroppedCommit, Held, HeldFile, Push, Workspace, path_text};
use spinney_engine::{Tree, tip_ref};
use spinney_git::Head;

use super::origins::{named, shown};
use super::{End, Run, Step, Why};

/// How many files are named on a job.
const MAX_TOLD: usize = 100;
impl Run<'_> {
    /// Pins the commits that are not known to be safe without the branch.
    pub(super) async fn pin_tips(&self, workspace: &Workspace, began: &Began) -> Step<()> {
        for tip in &began.tips {
            self.context.keep_tip(workspace, tip, &self.safe(workspace)).await?;
        }
        Ok(())
    }

    /// Commits that are safe without the branch.
    fn safe(&self, workspace: &Workspace) -> Vec<CommitId> {
        let pushed = workspace.metadata.pushed_commit.clone();
        [workspace.base_commit.clone()].into_iter().chain(pushed).collect()
    }

    /// Looks which commits are not on the branch any more, and names them on the job. Gives the tips that had them.
    async fn find_dropped(&mut self, workspace: &Workspace, tree: &Tree) -> Step<BTreeSet<CommitId>> {
        let Some(tips) = self.stock.as_ref().map(|stock| stock.began.tips.clone()) else { return Ok(BTreeSet::new()) };
        let head = tree.load_head().await?;
        let mut kept = self.safe(workspace);
        kept.extend(head.commit().cloned());
        if matches!(head, Head::Detached { .. }) {
            kept.extend(tree.load_branch(&workspace.branch).await?);
        }
        let mut is_asked = false;
        let mut dropped = Dropped { refs: Vec::new(), count: 0, commits: Vec::new() };
        let mut from = BTreeSet::new();
        for tip in tips {
            let mut missing = self.context.count_missing(&tip, &kept).await?;
            if missing.count > 0 && !is_asked {
                is_asked = true;
                // A remote that gives no answer has nothing for sure.
                kept.extend(self.jobs.engine.remote_tips(&self.context).await.unwrap_or_default());
                missing = self.context.count_missing(&tip, &kept).await?;
            }
            if missing.count == 0 {
                continue;
            }
            dropped.refs.push(tip_ref(workspace, &tip));
            dropped.count += missing.count;
            let commit = |(commit, subject)| DroppedCommit { commit, subject };
            dropped.commits.extend(missing.first.into_iter().map(commit));
            kept.push(tip.clone());
            from.insert(tip);
        }
        self.job.outcome.dropped = (!from.is_empty()).then_some(dropped);
        Ok(from)
    }

    /// Ends the job where a person has to look before its commit is pushed.
    pub(super) async fn hold(&mut self, workspace: &Workspace, tree: &Tree, commit: &CommitId) -> Step<()> {
        self.job.outcome.held = None;
        let is_dropped = !self.find_dropped(workspace, tree).await?.is_empty();
        let copied = self.find_copied(workspace, commit).await?;
        if self.job.outcome.accepted.as_ref() == Some(commit) {
            self.job.outcome.dropped = None;
            return Ok(());
        }
        let job = self.job.id.clone();
        let (mut told, mut advice) = (Vec::new(), Vec::new());
        if !copied.is_empty() {
            let name = &workspace.name;
            let paths: BTreeSet<&str> = copied.iter().map(|file| file.path.as_str()).collect();
            let paths = named(&paths.into_iter().collect::<Vec<_>>());
            let first = copied[0].commit.short();
            let is_pushed =
                self.agent.config.workspace.push_on_success && self.jobs.engine.remote(&self.context).await?.is_some();
            if is_pushed {
                told.push(format!(
                    "commits of {name} have files that Spinney copied from the main checkout, and nothing is pushed: {paths} \
                     (first in {first})"
                ));
                advice.extend([
                    Advice::TakeOutAndRetry { job: job.clone() },
                    Advice::AcceptHeld { job: job.clone(), without_lost: false },
                ]);
            } else {
                self.warn(format!("commits of {name} have files that Spinney copied from the main checkout: {paths}"));
            }
        }
        if is_dropped {
            let lost = self.words_of_dropped(workspace);
            told.push(lost.text);
            advice.extend(lost.advice);
            advice.push(Advice::AcceptHeld { job, without_lost: true });
        }
        if told.is_empty() {
            return Ok(());
        }
        self.job.outcome.push = Some(Push::Held);
        self.job.outcome.held = Some(Held { commit: commit.clone(), copied });
        self.record().await?;
        Err(End::Failed(Why { text: told.join("; "), advice }))
    }

    /// The copied files that commits have which the remote does not have: by their paths, and by what was in them.
    async fn find_copied(&self, workspace: &Workspace, commit: &CommitId) -> Step<Vec<HeldFile>> {
        let mut known = self.safe(workspace);
        let found = self.find_copied_beyond(commit, &known).await?;
        if found.is_empty() {
            return Ok(found);
        }
        known.extend(self.jobs.engine.remote_tips(&self.context).await?);
        self.find_copied_beyond(commit, &known).await
    }

    async fn find_copied_beyond(&self, commit: &CommitId, known: &[CommitId]) -> Step<Vec<HeldFile>> {
        let Some(stock) = &self.stock else { return Ok(Vec::new()) };
        if stock.began.contents.is_empty() && stock.brought.copied.is_empty() && stock.brought.directories.is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Vec<HeldFile> = Vec::new();
        for added in self.context.load_added(commit, known).await? {
            let is_copied = stock.brought.has_copied(&path_text(&added.path));
            let path = shown(&added.path);
            if (is_copied || stock.began.contents.contains_key(&added.blob))
                && found.len() < MAX_TOLD
                && !found.iter().any(|known| known.path == path)
            {
                found.push(HeldFile { commit: added.commit, path });
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    fn words_of_dropped(&self, workspace: &Workspace) -> Why {
        let Some(dropped) = &self.job.outcome.dropped else { return String::new().into() };
        let one = |dropped: &DroppedCommit| {
            format!("{} ({})", dropped.commit.short(), crate::plain::first_line(&dropped.subject))
        };
        let first: Vec<String> = dropped.commits.iter().take(3).map(one).collect();
        let more = if dropped.count > 3 { format!(" and {} more", dropped.count - 3) } else { String::new() };
        let (name, refs) = (&workspace.name, dropped.refs.join(" "));
        let count = spinney_engine::plural(usize::try_from(dropped.count).unwrap_or(usize::MAX), "commit");
        Why {
            text: format!("the branch lost {count} that no remote has: {}{more}", first.join(", ")),
            advice: vec![Advice::MergeBack { workspace: name.clone(), refs }],
        }
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
        if !dropped.is_empty() && !was_told {
            let Why { text, advice } = self.words_of_dropped(workspace);
            self.warn_advised(text.clone(), advice.clone());
            let error = self.job.outcome.error.take();
            self.job.outcome.error = Some(error.map_or(text.clone(), |error| format!("{error}; {text}")));
            self.job.outcome.advice.extend(advice);
        }
        let tips = self.stock.as_ref().map(|stock| stock.began.tips.clone()).unwrap_or_default();
        for tip in tips.difference(&dropped) {
            self.context.release_tip(workspace, tip).await?;
        }
        Ok(dropped)
    }
}
