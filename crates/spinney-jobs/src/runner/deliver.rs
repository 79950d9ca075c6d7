//! Delivers a completed job's work:
//!
//! 1. what the agent left over is committed ([`super::origins`]);
//! 2. what a person has to look at first ends the job here ([`super::held`]);
//! 3. what changed since the base is counted; nothing changed means nothing pushed;
//! 4. the commit is pushed to the branch, with a lease where we pushed before;
//! 5. a pull request is opened, if the agent's policy wants one and the branch has none.
//!
//! Each part leaves what it finds done, so that a retry after any failure makes nothing twice.

use std::time::Duration;

use spinney_core::config::{CommitPlaceholder, OnPushFailure, PullRequestPlaceholder};
use spinney_core::forge::NewPullRequest;
use spinney_core::{BranchName, CommitId, Forge, JobPhase, Push, Workspace};
use spinney_engine::{Delivery, Tree, fail};
use spinney_git::Head;
use tokio::time::sleep;

use super::end::Why;
use super::setup::JobPlace;
use super::{End, Run, Step};
use crate::Error;
use crate::delivery::branch::lacking_head;
use crate::delivery::offer::{closes, first_line, issue_title, offer};
use crate::delivery::subject::{commit_message, subject};
use crate::told::{Detail, Failure, Warning};

/// How long to wait before each further try of a push that failed for a passing reason.
const PUSH_AGAIN_AFTER: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];

