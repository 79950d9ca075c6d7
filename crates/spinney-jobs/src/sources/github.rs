//! Issues on GitHub, of the repository that an agent works on.

use std::sync::Arc;

use spinney_core::config::GithubSource as Config;
use spinney_core::forge::{Comment, Issue, IssueState};
use spinney_core::{Forge, Work};
use spinney_engine::{Context, Engine, GITHUB};

use super::board::{Board, BoardComment, BoardIssue};
use super::issues::IssueSource;
use super::marker::Form;
use super::{Doing, SourceFault};
use crate::told::Words;
use crate::{Error, Result};

/// Speaks to the forge that a repository's remote is on.
pub(super) async fn open(
    engine: &Engine,
    context: &Context,
    config: &Config,
    words: Arc<dyn Words>,
) -> Result<IssueSource> {
    let repository = &context.repository.name;
    let no_forge = || Error::Source(SourceFault::NoForge { repository: repository.clone() });
    let Some(place) = engine.forge_place(context).await? else {
        return Err(no_forge());
    };
    if place.kind != &GITHUB {
        let (repository, forge) = (repository.clone(), place.kind.title);
        return Err(Error::Source(SourceFault::NotOnGithub { repository, forge }));
    }
    let found = format!("{}/{}", place.owner, place.name);
    if !config.repo.is_empty() && !config.repo.eq_ignore_ascii_case(&found) {
        return Err(Error::Source(SourceFault::OtherRepository { wanted: config.repo.clone(), found }));
    }
    let Some(forge) = engine.hasty_forge(context).await? else {
        return Err(no_forge());
    };
    let name = format!("github {} {}", place.api_url, found.to_lowercase());
    Ok(IssueSource::new(name, Box::new(Github { forge }), &config.labels, &config.exclude_labels, words))
}

#[derive(Debug)]
struct Github {
    forge: Box<dyn Forge>,
}

impl Board for Github {
    fn form(&self) -> Form {
        Form::Hidden
    }

    fn fetch_labelled<'a>(&'a self, label: &'a str) -> Doing<'a, Vec<BoardIssue>> {
        Box::pin(
            async move { Ok(self.forge.fetch_issues_labelled(label).await?.into_iter().map(read_issue).collect()) },
        )
    }

    fn fetch<'a>(&'a self, issue: &'a str) -> Doing<'a, Option<BoardIssue>> {
        Box::pin(async move { Ok(self.forge.fetch_issue(number(issue)?).await?.map(read_issue)) })
    }

    fn add_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.forge.add_label(number(issue)?, label).await?) })
    }

    fn remove_label<'a>(&'a self, issue: &'a str, label: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.forge.remove_label(number(issue)?, label).await?) })
    }

    fn fetch_comments<'a>(&'a self, issue: &'a str) -> Doing<'a, Vec<BoardComment>> {
        Box::pin(async move {
            let comments = self.forge.fetch_comments(number(issue)?).await?;
            Ok(comments.into_iter().map(read_comment).collect())
        })
    }

    fn add_comment<'a>(&'a self, issue: &'a str, body: &'a str) -> Doing<'a, BoardComment> {
        Box::pin(async move { Ok(read_comment(self.forge.add_comment(number(issue)?, body).await?)) })
    }

    fn edit_comment<'a>(&'a self, comment: &'a str, body: &'a str) -> Doing<'a, ()> {
        Box::pin(async move {
            self.forge.edit_comment(number(comment)?, body).await?;
            Ok(())
        })
    }

    fn delete_comment<'a>(&'a self, comment: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(self.forge.delete_comment(number(comment)?).await?) })
    }

    /// Leaves it open: what was not asked to become a pull request is for a person to look at.
    fn close<'a>(&'a self, _issue: &'a str) -> Doing<'a, ()> {
        Box::pin(async move { Ok(()) })
    }
}

fn read_issue(issue: Issue) -> BoardIssue {
    BoardIssue {
        key: issue.number.to_string(),
        is_open: issue.state == IssueState::Open,
        title: issue.title,
        text: issue.body,
        labels: issue.labels,
        work: Some(Work::issue(issue.number)),
    }
}

fn read_comment(comment: Comment) -> BoardComment {
    let Comment { id, author, from_inside, body } = comment;
    BoardComment { id: id.to_string(), author, from_inside, body }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::Source(SourceFault::NoNumber { text: text.to_owned() }))
}
