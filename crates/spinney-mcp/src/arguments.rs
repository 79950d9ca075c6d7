//! What a tool is asked with. Each struct is read strictly, and its schema is what clients see.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spinney_app::{InvalidRequest, WorkRequest};
use spinney_core::work::parse_conversation;
use spinney_core::{AgentName, BranchName, CommitId, Platform, Work, WorkKind, WorkspaceStatus};
use utoipa::ToSchema;

use crate::error::{Fault, Result};

/// More than a title that a person reads.
const MAX_TEXT_CHARS: usize = 1000;
/// More than any work belongs to.
const MAX_LINKS: usize = 50;

/// Reads the arguments of a tool.
pub(crate) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Fault::invalid(format!("wrong arguments: {error}")))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InRepository {
    /// `owner/name`
    pub repository: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorkspace {
    /// `owner/name`
    pub repository: Option<String>,
    #[serde(flatten)]
    pub work: WorkAsked,
    /// A conversation: it gets the same workspace again.
    pub conversation: Option<String>,
}

/// A piece of work, as requests name it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct WorkAsked {
    #[schema(value_type = Option<spinney_app::document::WorkKind>)]
    pub kind: Option<WorkKind>,
    /// issue, pr, review: a number. thread: an id. task: words.
    pub key: Option<String>,
    pub title: Option<String>,
    /// Branch, tag or commit to start from.
    #[schema(value_type = Option<String>)]
    pub base: Option<BranchName>,
    /// Exactly this branch, for a task.
    #[schema(value_type = Option<String>)]
    pub branch: Option<BranchName>,
    /// A pr's own branch.
    #[schema(value_type = Option<String>)]
    pub head: Option<BranchName>,
    /// A pr's or review's commit, in full.
    #[schema(value_type = Option<String>)]
    pub sha: Option<CommitId>,
    /// The pr is from a fork.
    #[serde(default)]
    pub fork: bool,
    /// Shares the workspace of such work: `42`, `pr:9`.
    #[serde(default)]
    pub links: Vec<String>,
    /// A branch whose worktree is adopted.
    #[schema(value_type = Option<String>)]
    pub suggest: Option<BranchName>,
}

impl WorkAsked {
    /// A hint that leads to a workspace which is there already.
    pub(crate) fn leads_elsewhere(&self) -> Option<&'static str> {
        let hints =
            [("links", !self.links.is_empty()), ("suggest", self.suggest.is_some()), ("branch", self.branch.is_some())];
        hints.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// What is asked for, with a work or without.
    pub(crate) fn request(self) -> Result<WorkRequest> {
        if self.title.as_ref().is_some_and(|title| title.chars().count() > MAX_TEXT_CHARS || title.contains('\0')) {
            return Err(Fault::usage(format!("`title` has at most {MAX_TEXT_CHARS} characters, and no zero byte")));
        }
        if self.links.len() > MAX_LINKS {
            return Err(Fault::usage(format!("`links` are at most {MAX_LINKS}")));
        }
        let link = |text: &String| Work::link(text).map_err(|error| Fault::usage(format!("`links`: {error}")));
        let request = WorkRequest {
            title: self.title,
            base: self.base,
            branch: self.branch,
            head: self.head,
            sha: self.sha,
            fork: self.fork,
            links: self.links.iter().map(link).collect::<Result<_>>()?,
            suggest: self.suggest,
            ..WorkRequest::from(Platform::Api)
        };
        Ok(request.named(self.kind, self.key.as_deref())?)
    }
}

impl NewWorkspace {
    pub(crate) fn request(self) -> Result<WorkRequest> {
        let invalid = |error| Fault::usage(format!("`conversation`: {error}"));
        let conversation = self.conversation.as_deref().map(parse_conversation).transpose().map_err(invalid)?;
        let request = WorkRequest { conversation, ..self.work.request()? };
        if request.work.is_none() {
            return Err(InvalidRequest::NoWork.into());
        }
        Ok(request)
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListWorkspaces {
    /// `owner/name`
    pub repository: Option<String>,
    /// Default: those not removed.
    #[serde(default)]
    #[schema(value_type = Option<Vec<spinney_app::document::WorkspaceStatus>>)]
    pub status: Option<Vec<WorkspaceStatus>>,
    #[schema(value_type = Option<spinney_app::document::WorkKind>)]
    pub kind: Option<WorkKind>,
    /// A text in name, title or branch.
    pub q: Option<String>,
    /// At most 200.
    pub limit: Option<u32>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// One workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhichWorkspace {
    /// `owner/name`
    pub repository: Option<String>,
    /// Its name or id.
    pub name: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreWorkspace {
    /// `owner/name`
    pub repository: Option<String>,
    /// Its name or id.
    pub name: String,
    /// A new branch, when its own is taken.
    #[schema(value_type = Option<String>)]
    pub branch: Option<BranchName>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deliver {
    /// `owner/name`
    pub repository: Option<String>,
    /// Its name or id.
    pub name: String,
    /// Of the commit of what is left.
    pub message: Option<String>,
    /// Default: one where a forge takes it.
    pub pull_request: Option<bool>,
    /// Of the pull request.
    pub title: Option<String>,
    /// Of the pull request.
    pub body: Option<String>,
    #[serde(default)]
    pub draft: bool,
    /// Only tell what would happen.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListConflicts {
    /// `owner/name`
    pub repository: Option<String>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunJob {
    /// `owner/name`
    pub repository: Option<String>,
    /// Default: the only one.
    #[schema(value_type = Option<String>)]
    pub agent: Option<AgentName>,
    pub prompt: String,
    #[serde(flatten)]
    pub work: WorkAsked,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetJob {
    pub id: String,
    /// Tell a part of its log, too.
    #[serde(default)]
    pub log: bool,
    /// `next` of the part before.
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitForJob {
    pub id: String,
    /// At most so long. With a progress token up to 600, else 50.
    pub seconds: Option<u64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelJob {
    pub id: String,
    /// At once, without asking its agent.
    #[serde(default)]
    pub force: bool,
}