impl Run<'_> {
    pub(super) async fn deliver(&mut self, place: &JobPlace) -> Step<()> {
        let Some(workspace) = place.workspace() else { return Ok(()) };
        self.begin(JobPhase::Deliver);
        // What an earlier attempt pushed is known by the row alone.
        let row = self.jobs.engine.store().read().await?.workspace(&workspace.id).await?;
        let workspace = row.unwrap_or_else(|| workspace.clone());
        let tree = self.context.require_tree(&workspace)?;
        let head = tree.load_head().await?;
        if let Some(branch) = head.branch() {
            self.require_own_branch(&workspace, branch).await?;
        }
        require_whole_branch(&workspace, &tree, &head).await?;
        self.commit_left_over(&workspace, &tree).await?;
        fail::point("job.committed")?;
        let head = tree.load_head().await?;
        let Some(commit) = head.commit().cloned() else { return Ok(()) };
        let branch = head.branch().cloned().unwrap_or_else(|| workspace.branch.clone());
        let changes = self.context.load_changes(&workspace.base_commit, &commit).await?;
        self.note_escapes().await;
        let outcome = &mut self.job.outcome;
        outcome.commit = Some(commit.clone());
        outcome.branch = Some(branch.to_string());
        (outcome.commits, outcome.files) = (changes.commits, changes.files);
        (outcome.insertions, outcome.deletions) = (changes.insertions, changes.deletions);
        self.hold(&workspace, &tree, &commit).await?;
        let outcome = &mut self.job.outcome;
        if changes.commits == 0 {
            outcome.push = Some(Push::Nothing);
            self.begin_with(JobPhase::Deliver, &Detail::NothingChanged);
            return self.record().await;
        }
        self.record().await?;
        self.push(&workspace, &branch, &commit).await?;
        fail::point("job.pushed")?;
        let pushed = (self.job.outcome.push == Some(Push::Pushed)).then_some(&commit);
        let delivery = Delivery { branch: Some(&branch), pushed, pull_request: None };
        self.jobs.engine.record_delivery(&self.context, &workspace, &delivery).await?;
        self.record().await?;
        fail::point("job.delivered")?;
        if pushed.is_some() && self.agent.config.workspace.create_pr {
            let url = self.open_pull_request(&workspace, &branch).await?;
            fail::point("job.offered")?;
            self.begin_with(JobPhase::Deliver, &Detail::Plain(url.clone()));
            let delivery = Delivery { pull_request: Some(&url), ..Delivery::default() };
            self.jobs.engine.record_delivery(&self.context, &workspace, &delivery).await?;
            self.job.outcome.pull_request = Some(url);
            self.record().await?;
        }
        Ok(())
    }

    async fn push(&mut self, workspace: &Workspace, branch: &BranchName, commit: &CommitId) -> Step<()> {
        let policy = &self.agent.config.workspace;
        let on_failure = policy.on_push_failure;
        if !policy.push_on_success {
            self.job.outcome.push = Some(Push::Off);
            return Ok(());
        }
        let now = self.jobs.engine.push_url(&self.context).await?;
        if now != self.job.outcome.push_url {
            self.job.outcome.push = Some(Push::Refused);
            return Err(End::failed(Failure::PushesElsewhere { now, before: self.job.outcome.push_url.clone() }));
        }
        let mut waits = PUSH_AGAIN_AFTER.iter();
        let error = loop {
            let error = match self.jobs.engine.push(&self.context, workspace, commit, branch).await {
                Ok(pushed) => {
                    let (push, detail) = match pushed {
                        Some(_) => (Push::Pushed, Detail::Pushed { branch: branch.clone() }),
                        None => (Push::NoRemote, Detail::NoRemote),
                    };
                    self.job.outcome.push = Some(push);
                    self.begin_with(JobPhase::Deliver, &detail);
                    return Ok(());
                }
                Err(error) if error.is_cut_off() => return Err(error.into()),
                Err(error) => error,
            };
            match waits.next().filter(|_| on_failure == OnPushFailure::Retry && is_temporary(&error)) {
                Some(wait) => {
                    self.warn(&Warning::PushesAgain { after: *wait, error: error.into() });
                    sleep(*wait).await;
                }
                None => break error,
            }
        };
        self.job.outcome.push = Some(Push::Refused);
        match on_failure {
            OnPushFailure::Warn => {
                self.warn(&Warning::NotPushed(error.into()));
                Ok(())
            }
            OnPushFailure::Retry | OnPushFailure::Fail => {
                // What is missing to push at all is somebody's to set up.
                let advice = if error.wants_credentials() { error.advice() } else { Vec::new() };
                Err(End::Failed(Why::new(Failure::Error(error.into()), advice)))
            }
        }
    }

    /// Refuses a job whose pull request could be opened nowhere, before its agent does anything.
    pub(super) async fn require_forge(&self) -> Step<()> {
        let policy = &self.agent.config.workspace;
        let wanted = policy.create_pr && policy.push_on_success && !self.agent.is_static() && !self.job.request.reads;
        if wanted && !self.jobs.engine.has_forge(&self.context).await? {
            return Err(End::failed(Failure::NoForge));
        }
        Ok(())
    }

    async fn open_pull_request(&mut self, workspace: &Workspace, branch: &BranchName) -> Step<String> {
        let Some(base) = workspace.base_branch.clone() else {
            return Err(End::failed(Failure::NoBase));
        };
        let Some(forge) = self.jobs.engine.forge(&self.context).await? else {
            return Err(End::failed(Failure::NoForge));
        };
        let describe = async || self.pull_request(workspace, branch, base, &*forge).await;
        Ok(offer(&*forge, branch, describe).await.map_err(failed)?.url)
    }

    /// The pull request by the agent's templates.
    async fn pull_request(
        &self,
        workspace: &Workspace,
        branch: &BranchName,
        base: BranchName,
        forge: &dyn Forge,
    ) -> NewPullRequest {
        let mut title = self.job.title.clone().or_else(|| workspace.title.clone());
        if title.is_none() {
            title = issue_title(forge, &self.job.work).await;
        }
        let title = title.unwrap_or_else(|| subject(&self.job.prompt));
        let policy = &self.agent.config.workspace;
        let value = |placeholder| match placeholder {
            PullRequestPlaceholder::Title => title.clone(),
            PullRequestPlaceholder::Summary => self.job.outcome.summary.clone().unwrap_or_default(),
            PullRequestPlaceholder::Closes => closes(&self.job.work),
            PullRequestPlaceholder::WorkItem => workspace.name.to_string(),
            PullRequestPlaceholder::JobId => self.job.id.to_string(),
            PullRequestPlaceholder::Agent => self.agent.name.to_string(),
            PullRequestPlaceholder::Branch => branch.to_string(),
        };
        NewPullRequest {
            head: branch.clone(),
            base,
            title: first_line(&policy.pr_title.expand(|placeholder| match placeholder {
                PullRequestPlaceholder::Summary => subject(&value(PullRequestPlaceholder::Summary)),
                other => value(other),
            })),
            body: policy.pr_body.expand(value).trim().to_owned(),
            draft: false,
        }
    }

    pub(super) fn commit_message(&self, workspace: &Workspace) -> String {
        let summary = self.job.outcome.summary.as_deref().unwrap_or(&self.job.prompt);
        commit_message(&self.agent.config.workspace.commit_message, summary, |placeholder| match placeholder {
            CommitPlaceholder::Summary => summary.to_owned(),
            CommitPlaceholder::JobId => self.job.id.to_string(),
            CommitPlaceholder::WorkItem => workspace.name.to_string(),
        })
    }

    /// Reads the branch from git, now that nothing changes it any more: an agent may have renamed it.
    pub(super) async fn read_branch(&mut self, place: &JobPlace) {
        let Some(workspace) = place.workspace() else { return };
        let Ok(tree) = self.context.require_tree(workspace) else { return };
        let Ok(head) = tree.load_head().await else { return };
        if let Some(branch) = head.branch() {
            self.job.outcome.branch = Some(branch.to_string());
        }
        if let Some(commit) = head.commit() {
            self.job.outcome.commit = Some(commit.clone());
            if let Ok(changes) = self.context.load_changes(&workspace.base_commit, commit).await {
                self.job.outcome.commits = changes.commits;
            }
        }
    }
}

/// An error that fails the job, whatever kind it is of, and with no advice.
fn failed(error: impl Into<Error>) -> End {
    End::failed(Failure::Error(error.into()))
}

/// Refuses to deliver a HEAD on no branch that lacks commits of the workspace's branch.
async fn require_whole_branch(workspace: &Workspace, tree: &Tree, head: &Head) -> Step<()> {
    match lacking_head(workspace, tree, head).await? {
        Some(at) => Err(End::failed(Failure::LacksCommits { at, branch: workspace.branch.clone() })),
        None => Ok(()),
    }
}

/// Whether the same may well succeed in a while.
fn is_temporary(error: &spinney_engine::Error) -> bool {
    matches!(error, spinney_engine::Error::Git(error) if error.is_temporary())
}
