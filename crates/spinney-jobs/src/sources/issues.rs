//! Issues that move between two labels, and are claimed by comments.
//!
//! No board swaps a label only if nobody else did: two can set the same one at once, and neither notices. To claim an
//! issue:
//!
//! 1. look at it, and at its comments: what is not ready any more, or somebody's already, is left without a trace;
//! 2. label it as in progress: whoever looks from now on leaves it;
//! 3. comment on it, once, with a marker;
//! 4. read all comments: of those who looked at the same time, the oldest claim wins; who lost deletes its comment;
//! 5. look at it again: whoever had it before may have ended it meanwhile, or a person taken it back;
//! 6. take the other label off. It has one of them at any time, and both only between the second step and this one, which
//!    is how a death in between is told from an issue that is somebody's.

use std::sync::Arc;
use std::time::Duration;

use spinney_core::Job;
use spinney_core::config::SourceLabels;
use spinney_engine::fail;

use super::board::{Board, BoardComment, BoardIssue};
use super::marker::{self, own, standing};
use super::{Doing, Item, Ticket, WorkSource};
use crate::Result;
use crate::told::{Comment, GivenBack, Words};

/// How long a comment may take until everybody reads it.
const COMMENTS_SETTLE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct IssueSource {
    name: String,
    board: Box<dyn Board>,
    labels: SourceLabels,
    exclude_labels: Vec<String>,
    words: Arc<dyn Words>,
}

impl IssueSource {
    pub(super) fn new(
        name: String,
        board: Box<dyn Board>,
        labels: &SourceLabels,
        exclude_labels: &[String],
        words: Arc<dyn Words>,
    ) -> Self {
        Self { name, board, labels: labels.clone(), exclude_labels: exclude_labels.to_vec(), words }
    }

    fn comment(&self, ticket: &Ticket, comment: &Comment<'_>) -> String {
        marker::write(ticket, comment, self.board.form(), self.words.as_ref())
    }

    /// Whether it is there to be worked on, by whomever.
    fn is_offered(&self, issue: &BoardIssue) -> bool {
        issue.is_open
            && issue.has_label(&self.labels.ready)
            && !self.exclude_labels.iter().any(|label| issue.has_label(label))
    }

    fn is_ready(&self, issue: &BoardIssue) -> bool {
        self.is_offered(issue) && !issue.has_label(&self.labels.in_progress)
    }

    async fn is_free(&self, issue: &str) -> Result<bool> {
        let is_ready = self.board.fetch(issue).await?.is_some_and(|issue| self.is_ready(&issue));
        // Who we are is not known before we commented: who has claims here is from inside.
        Ok(is_ready && standing(&self.board.fetch_comments(issue).await?, "").is_empty())
    }

    async fn take(&self, issue: &str, ticket: &Ticket) -> Result<bool> {
        if !self.is_free(issue).await? {
            return Ok(false);
        }
        self.board.add_label(issue, &self.labels.in_progress).await?;
        fail::point("schedule.labelled")?;
        let mine = self.board.add_comment(issue, &self.comment(ticket, &Comment::Claimed)).await?;
        fail::point("schedule.commented")?;
        tokio::time::sleep(COMMENTS_SETTLE).await;
        let comments = self.board.fetch_comments(issue).await?;
        if !is_first(&comments, &mine.author, ticket) {
            // The labels are the winner's.
            self.board.delete_comment(&mine.id).await?;
            return Ok(false);
        }
        let found = self.board.fetch(issue).await?;
        let Some(found) = found.filter(|found| self.is_offered(found)) else {
            if !marker::is_anothers(&comments, &mine.author, &ticket.job) {
                self.board.remove_label(issue, &self.labels.in_progress).await?;
            }
            self.board.delete_comment(&mine.id).await?;
            return Ok(false);
        };
        if !found.has_label(&self.labels.in_progress) {
            // Who died at the same time put it back.
            self.board.add_label(issue, &self.labels.in_progress).await?;
        }
        self.board.remove_label(issue, &self.labels.ready).await?;
        Ok(true)
    }

    async fn give_back(&self, issue: &str, ticket: &Ticket, why: GivenBack) -> Result<()> {
        let comments = self.board.fetch_comments(issue).await?;
        let Some(mine) = own(&comments, &ticket.job) else {
            return self.take_label_back(issue, &comments).await;
        };
        if !is_first(&comments, &mine.author, ticket) {
            // It was somebody else's all the time.
            return self.board.delete_comment(&mine.id).await;
        }
        if self.board.fetch(issue).await?.is_some_and(|found| found.has_label(&self.labels.in_progress)) {
            self.board.add_label(issue, &self.labels.ready).await?;
            self.board.remove_label(issue, &self.labels.in_progress).await?;
        }
        self.board.edit_comment(&mine.id, &self.comment(ticket, &Comment::GivenBack(why))).await
    }

    /// Undoes the label of who came no further: an issue with both labels is on its way, and nobody's without a claim.
    async fn take_label_back(&self, issue: &str, comments: &[BoardComment]) -> Result<()> {
        let both = |found: BoardIssue| found.has_label(&self.labels.ready) && found.has_label(&self.labels.in_progress);
        if standing(comments, "").is_empty() && self.board.fetch(issue).await?.is_some_and(both) {
            self.board.remove_label(issue, &self.labels.in_progress).await?;
        }
        Ok(())
    }

    /// With a pull request the issue stays in progress until that closes it. Without one, it is nobody's any more.
    async fn end(&self, issue: &str, ticket: &Ticket, job: &Job) -> Result<()> {
        let comments = self.board.fetch_comments(issue).await?;
        let Some(mine) = own(&comments, &ticket.job) else { return Ok(()) };
        if job.outcome.pull_request.is_none() {
            self.board.remove_label(issue, &self.labels.in_progress).await?;
            self.board.close(issue).await?;
        }
        self.board.edit_comment(&mine.id, &self.comment(ticket, &Comment::Done(&job.outcome))).await
    }
}

impl WorkSource for IssueSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn load_ready(&self) -> Doing<'_, Vec<Item>> {
        Box::pin(async move {
            let issues = self.board.fetch_labelled(&self.labels.ready).await?;
            let item =
                |issue: BoardIssue| Item { key: issue.key, title: issue.title, text: issue.text, work: issue.work };
            Ok(issues.into_iter().filter(|issue| self.is_ready(issue)).map(item).collect())
        })
    }

    fn claim<'a>(&'a self, item: &'a Item, ticket: &'a Ticket) -> Doing<'a, bool> {
        Box::pin(self.take(&item.key, ticket))
    }

    fn release<'a>(&'a self, item: &'a str, ticket: &'a Ticket, why: GivenBack) -> Doing<'a, ()> {
        Box::pin(self.give_back(item, ticket, why))
    }

    fn finish<'a>(&'a self, item: &'a str, ticket: &'a Ticket, job: &'a Job) -> Doing<'a, ()> {
        Box::pin(self.end(item, ticket, job))
    }
}

fn is_first(comments: &[BoardComment], me: &str, ticket: &Ticket) -> bool {
    standing(comments, me).first().is_some_and(|first| *first == ticket.job)
}
