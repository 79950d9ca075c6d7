//! Jobs: asked for, followed, ended, tried again.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use spinney_app::jobs::{self, JobAsked, Retry};
use spinney_app::{Front, Prompt, WorkRequest, document};
use spinney_core::{AgentName, BranchName, CommitId, Job, JobStatus, Platform, WorkKind};
use spinney_engine::Engine;
use spinney_jobs::{Busy, Jobs};
use spinney_store::{JobFilter, JobSearch};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, OptionalBody, Path, Query};
use super::named;
use super::page::{self, Cursor};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::idempotency;
use crate::operations::Begun;

/// How much of a prompt a list tells.
const LISTED_PROMPT_CHARS: usize = 2000;

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
    let page = page::asked(asked.limit, asked.cursor.as_deref())?;
    let repository = match &asked.repository {
        Some(text) => Some(named::repository(&engine, text).await?.id),
        None => None,
    };
    let filter = JobFilter {
        account: engine.account().to_owned(),
        node: None,
        repository,
        statuses: named::words("status", asked.status.as_deref(), JobStatus::ALL)?,
    };
    let workspace = named::id("workspace", asked.workspace.as_deref())?;
    let search = JobSearch { filter, agent: asked.agent.map(|agent| agent.to_string()), workspace };
    let mut rows = engine.store().read().await?.job_page(&search, &page).await?;
    let next = page::cut(&mut rows, &page, |row| Cursor::behind(row.created_at, row.id.as_str()));
    for row in &mut rows {
        if let Some((end, _)) = row.prompt.char_indices().nth(LISTED_PROMPT_CHARS) {
            row.prompt.truncate(end);
        }
    }
    Ok(Json(document::JobPage { jobs: told(&app, &engine, &rows).await?, next }))
}

/// The documents of jobs, with what belongs to each, in two queries.
async fn told(app: &App, engine: &Engine, rows: &[Job]) -> Result<Vec<document::Job>> {
    let jobs = app.jobs(engine)?;
    let mut db = engine.store().read().await?;
    let ids: Vec<_> = rows.iter().map(|row| &row.id).collect();
    let sessions = db.sessions_of_all(&ids).await?;
    let places: Vec<_> = rows.iter().filter_map(|row| row.workspace_id.as_ref()).collect();
    let workspaces = db.workspaces_of_all(&places).await?;
    let document = |row: &Job| {
        let own: Vec<_> = sessions.iter().filter(|session| session.job_id == row.id).cloned().collect();
        let workspace = workspaces.iter().find(|workspace| Some(&workspace.id) == row.workspace_id.as_ref());
        document::Job::of(row, &own, workspace, &jobs.log_path(&row.id), Front::Api)
    };
    Ok(rows.iter().map(document).collect())
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
    };
    let row = named::repository(&engine, &asked.repository).await?;
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
    let jobs = app.jobs(&engine)?;
    let job = named::job(&jobs, &id).await?;
    Ok(Json(document::Job::load(&engine, &jobs, &job, Front::Api).await?))
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
        let job = named::job(&known, &id).await?;
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
        let job = named::job(&known, &id).await?;
        let job = jobs::retry(&known, &job, &Retry { mark, accept_held: asked.accept_held }).await?;
        accepted(&engine, &known, &job).await
    });
    begun.end().await
}
