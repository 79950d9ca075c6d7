//! What one kind of forge is asked, and how its answers read. No I/O.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use spinney_core::forge::{Access, Issue, NewPullRequest, PullRequest};
use spinney_core::{BranchName, CommitId, Secret};

use crate::url::encode;

/// One request, relative to the API's address.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    /// With one it is a POST.
    pub body: Option<Value>,
}

impl Call {
    pub fn get(path: String) -> Self {
        Self { path, query: Vec::new(), body: None }
    }

    pub fn post(path: String, body: Value) -> Self {
        Self { path, query: Vec::new(), body: Some(body) }
    }

    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// Path and query as they stand in a URL.
    pub fn target(&self) -> String {
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
}

pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

/// A commit's id, where the text is one.
pub(crate) fn commit(text: Option<String>) -> Option<CommitId> {
    text?.parse().ok()
}
