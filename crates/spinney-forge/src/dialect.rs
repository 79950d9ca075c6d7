//! What one kind of forge is asked, and how its answers read. No I/O.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use spinney_core::forge::{Access, Comment, Issue, NewPullRequest, Person, PullRequest};
use spinney_core::{BranchName, CommitId, Secret, Timestamp};
use ureq::http::Method;

use crate::url::encode;

/// One request, relative to the API's address.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub body: Option<Value>,
    pub method: Method,
}

impl Call {
    #[must_use]
    pub fn get(path: String) -> Self {
        Self { path, query: Vec::new(), body: None, method: Method::GET }
    }

    #[must_use]
    pub fn post(path: String, body: Value) -> Self {
        Self { path, query: Vec::new(), body: Some(body), method: Method::POST }
    }

    #[must_use]
    pub fn patch(path: String, body: Value) -> Self {
        Self { path, query: Vec::new(), body: Some(body), method: Method::PATCH }
    }

    #[must_use]
    pub fn delete(path: String) -> Self {
        Self { path, query: Vec::new(), body: None, method: Method::DELETE }
    }

    #[must_use]
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Path and query as they stand in a URL.
    pub(crate) fn target(&self) -> String {
        let query: Vec<_> = self.query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, query.join("&"))
    }
}

/// Which pull requests are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Open,
    /// Closed or merged; an answer may hold others too.
    Done,
}

/// A kind of forge, and a repository there.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// The header that holds the token.
    fn authorization(&self, token: &Secret) -> String;

    /// Headers beside it.
    fn headers(&self) -> &'static [(&'static str, &'static str)];

    fn repository(&self) -> Call;

    fn read_access(&self, repository: &Value) -> Access;

    /// Newest first. The answer may hold those of other branches and forks.
    fn pull_requests(&self, head: &BranchName, which: Which) -> Call;

    fn pull_request(&self, number: u64) -> Call;

    fn read_pull_request(&self, value: Value) -> Result<PullRequest, serde_json::Error>;

    /// Asks for the commit that was merged, where the pull request itself does not tell it.
    fn merged_head(&self, _number: u64) -> Option<Call> {
        None
    }

    fn read_merged_head(&self, _number: u64, _value: Value) -> Option<CommitId> {
        None
    }

    fn new_pull_request(&self, new: &NewPullRequest) -> Call;

    fn issue(&self, number: u64) -> Call;

    /// None where it is a pull request.
    fn read_issue(&self, value: Value) -> Result<Option<Issue>, serde_json::Error>;

    /// How the work on issues is told there; none where that is not known yet.
    fn tracker(&self) -> Option<&dyn Tracker> {
        None
    }
}

/// What is asked of issues, and of people, by who works on issues.
pub(crate) trait Tracker: Send + Sync {
    /// Open ones, oldest first. The answer may hold pull requests.
    fn issues_labelled(&self, label: &str) -> Call;

    fn add_label(&self, issue: u64, label: &str) -> Call;

    fn remove_label(&self, issue: u64, label: &str) -> Call;

    /// In the order in which they were made.
    fn comments(&self, issue: u64) -> Call;

    fn comments_since(&self, issue: u64, since: Timestamp) -> Call;

    fn add_comment(&self, issue: u64, body: &str) -> Call;

    fn edit_comment(&self, comment: u64, body: &str) -> Call;

    fn delete_comment(&self, comment: u64) -> Call;

    fn read_comment(&self, value: Value) -> Result<Comment, serde_json::Error>;

    fn permission(&self, login: &str) -> Call;

    fn read_permission(&self, value: Value) -> Result<Option<Person>, serde_json::Error>;
}

pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

/// A commit's id, where the text is one.
pub(crate) fn commit(text: Option<String>) -> Option<CommitId> {
    text?.parse().ok()
}
