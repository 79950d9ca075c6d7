//! What a forge is asked about one repository, and what it answers.
//!
//! A forge's word is no proof of its own: that a pull request is merged says nothing about commits that came later, so
//! [`PullRequest::merged_head`] gives the commit that was merged, and whoever asks compares it with the tip at hand.

use std::fmt;
use std::pin::Pin;

use crate::names::cut_for_message;
use crate::workspace::words;
use crate::{BranchName, CommitId, Timestamp};

/// How much of a forge's own words a message shows.
const MOST_SAID: usize = 300;

/// An answer that is on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ForgeError>> + Send + 'a>>;

/// One repository on a forge. Rate limits and outages are waited out, within the patience it was opened with.
pub trait Forge: Send + Sync + fmt::Debug {
    /// For messages, as `GitHub at api.github.com`.
    fn name(&self) -> &str;

    /// The pull request of a branch of this very repository, not of a fork's: the open one, else the newest.
    fn fetch_pull_request_of<'a>(&'a self, head: &'a BranchName) -> Answer<'a, Option<PullRequest>>;

    /// Opens a pull request, or gives the open one that the branch already has, whatever its base.
    ///
    /// Whether the branch has one is asked before each try, so that none is made twice, even when an answer got lost.
    fn open_pull_request<'a>(&'a self, new: &'a NewPullRequest) -> Answer<'a, PullRequest>;

    fn fetch_pull_request(&self, number: u64) -> Answer<'_, Option<PullRequest>>;

    /// An issue; none of that number, or a pull request, is none.
    fn fetch_issue(&self, number: u64) -> Answer<'_, Option<Issue>>;

    /// The open issues that have a label, oldest first; no pull requests.
    fn fetch_issues_labelled<'a>(&'a self, label: &'a str) -> Answer<'a, Vec<Issue>>;

    /// Gives an issue a label, if it has not got it.
    fn add_label<'a>(&'a self, issue: u64, label: &'a str) -> Answer<'a, ()>;

    /// Takes a label off an issue, if it has it.
    fn remove_label<'a>(&'a self, issue: u64, label: &'a str) -> Answer<'a, ()>;

    /// All comments on an issue, in the order in which they were made.
    fn fetch_comments(&self, issue: u64) -> Answer<'_, Vec<Comment>>;

    /// Those made or changed since; the answer may hold others.
    fn fetch_comments_since(&self, issue: u64, since: Timestamp) -> Answer<'_, Vec<Comment>>;

    /// Adds a comment. One with the very same text is looked for before each further try, so that an answer that got
    /// lost makes no second one: a text that is to be there twice must differ.
    fn add_comment<'a>(&'a self, issue: u64, body: &'a str) -> Answer<'a, Comment>;

    /// Changes a comment, if it is still there; tells whether it was.
    fn edit_comment<'a>(&'a self, comment: u64, body: &'a str) -> Answer<'a, bool>;

    /// Deletes a comment, if it is still there.
    fn delete_comment(&self, comment: u64) -> Answer<'_, ()>;

    /// What the token may do with the repository; an error where it is not accepted.
    fn fetch_access(&self) -> Answer<'_, Access>;

    /// What somebody may do with the repository; none where the forge knows nobody of that name.
    fn fetch_person<'a>(&'a self, login: &'a str) -> Answer<'a, Option<Person>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    /// The page for people.
    pub url: String,
    pub title: String,
    /// Written by anybody: hostile.
    pub body: String,
    pub state: PullRequestState,
    /// None where the forge names it in a way that is no branch name of ours.
    pub head_branch: Option<BranchName>,
    /// The last commit that belongs to it; of one that was merged, the last that was merged. None where the forge does
    /// not tell.
    pub head_commit: Option<CommitId>,
    /// Whether its branch is in another repository, or in one that is gone.
    pub from_fork: bool,
    pub base_branch: Option<BranchName>,
    /// The commit in base that merged it, where there is one.
    pub merge_commit: Option<CommitId>,
}

words!(PullRequestState { Open = "open", Closed = "closed", Merged = "merged" });

impl PullRequest {
    /// The commit whose history the forge says is merged; none where it is not merged, or the commit is not known.
    #[must_use]
    pub fn merged_head(&self) -> Option<&CommitId> {
        self.head_commit.as_ref().filter(|_| self.state == PullRequestState::Merged)
    }
}

