//! Issues on GitHub that have a label.
//!
//! To claim one:
//!
//! 1. comment on it, with a marker;
//! 2. read all comments: the oldest claim that stands counts; whose is not the oldest deletes it again and goes away;
//! 3. read the issue again: whoever had it before may have ended it since it was listed;
//! 4. label it as in progress, then take the other label off, so that it has one of them at any time.

use spinney_core::config::GithubSource as Config;
use spinney_core::forge::{Issue, IssueState};
use spinney_core::{Forge, ForgeKind, Job, Work};
use spinney_engine::{Context, Engine, fail};

use super::marker::{self, own, standing};
use super::{Doing, Item, Ticket, WorkSource};
use crate::{Error, Result};

#[derive(Debug)]
pub struct GithubSource {
    name: String,
    forge: Box<dyn Forge>,
    config: Config,
}

impl GithubSource {
    /// Speaks to the forge that a repository's remote is on.
    pub async fn open(engine: &Engine, context: &Context, config: &Config) -> Result<Self> {
        let fault = |message: String| Error::Source { message };
        let repository = &context.repository.name;
        let Some(place) = engine.forge_place(context).await? else {
            return Err(fault(format!("the remote of `{repository}` is on no forge that is configured")));
        };
        if place.kind != ForgeKind::Github {
            return Err(fault(format!("the remote of `{repository}` is on {}, not on GitHub", place.kind.title())));
        }
        let found = format!("{}/{}", place.owner, place.name);
        if !config.repo.is_empty() && !config.repo.eq_ignore_ascii_case(&found) {
            let wanted = &config.repo;
            return Err(fault(format!("it has the issues of `{wanted}`, and the agent works on `{found}`")));
        }
        let Some(forge) = engine.forge(context).await? else {
            return Err(fault(format!("the remote of `{repository}` is on no forge that is configured")));
        };
        let name = format!("github {} {}", place.api_url, found.to_lowercase());
        Ok(Self { name, forge, config: config.clone() })
    }

    fn is_ready(&self, issue: &Issue) -> bool {
        let labels = &self.config.labels;
        issue.state == IssueState::Open
            && issue.has_label(&labels.ready)
            && !issue.has_label(&labels.in_progress)
            && !self.config.exclude_labels.iter().any(|label| issue.has_label(label))
    }

    async fn take(&self, item: &Item, ticket: &Ticket) -> Result<bool> {
        let (number, labels) = (number(&item.key)?, &self.config.labels);
        let mine = self.forge.add_comment(number, &marker::claimed(ticket)).await?;
        fail::point("schedule.commented")?;
        let comments = self.forge.fetch_comments(number).await?;
        let is_first = standing(&comments, &mine.author).first().is_some_and(|first| first.job == ticket.job);
        let is_ready = is_first && self.forge.fetch_issue(number).await?.is_some_and(|issue| self.is_ready(&issue));
        if !is_ready {
            self.forge.delete_comment(mine.id).await?;
            return Ok(false);
        }
        self.forge.add_label(number, &labels.in_progress).await?;
        fail::point("schedule.labelled")?;
        self.forge.remove_label(number, &labels.ready).await?;
        Ok(true)
    }

    async fn give_back(&self, item: &str, ticket: &Ticket, why: &str) -> Result<()> {
        let (number, labels) = (number(item)?, &self.config.labels);
        let comments = self.forge.fetch_comments(number).await?;
        let Some(mine) = own(&comments, &ticket.job) else { return Ok(()) };
        let is_first = standing(&comments, &mine.author).first().is_some_and(|first| first.job == ticket.job);
        if !is_first {
            // It was somebody else's all the time.
            return Ok(self.forge.delete_comment(mine.id).await?);
        }
        let issue = self.forge.fetch_issue(number).await?;
        if issue.is_some_and(|issue| issue.has_label(&labels.in_progress)) {
            self.forge.add_label(number, &labels.ready).await?;
            self.forge.remove_label(number, &labels.in_progress).await?;
        }
        Ok(self.forge.edit_comment(mine.id, &marker::released(ticket, why)).await?)
    }

    /// With a pull request the issue stays as it is, until that closes it. Without one, it is nobody's any more.
    async fn end(&self, item: &str, ticket: &Ticket, job: &Job) -> Result<()> {
        let number = number(item)?;
        let comments = self.forge.fetch_comments(number).await?;
        let Some(mine) = own(&comments, &ticket.job) else { return Ok(()) };
        if job.outcome.pull_request.is_none() {
            self.forge.remove_label(number, &self.config.labels.in_progress).await?;
        }
        Ok(self.forge.edit_comment(mine.id, &marker::done(ticket, job)).await?)
    }
}

impl WorkSource for GithubSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn load_ready(&self) -> Doing<'_, Vec<Item>> {
        Box::pin(async move {
            let issues = self.forge.fetch_issues_labelled(&self.config.labels.ready).await?;
            let item = |issue: Issue| Item {
                key: issue.number.to_string(),
                title: issue.title,
                text: issue.body,
                work: Some(Work::issue(issue.number)),
            };
            Ok(issues.into_iter().filter(|issue| self.is_ready(issue)).map(item).collect())
        })
    }

    fn claim<'a>(&'a self, item: &'a Item, ticket: &'a Ticket) -> Doing<'a, bool> {
        Box::pin(self.take(item, ticket))
    }

    fn release<'a>(&'a self, item: &'a str, ticket: &'a Ticket, why: &'a str) -> Doing<'a, ()> {
        Box::pin(self.give_back(item, ticket, why))
    }

    fn finish<'a>(&'a self, item: &'a str, ticket: &'a Ticket, job: &'a Job) -> Doing<'a, ()> {
        Box::pin(self.end(item, ticket, job))
    }
}

fn number(item: &str) -> Result<u64> {
    item.parse().map_err(|_| Error::Source { message: format!("`{item}` is not the number of an issue") })
}
