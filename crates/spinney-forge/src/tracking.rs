//! Issues as those ask about them who work on them: labels, comments.

use serde_json::Value;
use spinney_core::ForgeError;
use spinney_core::forge::{Comment, Issue, Person};

use crate::dialect::{Call, Tracker};
use crate::patience::Waits;
use crate::rest::RestForge;

/// More issues, or comments on one, than these pages hold are too many to look through.
const MAX_PAGES: u32 = 100;

/// What it means that there is no such thing to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    IsFine,
    IsAnError,
}

impl RestForge {
    pub(crate) fn tracker(&self) -> Result<&dyn Tracker, ForgeError> {
        let unsupported = || ForgeError::Unsupported { forge: self.forge.clone(), what: "labels, comments and people" };
        self.dialect.tracker().ok_or_else(unsupported)
    }

    pub(crate) async fn list_issues(&self, label: &str) -> Result<Vec<Issue>, ForgeError> {
        let listed = self.list(self.tracker()?.issues_labelled(label), &mut self.waits()).await?;
        let issues = listed.into_iter().map(|value| self.dialect.read_issue(value));
        let issues = issues.collect::<Result<Vec<_>, _>>().map_err(|error| self.unexpected(&error))?;
        // Whatever the forge filtered by: it ignores what it does not understand.
        Ok(issues.into_iter().flatten().filter(|issue| issue.has_label(label)).collect())
    }

    pub(crate) async fn list_comments(&self, issue: u64, waits: &mut Waits<'_>) -> Result<Vec<Comment>, ForgeError> {
        self.list_comments_of(self.tracker()?.comments(issue), waits).await
    }

    pub(crate) async fn list_comments_of(&self, call: Call, waits: &mut Waits<'_>) -> Result<Vec<Comment>, ForgeError> {
        let tracker = self.tracker()?;
        let listed = self.list(call, waits).await?;
        let comments = listed.into_iter().map(|value| tracker.read_comment(value)).collect::<Result<Vec<_>, _>>();
        let mut comments = comments.map_err(|error| self.unexpected(&error))?;
        comments.sort_by_key(|comment| comment.id);
        Ok(comments)
    }

    pub(crate) async fn write_comment(&self, issue: u64, body: &str) -> Result<Comment, ForgeError> {
        let mut waits = self.waits();
        let call = self.tracker()?.add_comment(issue, body);
        loop {
            match self.client.ask_once(&call, waits.answer_timeout()).await {
                Ok(reply) => {
                    let comment = self.tracker()?.read_comment(self.require(&reply)?);
                    return comment.map_err(|error| self.unexpected(&error));
                }
                Err(failure) => waits.wait(failure.later(&self.forge)?).await?,
            }
            // The try before may have arrived although its answer did not.
            let comments = self.list_comments(issue, &mut waits).await?;
            if let Some(found) = comments.into_iter().find(|comment| comment.body == body) {
                return Ok(found);
            }
        }
    }

    /// Makes a change that leaves what it finds done; tells whether there was something to change.
    pub(crate) async fn change(&self, call: &Call, missing: Missing) -> Result<bool, ForgeError> {
        let reply = self.client.ask(&self.forge, call, &mut self.waits()).await?;
        let is_missing = matches!(reply.status, 404 | 410) && missing == Missing::IsFine;
        if reply.is_success() || is_missing { Ok(!is_missing) } else { Err(self.refusal(&reply)) }
    }

    pub(crate) async fn find_person(&self, login: &str) -> Result<Option<Person>, ForgeError> {
        let tracker = self.tracker()?;
        let Some(value) = self.ask(&tracker.permission(login), &mut self.waits()).await? else { return Ok(None) };
        tracker.read_permission(value).map_err(|error| self.unexpected(&error))
    }

    /// All pages of a list.
    async fn list(&self, call: Call, waits: &mut Waits<'_>) -> Result<Vec<Value>, ForgeError> {
        let mut all = Vec::new();
        for page in 1..=MAX_PAGES {
            let call = call.clone().query("page", page.to_string());
            let reply = self.client.ask(&self.forge, &call, waits).await?;
            let Value::Array(listed) = self.require(&reply)? else {
                return Err(ForgeError::unexpected(&self.forge, "no list"));
            };
            all.extend(listed);
            if !reply.has_next_page() {
                return Ok(all);
            }
        }
        Err(ForgeError::unexpected(&self.forge, "a list longer than can be looked through"))
    }
}
