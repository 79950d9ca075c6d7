//! What somebody asks for, through whatever front: a piece of work, and what is known about it besides.

use spinney_core::work::{InvalidWork, parse_number};
use spinney_core::{BranchName, CommitId, JobRequest, Platform, Work, WorkKind};
use spinney_engine::Request;

use crate::page::MAX_LIMIT;

/// A piece of work that wants its workspace, or an agent. Everything but the work is a hint.
#[derive(Debug, Clone)]
pub struct WorkRequest {
    /// None: a job is its own work.
    pub work: Option<Work>,
    /// A title for people.
    pub title: Option<String>,
    /// The branch, tag or commit to start from.
    pub base: Option<BranchName>,
    /// The branch that a person named.
    pub branch: Option<BranchName>,
    /// A pull request's own branch.
    pub head: Option<BranchName>,
    /// A pull request's commit.
    pub sha: Option<CommitId>,
    /// Whether the pull request comes from a fork.
    pub fork: bool,
    /// Whether `setup` runs though the work is from a fork or a review.
    pub setup: bool,
    /// Other work of the repository that this belongs to: their workspace is shared.
    pub links: Vec<Work>,
    /// A branch whose worktree is adopted, if there is one.
    pub suggest: Option<BranchName>,
    /// The conversation that asks: it gets the same workspace again.
    pub conversation: Option<String>,
    /// Where it is asked from.
    pub platform: Platform,
}

/// Why a request makes no sense. Each front says it in the words of its own fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    #[error("no work is named")]
    NoWork,
    #[error("a head and a fork go with a pull request")]
    HeadWithoutPullRequest,
    #[error("a commit goes with a pull request or a review")]
    CommitWithoutPullRequest,
    #[error("a branch goes with a task, and with no other work")]
    BranchOfOtherWork,
    #[error("work of the kind `job` is a job's own")]
    JobsOwnWork,
    #[error("a kind of work and its key go together")]
    HalfNamed,
    #[error(transparent)]
    Key(InvalidWork),
    #[error("the prompt is empty")]
    EmptyPrompt,
    #[error("the prompt has a zero byte in it")]
    ZeroByteInPrompt,
    #[error("a title, a text or a draft needs a pull request, but the request asks for none")]
    NoPullRequestToDescribe,
    #[error("a text has a zero byte in it")]
    ZeroByteInText,
    #[error("a message or a title is empty")]
    EmptyText,
    #[error("`limit` is 1 to {MAX_LIMIT}, not {given}")]
    Limit { given: u32 },
    #[error("`cursor` was not given by `next`")]
    Cursor,
}

impl InvalidRequest {
    /// Says it in the words of the fields that requests have, in the API and in tools.
    #[must_use]
    pub fn in_fields(&self) -> String {
        match self {
            Self::NoWork => "no work is named: `kind` and `key` name one".to_owned(),
            Self::HeadWithoutPullRequest => "`head` and `fork` go with the kind `pr`".to_owned(),
            Self::CommitWithoutPullRequest => "`sha` goes with the kinds `pr` and `review`".to_owned(),
            Self::BranchOfOtherWork => "`branch` goes with the kind `task`, or stands alone".to_owned(),
            Self::HalfNamed => "`kind` and `key` go together".to_owned(),
            Self::Key(error) => format!("`key`: {error}"),
            Self::EmptyPrompt => "`prompt` is empty".to_owned(),
            Self::ZeroByteInPrompt => "`prompt` has a zero byte in it".to_owned(),
            Self::NoPullRequestToDescribe => {
                "`title`, `body` and `draft` do not go with `pull_request` = `false`".to_owned()
            }
            Self::ZeroByteInText | Self::EmptyText | Self::JobsOwnWork | Self::Limit { .. } | Self::Cursor => {
                self.to_string()
            }
        }
    }
}

impl WorkRequest {
    /// A request for nothing yet, from a platform.
    #[must_use]
    pub fn from(platform: Platform) -> Self {
        Self {
            work: None,
            title: None,
            base: None,
            branch: None,
            head: None,
            sha: None,
            fork: false,
            setup: false,
            links: Vec::new(),
            suggest: None,
            conversation: None,
            platform,
        }
    }

    /// The same, for work by its kind and key. A branch alone names a task, and a task without a title has its own words.
    ///
    /// # Errors
    ///
    /// If kind, key and hints do not go together.
    pub fn named(mut self, kind: Option<WorkKind>, key: Option<&str>) -> Result<Self, InvalidRequest> {
        self.check_hints(kind)?;
        let work = match (kind, key, &self.branch) {
            (None, None, None) => return Ok(self),
            (None | Some(WorkKind::Task), None, Some(branch)) => Work::branch(branch),
            (Some(WorkKind::Issue), Some(key), _) => Work::issue(number(key)?),
            (Some(WorkKind::Pr), Some(key), _) => Work::pr(number(key)?),
            (Some(WorkKind::Review), Some(key), _) => Work::review(number(key)?),
            (Some(WorkKind::Thread), Some(key), _) => Work::thread(key).map_err(InvalidRequest::Key)?,
            (Some(WorkKind::Task), Some(key), _) => Work::task(key).map_err(InvalidRequest::Key)?,
            (Some(WorkKind::Job), _, _) => return Err(InvalidRequest::JobsOwnWork),
            _ => return Err(InvalidRequest::HalfNamed),
        };
        if self.title.is_none() && kind == Some(WorkKind::Task) {
            self.title = key.map(ToOwned::to_owned);
        }
        self.work = Some(work);
        Ok(self)
    }

