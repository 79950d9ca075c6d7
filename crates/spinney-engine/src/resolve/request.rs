//! A request for a workspace: the work, and what is known about it besides.

use spinney_core::{BranchName, CommitId, JobId, Method, Platform, Timestamp, Work, WorkKind, Workspace, WorkspaceId};

use crate::notice::Kept;
use crate::{Error, Result};

/// What somebody asks for. Everything but the work is a hint.
#[derive(Debug, Clone)]
pub struct Request {
    pub work: Work,
    pub title: Option<String>,
    /// A branch, tag or commit to start from.
    pub base: Option<BranchName>,
    /// The branch that a person named.
    pub branch: Option<BranchName>,
    /// Whether it was named as the remote's (`origin/feature/auth`), and so must be here or there.
    pub of_remote: bool,
    /// The name that an agent's pattern made, for a branch that nobody named.
    pub pattern: Option<BranchName>,
    /// A pull request's own branch.
    pub head: Option<BranchName>,
    /// A pull request's commit.
    pub sha: Option<CommitId>,
    /// Whether the pull request comes from a fork.
    pub fork: bool,
    /// Whether `setup` runs though the work is from a fork or a review.
    pub setup: bool,
    /// Other work of this repository that this belongs to: issues first, then pull requests.
    pub links: Vec<Work>,
    /// A branch whose worktree is adopted, if there is one.
    pub suggest: Option<BranchName>,
    pub conversation: Option<String>,
    pub platform: Platform,
    /// The job that asks; none where a person does.
    pub job: Option<JobId>,
    /// Workspaces that are done with, by who asks: at the limit, they need not be idle for a while to make room.
    pub done: Vec<WorkspaceId>,
    /// The workspaces that the caller may have, besides one that is made for it; none: all.
    pub within: Option<Within>,
}

/// Workspaces that are known to a caller that may know of no others.
#[derive(Debug, Clone, Default)]
pub struct Within {
    pub ids: Vec<WorkspaceId>,
    /// Those made since then too: an earlier try of the caller made them.
    pub since: Option<Timestamp>,
}

impl Request {
    /// Refuses a workspace that the caller may not have, before anything of it is read or changed.
    pub(crate) fn check_within(&self, workspace: &Workspace) -> Result<()> {
        let Some(within) = &self.within else { return Ok(()) };
        let is_own = within.since.is_some_and(|since| workspace.created_at >= since);
        if is_own || within.ids.contains(&workspace.id) {
            return Ok(());
        }
        Err(Error::OfOthers { name: workspace.name.clone() })
    }

    #[must_use]
    pub fn new(work: Work) -> Self {
        Self {
            work,
            title: None,
            base: None,
            branch: None,
            of_remote: false,
            pattern: None,
            head: None,
            sha: None,
            fork: false,
            setup: false,
            links: Vec::new(),
            suggest: None,
            conversation: None,
            platform: Platform::Cli,
            within: None,
            job: None,
            done: Vec::new(),
        }
    }

    /// The name from a pattern, where it decides. A pull request's work has its branch already.
    pub(crate) fn patterned(&self) -> Option<&BranchName> {
        let open = matches!(self.work.kind, WorkKind::Issue | WorkKind::Thread | WorkKind::Task | WorkKind::Job);
        self.pattern.as_ref().filter(|_| open && self.branch.is_none())
    }
}

/// The answer: a workspace that is valid on disk, and how it came to be the answer.
#[derive(Debug, Clone)]
pub struct Resolution {
    pub workspace: Workspace,
    pub method: Method,
    /// Where a branch that existed before was found, when the workspace continues it.
    pub continued: Option<Continued>,
    /// What it started from, for people: `origin/main`.
    pub started_from: Option<String>,
    /// The commit that it was checked out at. Its base commit is an older one where it starts at a branch of its own.
    pub start: Option<CommitId>,
    /// Whether that is the current branch, because there is no remote.
    pub on_current: bool,
    /// How old the knowledge of the remote is.
    pub fetched: Option<Timestamp>,
    /// The commit that it was set up at, when it came warm from the pool.
    pub set_up_at: Option<CommitId>,
    /// What it keeps though the request named another.
    pub kept: Vec<Kept>,
}

impl Resolution {
    pub(crate) fn found(workspace: Workspace, method: Method) -> Self {
        Self {
            workspace,
            method,
            continued: None,
            started_from: None,
            start: None,
            on_current: false,
            fetched: None,
            set_up_at: None,
            kept: Vec::new(),
        }
    }
}

/// Where the branch that a workspace continues was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    Local,
    Remote,
}
