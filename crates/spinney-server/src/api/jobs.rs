//! Jobs: asked for, followed, ended, tried again.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use spinney_app::jobs::{self, JobAsked, Retry};
use spinney_app::{Front, PageAsked, Prompt, WorkRequest, document, repositories};
use spinney_core::{AgentName, BranchName, CommitId, Job, Platform, WorkKind};
use spinney_engine::Engine;
use spinney_jobs::{Busy, Jobs};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, OptionalBody, Path, Query};
use super::named;
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::idempotency;
use crate::operations::Begun;

/// Which jobs are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListJobs {
    /// Of this repository: its id, or `owner/name`.
    repository: Option<String>,
    /// With one of these statuses, separated by commas.
    status: Option<String>,
    /// Of this agent.
    #[param(value_type = Option<String>)]
    agent: Option<AgentName>,
    /// In this workspace, by its id.
    workspace: Option<String>,
    /// How many at most; without: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<ListJobs>,
) -> Result<Json<document::JobPage>> {
    let engine = app.engine_of(&caller);
    let repository = match &asked.repository {
        Some(text) => Some(repositories::find(&engine, text).await?.id),
        None => None,
    };
    let which = jobs::Which {
        repository,
        statuses: asked.status.as_deref().map(|text| named::words("status", text)).transpose()?,
        agent: asked.agent.map(|agent| agent.to_string()),
        workspace: named::id("workspace", asked.workspace.as_deref())?,
    };
    let page = PageAsked { limit: asked.limit, cursor: asked.cursor.as_deref() };
    let found = jobs::page(&engine, which, &page).await?;
    let documents = jobs::documents(&engine, &app.jobs(&engine)?, &found.rows, Front::Api).await?;
    Ok(Json(document::JobPage { jobs: documents, next: found.next }))
}

/// Something for an agent to do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskForJob {
    /// Its id, or `owner/name`.
    repository: String,
    /// Without: the only one that is configured.
    #[schema(value_type = Option<String>)]
    agent: Option<AgentName>,
    #[schema(min_length = 1, max_length = 1048576)]
    prompt: String,
    /// With `key`, the work that it is for. Without any, the job is its own work, and its workspace goes when it is done.
    #[schema(value_type = Option<document::WorkKind>)]
    kind: Option<WorkKind>,
    /// A number for `issue`, `pr` and `review`, an id for `thread`, words for `task`.
    key: Option<String>,
    title: Option<String>,
    /// The branch, tag or commit to start from.
    #[schema(value_type = Option<String>)]
    base: Option<BranchName>,
    /// A task on exactly this branch: instead of a kind and a key, or with those of a task.
    #[schema(value_type = Option<String>)]
    branch: Option<BranchName>,
    /// A pull request's own branch.
    #[schema(value_type = Option<String>)]
    head: Option<BranchName>,
    /// A pull request's commit, in full.
    #[schema(value_type = Option<String>)]
    sha: Option<CommitId>,
    /// Whether the pull request comes from a fork.
    #[serde(default)]
    fork: bool,
    /// Issues and pull requests that this belongs to, as `42` and `pr:9`: their workspace is shared.
    #[serde(default)]
    links: Vec<String>,
    /// A branch whose worktree is adopted, if there is one.
    #[schema(value_type = Option<String>)]
    suggest: Option<BranchName>,
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    subject: Option<Extension<idempotency::Subject>>,
    Body(asked): Body<AskForJob>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let prompt = Prompt::new(asked.prompt)?;
    let work = WorkRequest {
        title: asked.title,
        base: asked.base,
        branch: asked.branch,
        head: asked.head,
        sha: asked.sha,
        fork: asked.fork,
        links: named::links(&asked.links)?,
        suggest: asked.suggest,
        ..WorkRequest::from(Platform::Api)
    };
    let new = JobAsked {
        id: subject.map(|Extension(idempotency::Subject(id))| id),
        agent: asked.agent,
        prompt,
        work: named::titled(work.named(asked.kind, asked.key.as_deref())?)?,
        names_repository: true,
        busy: Busy::Wait,
        waits_for_room: true,
        batch: None,
    };
    let row = repositories::find(&engine, &asked.repository).await?;
    let own = app.clone();
    let begun = Begun::new(&app, move || async move {
        let context = engine.require_repository(&row.id).await?;
        let known = own.jobs(&engine)?;
        let job = jobs::submit(&known, context, new).await?;
        accepted(&engine, &known, &job).await
    });
    begun.end().await
}

async fn accepted(engine: &Engine, jobs: &Jobs<'_>, job: &Job) -> Result<Response> {
    let place = [(LOCATION, format!("/api/v1/jobs/{}", job.id))];
    Ok((StatusCode::ACCEPTED, place, Json(document::Job::load(engine, jobs, job, Front::Api).await?)).into_response())
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Job>> {
    let engine = app.engine_of(&caller);
    let known = app.jobs(&engine)?;
    let job = jobs::find(&known, &id).await?;
    Ok(Json(document::Job::load(&engine, &known, &job, Front::Api).await?))
}

/// How a job is to end.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelJob {
    /// At once, without asking its agent.
    #[serde(default)]
    force: bool,
}

pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    OptionalBody(asked): OptionalBody<CancelJob>,
) -> Result<Response> {
    let (engine, own) = (app.engine_of(&caller), app.clone());
    let begun = Begun::new(&app, move || async move {
        let known = own.jobs(&engine)?;
        let job = jobs::find(&known, &id).await?;
        accepted(&engine, &known, &jobs::cancel(&known, &job, asked.force).await?).await
    });
    begun.end().await
}

/// How a job is run again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryJob {
    /// Delivers the very commit that is held for a person.
    #[serde(default)]
    accept_held: bool,
}

pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    subject: Option<Extension<idempotency::Subject>>,
    Path(id): Path<String>,
    OptionalBody(asked): OptionalBody<RetryJob>,
) -> Result<Response> {
    let (engine, own) = (app.engine_of(&caller), app.clone());
    let mark = subject.map(|Extension(idempotency::Subject(mark))| mark);
    let begun = Begun::new(&app, move || async move {
        let known = own.jobs(&engine)?;
        let job = jobs::find(&known, &id).await?;
        let job = jobs::retry(&known, &job, &Retry { mark, accept_held: asked.accept_held }).await?;
        accepted(&engine, &known, &job).await
    });
    begun.end().await
}
