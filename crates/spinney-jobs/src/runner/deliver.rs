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
use spinney_core::forge::{NewPullRequest, PullRequestState};
use spinney_core::names::cut_for_message;
use spinney_core::{BranchName, CommitId, JobPhase, Push, WorkKind, Workspace, in_full};
use spinney_engine::{Delivery, Tree, fail};
use spinney_git::Head;
use tokio::time::sleep;

use super::setup::Place;
use super::{End, Run, Step};

/// How long to wait before each further try of a push that failed for a passing reason.
const PUSH_AGAIN_AFTER: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];
/// What of a summary makes a commit's or a pull request's title.
const TITLE_BYTES: usize = 72;

const NO_FORGE: &str = "`create_pr` wants a pull request, and the remote is on no forge that is configured; \
                        `[forge.github]`, `[forge.gitlab]` or `[forge.forgejo]` with its `api_url` names one";

impl Run<'_> {
    pub(super) async fn deliver(&mut self, place: &Place) -> Step<()> {
        let Some(workspace) = place.workspace() else { return Ok(()) };
        self.begin(JobPhase::Deliver, None);
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
            self.begin(JobPhase::Deliver, Some("nothing changed since the base: nothing pushed".to_owned()));
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
            self.begin(JobPhase::Deliver, Some(url.clone()));
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
            let shown =
                |url: &Option<String>| url.as_ref().map_or_else(|| "nowhere".to_owned(), |url| format!("`{url}`"));
            let (before, now) = (shown(&self.job.outcome.push_url), shown(&now));
            self.job.outcome.push = Some(Push::Refused);
            return Err(End::failed(format!(
                "a push would go to {now}, and went to {before} before its agent began: nothing is pushed; if that is right, \
                 a new job on the same work pushes it"
            )));
        }
        let mut waits = PUSH_AGAIN_AFTER.iter();
        let error = loop {
            let error = match self.jobs.engine.push(&self.context, workspace, commit, branch).await {
                Ok(pushed) => {
                    let (push, detail) = match pushed {
                        Some(_) => (Push::Pushed, format!("pushed `{branch}`")),
                        None => (Push::NoRemote, "there is no remote: nothing pushed".to_owned()),
                    };
                    self.job.outcome.push = Some(push);
                    self.begin(JobPhase::Deliver, Some(detail));
                    return Ok(());
                }
                Err(error) if error.is_cut_off() => return Err(error.into()),
                Err(error) => error,
            };
            match waits.next().filter(|_| on_failure == OnPushFailure::Retry && is_temporary(&error)) {
                Some(wait) => {
                    let (wait_s, told) = (wait.as_secs(), error.in_full());
                    self.warn(format!("the push failed, and is tried again in {wait_s} s: {told}"));
                    sleep(*wait).await;
                }
                None => break error,
            }
        };
        let text = error.in_full();
        self.job.outcome.push = Some(Push::Refused);
        match on_failure {
            OnPushFailure::Warn => {
                self.warn(format!("not pushed: {text}"));
                Ok(())
            }
            OnPushFailure::Retry | OnPushFailure::Fail => Err(End::failed(text)),
        }
    }

    /// Refuses a job whose pull request could be opened nowhere, before its agent does anything.
    pub(super) async fn require_forge(&self) -> Step<()> {
        let policy = &self.agent.config.workspace;
        let wanted = policy.create_pr && policy.push_on_success && !self.agent.is_static() && !self.job.request.reads;
        if wanted && !self.jobs.engine.has_forge(&self.context).await? {
            return Err(End::failed(NO_FORGE.to_owned()));
        }
        Ok(())
    }

    async fn open_pull_request(&mut self, workspace: &Workspace, branch: &BranchName) -> Step<String> {
        let Some(base) = workspace.base_branch.clone() else {
            return Err(End::failed("a pull request is wanted, and no base branch is known".to_owned()));
        };
        let Some(forge) = self.jobs.engine.forge(&self.context).await? else {
            return Err(End::failed(NO_FORGE.to_owned()));
        };
        if let Some(existing) = forge.fetch_pull_request_of(branch).await.map_err(|error| failed(&error))?
            && existing.state == PullRequestState::Open
        {
            return Ok(existing.url);
        }
        let mut title = self.job.title.clone().or_else(|| workspace.title.clone());
        if let (None, WorkKind::Issue, Ok(number)) = (&title, self.job.work.kind, self.job.work.key.parse()) {
            // A title is nice to have: without it the prompt's first line will do.
            title = forge.fetch_issue(number).await.ok().flatten().map(|issue| issue.title);
        }
        let title = title.unwrap_or_else(|| first_line(&self.job.prompt));
        let policy = &self.agent.config.workspace;
        let value = |placeholder| match placeholder {
            PullRequestPlaceholder::Title => title.clone(),
            PullRequestPlaceholder::Summary => self.job.outcome.summary.clone().unwrap_or_default(),
            PullRequestPlaceholder::Closes => match self.job.work.kind {
                WorkKind::Issue => format!("Fixes #{}", self.job.work.key),
                _ => String::new(),
            },
            PullRequestPlaceholder::WorkItem => workspace.name.to_string(),
            PullRequestPlaceholder::JobId => self.job.id.to_string(),
            PullRequestPlaceholder::Agent => self.agent.name.to_string(),
            PullRequestPlaceholder::Branch => branch.to_string(),
        };
        let new = NewPullRequest {
            head: branch.clone(),
            base,
            title: first_line(&policy.pr_title.expand(value)),
            body: policy.pr_body.expand(value).trim().to_owned(),
        };
        let opened = forge.open_pull_request(&new).await.map_err(|error| failed(&error))?;
        Ok(opened.url)
    }

    pub(super) fn commit_message(&self, workspace: &Workspace) -> String {
        let summary = self.job.outcome.summary.as_deref().unwrap_or(&self.job.prompt);
        self.agent.config.workspace.commit_message.expand(|placeholder| match placeholder {
            CommitPlaceholder::Summary => summary.trim().to_owned(),
            CommitPlaceholder::JobId => self.job.id.to_string(),
            CommitPlaceholder::WorkItem => workspace.name.to_string(),
        })
    }

    /// Reads the branch from git, now that nothing changes it any more: an agent may have renamed it.
    pub(super) async fn read_branch(&mut self, place: &Place) {
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

fn failed(error: &dyn std::error::Error) -> End {
    End::failed(in_full(error))
}

/// Refuses to deliver a HEAD on no branch that lacks commits of the workspace's branch: somebody would miss them.
async fn require_whole_branch(workspace: &Workspace, tree: &Tree, head: &Head) -> Step<()> {
    let Head::Detached { commit, rebasing: None } = head else { return Ok(()) };
    let Some(tip) = tree.load_branch(&workspace.branch).await? else { return Ok(()) };
    if tree.is_ancestor(&tip, commit).await? {
        return Ok(());
    }
    let (branch, at) = (&workspace.branch, commit.short());
    Err(End::failed(format!("its agent left HEAD on no branch at {at}, which lacks commits of `{branch}`")))
}

/// Whether the same may well succeed in a while.
fn is_temporary(error: &spinney_engine::Error) -> bool {
    matches!(error, spinney_engine::Error::Git(error) if error.is_temporary())
}

/// The first line that says something, cut to a title's length.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut_for_message(line, TITLE_BYTES)
}
