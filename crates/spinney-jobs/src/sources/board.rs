//! A place where issues carry labels and comments, as far as taking work from it needs that.

use std::fmt;

use spinney_core::Work;

use super::Doing;
use super::marker::Form;

/// What is done there. Every change finds itself done when it is made again.
pub(super) trait Board: fmt::Debug + Send + Sync {
    /// How a comment's marker is written there.
    fn form(&self) -> Form;

    /// The open issues that have a label, oldest first.
    fn fetch_labelled<'a>(&'a self, label: &'a str) -> Doing<'a, Vec<BoardIssue>>;

    /// An issue, by its key.
    fn fetch<'a>(&'a self, issue: &'a str) -> Doing<'a, Option<BoardIssue>>;

    fn add_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()>;

    fn remove_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()>;

    /// In an order that all see alike.
    fn fetch_comments<'a>(&'a self, issue: &'a str) -> Doing<'a, Vec<BoardComment>>;

    fn add_comment<'a>(&'a self, issue: &'a str, body: &'a str) -> Doing<'a, BoardComment>;

    fn edit_comment<'a>(&'a self, comment: &'a str, body: &'a str) -> Doing<'a, ()>;

    fn delete_comment<'a>(&'a self, comment: &'a str) -> Doing<'a, ()>;

    /// Closes an issue whose work is done, where no pull request will; not every board does.
    fn close<'a>(&'a self, issue: &'a str) -> Doing<'a, ()>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoardIssue {
    pub key: String,
    pub title: String,
    /// Written by anybody: hostile.
    pub text: String,
    pub is_open: bool,
    pub labels: Vec<String>,
    pub work: Option<Work>,
}

impl BoardIssue {
    /// Whether it has a label, in whatever case.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|given| given.to_lowercase() == label.to_lowercase())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoardComment {
    pub id: String,
    pub author: String,
    /// Whether its author can set labels too.
    pub from_inside: bool,
    /// Written by anybody: hostile.
    pub body: String,
}
