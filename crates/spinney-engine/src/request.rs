//! A request for a workspace: the work, and what is known about it besides.

use spinney_core::{BranchName, CommitId, Method, Platform, Work, WorkKind, Workspace};

/// What somebody asks for. Everything but the work is a hint.
#[derive(Debug, Clone)]
pub struct Request {
    pub work: Work,
    pub title: Option<String>,
    /// A branch, tag or commit to start from.
    pub base: Option<BranchName>,
    /// The branch that a person named.
    pub branch: Option<BranchName>,
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
}

impl Request {
    #[must_use]
    pub fn new(work: Work) -> Self {
        Self {
            work,
            title: None,
            base: None,
            branch: None,
            pattern: None,
            head: None,
            sha: None,
            fork: false,
            setup: false,
            links: Vec::new(),
            suggest: None,
            conversation: None,
            platform: Platform::Cli,
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
    /// How old the knowledge of the remote is.
    pub fetched: Option<spinney_core::Timestamp>,
    /// The commit that it was set up at, when it came warm from the pool.
    pub set_up_at: Option<CommitId>,
}

impl Resolution {
    pub(crate) fn found(workspace: Workspace, method: Method) -> Self {
        Self { workspace, method, continued: None, started_from: None, fetched: None, set_up_at: None }
    }
}

/// Where the branch that a workspace continues was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    Local,
    Remote,
}
