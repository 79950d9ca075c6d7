//! Issues of a team on Linear.

use std::sync::Arc;

use spinney_core::Work;
use spinney_core::config::LinearSource as Config;
use spinney_engine::{Engine, Linear, LinearComment, LinearIssue};

use super::board::{Board, BoardComment, BoardIssue};
use super::issues::IssueSource;
use super::marker::Form;
use super::{Doing, SourceFault};
use crate::told::Words;
use crate::{Error, Result};

pub(super) fn open(engine: &Engine, config: &Config, words: Arc<dyn Words>) -> Result<IssueSource> {
    let linear = engine.linear(&config.team)?;
    let api_url = engine.config().forge.of("linear").and_then(|linear| linear.api_url.as_ref());
    let name = format!("linear {} {}", api_url.map_or("", |url| url.as_str()), config.team);
    let board = Team { linear, key: config.team.clone() };
    Ok(IssueSource::new(name, Box::new(board), &config.labels, &config.exclude_labels, words))
}

#[derive(Debug)]
struct Team {
    linear: Linear,
    /// As `ENG` of `ENG-12`.
    key: String,
}

impl Team {
    fn number(&self, issue: &str) -> Result<u64> {
        let number = issue.strip_prefix(&self.key).and_then(|rest| rest.strip_prefix('-')?.parse().ok());
        let fault = || SourceFault::NotOfTeam { issue: issue.to_owned(), team: self.key.clone() };
        number.ok_or_else(|| Error::Source(fault()))
    }

    fn read_issue(&self, issue: LinearIssue) -> BoardIssue {
        let key = format!("{}-{}", self.key, issue.number);
        BoardIssue {
            is_open: issue.is_open,
            labels: issue.labels().map(ToOwned::to_owned).collect(),
            work: Work::task(&key).ok(),
            title: issue.title,
            text: issue.body,
            key,
        }
    }
}

impl Board for Team {
    /// Linear keeps no comments of HTML.
    fn form(&self) -> Form {
        Form::Code
    }

    fn fetch_labelled<'a>(&'a self, label: &'a str) -> Doing<'a, Vec<BoardIssue>> {
        Box::pin(async move {
            let issues = self.linear.fetch_issues_labelled(label).await?;
            Ok(issues.into_iter().map(|issue| self.read_issue(issue)).collect())
        })
    }

    fn fetch<'a>(&'a self, issue: &'a str) -> Doing<'a, Option<BoardIssue>> {
        Box::pin(async move {
            let issue = self.linear.fetch_issue(self.number(issue)?).await?;
            Ok(issue.map(|issue| self.read_issue(issue)))
        })
    }

    fn add_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.linear.add_label(self.number(issue)?, label).await?) })
    }

    fn remove_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.linear.remove_label(self.number(issue)?, label).await?) })
    }

    fn fetch_comments<'a>(&'a self, issue: &'a str) -> Doing<'a, Vec<BoardComment>> {
        Box::pin(async move {
            let comments = self.linear.fetch_comments(self.number(issue)?).await?;
            Ok(comments.into_iter().map(read_comment).collect())
        })
    }

    fn add_comment<'a>(&'a self, issue: &'a str, body: &'a str) -> Doing<'a, BoardComment> {
        Box::pin(async move {
            let comment = self.linear.add_comment(self.number(issue)?, &uuid::Uuid::new_v4().to_string(), body).await?;
            Ok(read_comment(comment))
        })
    }

    fn edit_comment<'a>(&'a self, comment: &'a str, body: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.linear.edit_comment(comment, body).await?) })
    }

    fn delete_comment<'a>(&'a self, comment: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.linear.delete_comment(comment).await?) })
    }

    fn close<'a>(&'a self, issue: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.linear.complete(self.number(issue)?).await?) })
    }
}

fn read_comment(comment: LinearComment) -> BoardComment {
    let LinearComment { id, author, from_inside, body, .. } = comment;
    BoardComment { id, author, from_inside, body }
}
