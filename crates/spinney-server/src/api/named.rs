//! What requests name: repositories, workspaces and jobs of the caller's account. What is another's is not found.

use spinney_core::names::for_message;
use spinney_core::work::{InvalidWork, parse_number};
use spinney_core::{BranchName, CommitId, Job, JobId, Repository, RepositoryId, RepositoryName, Work, WorkKind};
use spinney_core::{Workspace, WorkspaceId};
use spinney_engine::{Context, Engine};
use spinney_jobs::Jobs;

use crate::error::{ApiError, Result};

/// More than a title that a person reads.
const MAX_TEXT_CHARS: usize = 1000;

/// Loads a repository by its id, or by `owner/name`.
pub(crate) async fn repository(engine: &Engine, text: &str) -> Result<Repository> {
    let unknown = || ApiError::not_found(format!("there is no repository `{}`", for_message(text)));
    let (account, node) = (engine.account(), engine.home().node());
    let mut db = engine.store().read().await?;
    let found = match (text.parse::<RepositoryId>(), text.parse::<RepositoryName>()) {
        (Ok(id), _) => db.repository(node, &id).await?,
        (_, Ok(name)) => db.repository_named(account, node, &name).await?,
        _ => None,
    };
    found.filter(|row| row.account == account && row.node == *node).ok_or_else(unknown)
}

/// Opens a repository that a request names.
pub(crate) async fn context(engine: &Engine, text: &str) -> Result<Context> {
    let row = repository(engine, text).await?;
    Ok(engine.require_repository(&row.id).await?)
}

pub(crate) async fn workspace(engine: &Engine, text: &str) -> Result<Workspace> {
    let id: WorkspaceId = text.parse().map_err(|_| unknown("workspace", text))?;
    match engine.require_workspace(&id).await {
        Err(spinney_engine::Error::UnknownWorkspace { .. }) => Err(unknown("workspace", text)),
        found => Ok(found?),
    }
}

pub(crate) async fn job(jobs: &Jobs<'_>, text: &str) -> Result<Job> {
    let id: JobId = text.parse().map_err(|_| unknown("job", text))?;
    match jobs.require(&id).await {
        Err(spinney_jobs::Error::UnknownJob { .. }) => Err(unknown("job", text)),
        found => Ok(found?),
    }
}

pub(crate) fn unknown(what: &str, text: &str) -> ApiError {
    ApiError::not_found(format!("there is no {what} `{}`", for_message(text)))
}

/// An id in a query.
pub(crate) fn id<T: std::str::FromStr>(field: &str, text: Option<&str>) -> Result<Option<T>> {
    let wrong = |text: &str| ApiError::usage(format!("`{field}`: `{}` is not an id", for_message(text)));
    text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

/// Words of a query, separated by commas: all when it is not there.
pub(crate) fn words<T>(field: &str, text: Option<&str>, all: &[T]) -> Result<Vec<T>>
where
    T: Copy + std::str::FromStr<Err: std::fmt::Display>,
{
    let Some(text) = text else { return Ok(all.to_vec()) };
    let parse = |word: &str| word.parse().map_err(|error| ApiError::usage(format!("`{field}`: {error}")));
    text.split(',').map(parse).collect()
}

/// A text that people read, of a length that they do; no database takes a zero byte.
pub(crate) fn text(field: &str, text: Option<String>) -> Result<Option<String>> {
    match &text {
        Some(value) if value.chars().count() > MAX_TEXT_CHARS || value.contains('\0') => {
            Err(ApiError::usage(format!("`{field}` has at most {MAX_TEXT_CHARS} characters, and no zero byte")))
        }
        _ => Ok(text),
    }
}

/// The fields of a request that name a piece of work.
#[derive(Debug, Default)]
pub(crate) struct NamedWork<'a> {
    pub kind: Option<WorkKind>,
    pub key: Option<&'a str>,
    pub branch: Option<&'a BranchName>,
    pub head: Option<&'a BranchName>,
    pub sha: Option<&'a CommitId>,
    pub fork: bool,
}

impl NamedWork<'_> {
    /// The work; none when no field names any.
    pub(crate) fn work(&self) -> Result<Option<Work>> {
        let usage = |message: &str| Err(ApiError::usage(message));
        if (self.head.is_some() || self.fork) && self.kind != Some(WorkKind::Pr) {
            return usage("`head` and `fork` go with the kind `pr`");
        }
        if self.sha.is_some() && !matches!(self.kind, Some(WorkKind::Pr | WorkKind::Review)) {
            return usage("`sha` goes with the kinds `pr` and `review`");
        }
        if self.branch.is_some() && !matches!(self.kind, None | Some(WorkKind::Task)) {
            return usage("`branch` goes with the kind `task`, or stands alone");
        }
        let invalid = |error: InvalidWork| ApiError::usage(format!("`key`: {error}"));
        let work = match (self.kind, self.key, self.branch) {
            (None, None, None) => return Ok(None),
            (None | Some(WorkKind::Task), None, Some(branch)) => Work::branch(branch),
            (Some(WorkKind::Issue), Some(key), _) => Work::issue(parse_number(key).map_err(invalid)?),
            (Some(WorkKind::Pr), Some(key), _) => Work::pr(parse_number(key).map_err(invalid)?),
            (Some(WorkKind::Review), Some(key), _) => Work::review(parse_number(key).map_err(invalid)?),
            (Some(WorkKind::Thread), Some(key), _) => Work::thread(key).map_err(invalid)?,
            (Some(WorkKind::Task), Some(key), _) => Work::task(key).map_err(invalid)?,
            (Some(WorkKind::Job), _, _) => return usage("work of the kind `job` is a job's own"),
            _ => return usage("`kind` and `key` go together"),
        };
        Ok(Some(work))
    }

    /// What a task is called, when nobody gave a title: its own words.
    pub(crate) fn title(&self, title: Option<String>) -> Result<Option<String>> {
        let own = || self.key.filter(|_| self.kind == Some(WorkKind::Task)).map(ToOwned::to_owned);
        text("title", title.or_else(own))
    }
}

/// Parses links to other work of the same repository.
/// More than any work belongs to.
const MAX_LINKS: usize = 50;

pub(crate) fn links(texts: &[String]) -> Result<Vec<Work>> {
    if texts.len() > MAX_LINKS {
        return Err(ApiError::usage(format!("`links`: {} are too many; {MAX_LINKS} is the most", texts.len())));
    }
    let link = |text: &String| Work::link(text).map_err(|error| ApiError::usage(format!("`links`: {error}")));
    texts.iter().map(link).collect()
}