/// A pull request to be, from one branch of the repository to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    pub head: BranchName,
    pub base: BranchName,
    pub title: String,
    pub body: String,
    /// Whether it is not ready to be merged yet.
    pub draft: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub number: u64,
    /// The page for people.
    pub url: String,
    pub title: String,
    /// Written by anybody: hostile.
    pub body: String,
    pub state: IssueState,
    pub labels: Vec<String>,
}

impl Issue {
    /// Whether it has a label, which forges know by any case.
    #[must_use]
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|given| given.to_lowercase() == label.to_lowercase())
    }
}

/// A comment on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Later ones have greater numbers.
    pub id: u64,
    pub author: String,
    /// Whether its author may do more with the repository than anybody who passes by.
    pub from_inside: bool,
    /// Written by anybody: hostile.
    pub body: String,
}

words!(IssueState { Open = "open", Closed = "closed" });

words!(
    /// What a token, or somebody, may do with a repository.
    Access { Read = "read", Write = "write" }
);

/// Somebody, as a repository knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Theirs for good, unlike the login.
    pub id: u64,
    /// None: they may not even read it.
    pub access: Option<Access>,
}

/// Why a forge gave no answer. No variant holds a token, and what the forge said is cut and on one line.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("{forge} {}", if *.with_token { "does not accept the token" } else { "wants a token" })]
    Unauthorised { forge: String, with_token: bool },
    #[error("{forge} has no `{what}`, or does not show it{}", if *.with_token { " to this token" } else { " without a token" })]
    NotFound { forge: String, what: String, with_token: bool },
    #[error("{forge} limits requests: it accepts the next one at {until}")]
    RateLimited { forge: String, until: Timestamp },
    #[error("{forge} refused (status {status}): {said}")]
    Refused { forge: String, status: u16, said: String },
    #[error("{forge} can't be reached (tries: {tries})")]
    Unreachable {
        forge: String,
        tries: u32,
        #[source]
        source: Outage,
    },
    #[error("{what} are not known of {forge} yet")]
    Unsupported { forge: String, what: &'static str },
    #[error("{forge} gave an answer that can't be used: {detail}")]
    Unexpected { forge: String, detail: String },
}

impl ForgeError {
    /// Whether it passes by itself, for all that is known.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unreachable { .. })
    }

    /// A refusal in the forge's own words.
    #[must_use]
    pub fn refused(forge: &str, status: u16, said: &str) -> Self {
        let said = if said.is_empty() { "it does not say why" } else { said };
        Self::Refused { forge: forge.to_owned(), status, said: cut_for_message(said, MOST_SAID) }
    }

    #[must_use]
    pub fn unexpected(forge: &str, detail: &str) -> Self {
        Self::Unexpected { forge: forge.to_owned(), detail: cut_for_message(detail, MOST_SAID) }
    }
}

/// What the last try to reach a forge ended with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Outage(String);

impl Outage {
    #[must_use]
    pub fn new(detail: &str) -> Self {
        Self(cut_for_message(detail, MOST_SAID))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_forge_says_stays_on_one_short_line() {
        let said = format!("no\n\u{1b}[2J{}", "x".repeat(10_000));
        for error in [ForgeError::refused("GitHub", 422, &said), ForgeError::unexpected("GitHub", &said)] {
            let message = error.to_string();
            assert!(!message.contains(char::is_control) && message.len() < 400, "{message}");
        }
        assert!(!Outage::new(&said).to_string().contains(char::is_control));
    }

    #[test]
    fn only_a_merged_one_has_a_merged_head() {
        let commit: CommitId = "a".repeat(40).parse().unwrap();
        let mut pull_request = PullRequest {
            number: 1,
            url: String::new(),
            title: String::new(),
            body: String::new(),
            state: PullRequestState::Open,
            head_branch: None,
            head_commit: Some(commit.clone()),
            from_fork: false,
            base_branch: None,
            merge_commit: None,
        };
        assert_eq!(pull_request.merged_head(), None);
        pull_request.state = PullRequestState::Closed;
        assert_eq!(pull_request.merged_head(), None);
        pull_request.state = PullRequestState::Merged;
        assert_eq!(pull_request.merged_head(), Some(&commit));
    }
}