    /// Checks that hints are of this kind of work.
    fn check_hints(&self, kind: Option<WorkKind>) -> Result<(), InvalidRequest> {
        if (self.head.is_some() || self.fork) && kind != Some(WorkKind::Pr) {
            return Err(InvalidRequest::HeadWithoutPullRequest);
        }
        if self.sha.is_some() && !matches!(kind, Some(WorkKind::Pr | WorkKind::Review)) {
            return Err(InvalidRequest::CommitWithoutPullRequest);
        }
        if self.branch.is_some() && !matches!(kind, None | Some(WorkKind::Task)) {
            return Err(InvalidRequest::BranchOfOtherWork);
        }
        Ok(())
    }

    /// Checks that the hints are of the work.
    ///
    /// # Errors
    ///
    /// If one is of another kind of work.
    pub fn check(&self) -> Result<(), InvalidRequest> {
        self.check_hints(self.work.as_ref().map(|work| work.kind))
    }

    /// What the engine is asked for.
    pub(crate) fn for_workspace(self) -> Result<Request, InvalidRequest> {
        self.check()?;
        let work = self.work.ok_or(InvalidRequest::NoWork)?;
        Ok(Request {
            title: self.title,
            base: self.base,
            branch: self.branch,
            head: self.head,
            sha: self.sha,
            fork: self.fork,
            setup: self.setup,
            links: self.links,
            suggest: self.suggest,
            conversation: self.conversation,
            platform: self.platform,
            ..Request::new(work)
        })
    }

    /// What a job is told for the resolving of its workspace.
    pub(crate) fn for_job(self, waits_for_room: bool) -> Result<JobRequest, InvalidRequest> {
        self.check()?;
        Ok(JobRequest {
            base: self.base,
            branch: self.branch,
            head: self.head,
            sha: self.sha,
            fork: self.fork,
            setup: self.setup,
            links: self.links,
            suggest: self.suggest,
            conversation: self.conversation,
            waits_for_room,
            ..JobRequest::default()
        })
    }
}

fn number(key: &str) -> Result<u64, InvalidRequest> {
    parse_number(key).map_err(InvalidRequest::Key)
}

/// What an agent is to do: a text that says something, and that a program and a database take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt(String);

impl Prompt {
    /// Takes a text as it is.
    ///
    /// # Errors
    ///
    /// If the text says nothing, or has a zero byte.
    pub fn new(text: String) -> Result<Self, InvalidRequest> {
        if text.contains('\0') {
            return Err(InvalidRequest::ZeroByteInPrompt);
        }
        if text.trim().is_empty() {
            return Err(InvalidRequest::EmptyPrompt);
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> WorkRequest {
        WorkRequest::from(Platform::Api)
    }

    #[test]
    fn work_is_named_by_kind_and_key_or_by_a_branch() {
        let work = |kind, key: &str| asked().named(Some(kind), Some(key)).unwrap();
        assert_eq!(work(WorkKind::Issue, "42").work, Some(Work::issue(42)));
        let task = work(WorkKind::Task, "Add dark mode");
        assert_eq!(task.title.as_deref(), Some("Add dark mode"));
        let branch: BranchName = "feat".parse().unwrap();
        let on_branch = WorkRequest { branch: Some(branch.clone()), ..asked() };
        assert_eq!(on_branch.named(None, None).unwrap().work, Some(Work::branch(&branch)));
        assert_eq!(asked().named(None, None).unwrap().work, None);
        assert_eq!(asked().named(Some(WorkKind::Issue), None).unwrap_err(), InvalidRequest::HalfNamed);
        assert_eq!(asked().named(Some(WorkKind::Job), Some("x")).unwrap_err(), InvalidRequest::JobsOwnWork);
        assert!(matches!(asked().named(Some(WorkKind::Pr), Some("x")), Err(InvalidRequest::Key(_))));
    }

    #[test]
    fn hints_are_of_the_work_they_come_with() {
        let with = |change: fn(&mut WorkRequest)| {
            let mut request = WorkRequest { work: Some(Work::issue(1)), ..asked() };
            change(&mut request);
            request.for_workspace().unwrap_err()
        };
        assert_eq!(with(|request| request.fork = true), InvalidRequest::HeadWithoutPullRequest);
        assert_eq!(with(|request| request.head = "h".parse().ok()), InvalidRequest::HeadWithoutPullRequest);
        assert_eq!(with(|request| request.sha = "a".repeat(40).parse().ok()), InvalidRequest::CommitWithoutPullRequest);
        assert_eq!(with(|request| request.branch = "b".parse().ok()), InvalidRequest::BranchOfOtherWork);
        assert_eq!(with(|request| request.work = None), InvalidRequest::NoWork);
    }

    #[test]
    fn a_prompt_says_something() {
        assert_eq!(Prompt::new(" \n".to_owned()), Err(InvalidRequest::EmptyPrompt));
        assert_eq!(Prompt::new("a\0".to_owned()), Err(InvalidRequest::ZeroByteInPrompt));
        assert_eq!(Prompt::new("fix it".to_owned()).unwrap().as_str(), "fix it");
    }
}
