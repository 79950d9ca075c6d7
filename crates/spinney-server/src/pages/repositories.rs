//! Repositories, and the workspaces of one.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::jobs::{self, JobAsked};
use spinney_app::{InvalidRequest, Prompt, WorkRequest, document, repositories, workspaces};
use spinney_core::{BranchName, JobStatus, Platform, RepositoryId, WorkKind};
use spinney_engine::{Among, Sizes, size};
use spinney_jobs::Busy;

use super::answer::{Asked, Form, Id, PageError, Result, filled, lead, parsed, patiently, within};
use super::frame::{Did, Frame};
use super::render;
use super::rows::{JobRow, WorkspaceRow, running_in};
use crate::api::named;
use crate::api::repositories::NewRepository;
use crate::app::App;
use crate::auth::Caller;
use crate::daemon::background;
use crate::error::ApiError;
use crate::operations::Begun;

/// How many of a repository's jobs are shown.
const JOBS: u32 = 10;
/// More jobs than run at once.
const RUNNING: u32 = 200;

#[derive(Template)]
#[template(path = "repositories.html")]
struct RepositoriesPage {
    frame: Frame,
    rows: Vec<RepositoryRow>,
    /// Whether who looks may add one.
    may_add: bool,
}

struct RepositoryRow {
    id: String,
    name: String,
    place: String,
    live: usize,
    running: usize,
    warm: usize,
    trashed: usize,
    size: String,
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let workspaces = engine.workspaces(None, Among::All).await?;
    let running = app.jobs(&engine)?.list(None, &[JobStatus::Running], RUNNING).await?;
    let mut by_repository: HashMap<RepositoryId, Vec<_>> = HashMap::new();
    for workspace in workspaces {
        by_repository.entry(workspace.repository_id.clone()).or_default().push(workspace);
    }
    let rows = engine.repositories().await?.into_iter().map(|repository| {
        let own = by_repository.remove(&repository.id).unwrap_or_default();
        let count = |among: Among| own.iter().filter(|row| among.statuses().contains(&row.status)).count();
        let sizes = Sizes::of(&own);
        RepositoryRow {
            id: repository.id.to_string(),
            name: repository.name.to_string(),
            place: repository.url.unwrap_or_else(|| repository.common_dir.display().to_string()),
            live: count(Among::Live),
            running: running.iter().filter(|job| job.repository_id == repository.id).count(),
            warm: count(Among::Warm),
            trashed: count(Among::Trashed),
            size: if sizes.known > 0 { size(sizes.bytes) } else { String::new() },
        }
    });
    let rows = rows.collect();
    let frame = Frame::new(&caller, "Repositories", &did);
    let may_add = frame.may_write() && caller.account.is_local();
    Ok(render(&RepositoriesPage { frame, rows, may_add }))
}

/// The fields of the form that adds a repository.
#[derive(Debug, Deserialize)]
pub(crate) struct AddFields {
    /// A URL, or a path on the machine of the daemon.
    #[serde(default)]
    place: String,
    #[serde(default)]
    name: String,
}

/// Makes a repository known: a clone of a URL, or a checkout as it is.
pub(crate) async fn add(State(app): State<App>, caller: Caller, Form(form): Form<AddFields>) -> Result {
    let engine = app.engine_of(&caller);
    let place = filled(&form.place).ok_or_else(|| ApiError::usage("say where it is: a URL or a path"))?;
    let (place, add) = NewRepository::at(place, parsed(&form.name)?).checked(&engine, &caller)?;
    let added = within(&app, move || async move {
        let context = repositories::add(&engine, &place, engine.home().root(), &add, &|_| {}).await?;
        Ok(context.repository.id)
    });
    match added.await? {
        Some(id) => lead(&caller, &format!("/repositories/{id}"), "added"),
        None => lead(&caller, "/repositories", "going"),
    }
}

#[derive(Template)]
#[template(path = "repository.html")]
struct RepositoryPage {
    frame: Frame,
    id: String,
    name: String,
    place: String,
    workspaces: Vec<WorkspaceRow>,
    jobs: Vec<JobRow>,
    agents: Vec<document::Agent>,
    limit: u32,
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<RepositoryId>,
    Asked(did): Asked<Did>,
) -> Result {
    let engine = app.engine_of(&caller);
    let (own, of) = (engine.clone(), id.clone());
    let context = patiently(&app, move || async move { Ok(own.require_repository(&of).await?) }).await?;
    let jobs = app.jobs(&engine)?;
    let running = running_in(&jobs.list(Some(&id), &[JobStatus::Running], RUNNING).await?);
    let workspaces = engine.workspaces(Some(&id), Among::Live).await?;
    let recent = jobs.list(Some(&id), JobStatus::ALL, JOBS).await?;
    let repository = &context.repository;
    Ok(render(&RepositoryPage {
        frame: Frame::new(&caller, "Repositories", &did),
        id: id.to_string(),
        name: repository.name.to_string(),
        place: repository.url.clone().unwrap_or_else(|| repository.common_dir.display().to_string()),
        workspaces: workspaces.iter().map(|workspace| WorkspaceRow::new(workspace, &running)).collect(),
        jobs: recent.iter().map(JobRow::new).collect(),
        agents: document::Agent::offered(&context),
        limit: context.config().limits.max_workspaces,
    }))
}

/// The fields of a form that name a piece of work.
#[derive(Debug, Deserialize)]
pub(crate) struct WorkFields {
    /// A kind of work, `branch`, or nothing.
    #[serde(default)]
    kind: String,
    #[serde(default)]
    key: String,
    /// Empty: a task's own words.
    #[serde(default)]
    title: String,
    #[serde(default)]
    base: String,
}

impl WorkFields {
    /// What the fields name.
    fn request(&self) -> Result<WorkRequest> {
        let base = parsed(&self.base)?;
        let key = filled(&self.key);
        let (kind, branch): (Option<WorkKind>, Option<BranchName>) = match self.kind.as_str() {
            "" => (None, None),
            "branch" => (None, parsed(&self.key)?),
            kind => (Some(kind.parse().map_err(|error| ApiError::usage(format!("{error}")))?), None),
        };
        let key = key.filter(|_| kind.is_some());
        let title = filled(&self.title).map(ToOwned::to_owned);
        let request = WorkRequest { title, branch, base, ..WorkRequest::from(Platform::Api) };
        Ok(named::titled(request.named(kind, key)?)?)
    }
}

/// Gives a piece of work its workspace.
pub(crate) async fn create_workspace(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<RepositoryId>,
    Form(form): Form<WorkFields>,
) -> Result {
    let engine = app.engine_of(&caller);
    let (after, of) = (app.clone(), id.clone());
    let made = within(&app, move || async move {
        let context = engine.require_repository(&of).await?;
        let request = form.request()?;
        if request.work.is_none() {
            return Err(ApiError::usage(InvalidRequest::NoWork.to_string()).into());
        }
        let created = workspaces::create(&engine, context, request, &|_| {}).await?;
        let is_made = created.is_made();
        if is_made {
            background::fill_pool(&after, engine, created.context);
        }
        Ok((created.resolution.workspace.id, is_made))
    });
    match made.await? {
        Some((workspace, true)) => lead(&caller, &format!("/workspaces/{workspace}"), "made"),
        Some((workspace, false)) => lead(&caller, &format!("/workspaces/{workspace}"), "found"),
        None => lead(&caller, &format!("/repositories/{id}"), "going"),
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct JobFields {
    #[serde(default)]
    agent: String,
    #[serde(default)]
    prompt: String,
    #[serde(flatten)]
    work: WorkFields,
}

/// Starts a job.
pub(crate) async fn start_job(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<RepositoryId>,
    Form(form): Form<JobFields>,
) -> Result {
    let engine = app.engine_of(&caller);
    let own = app.clone();
    let begun: Begun<_, PageError> = Begun::new(&app, move || async move {
        let context = engine.require_repository(&id).await?;
        let empty = |_| ApiError::usage("the prompt is empty: say what to do");
        let new = JobAsked {
            id: None,
            agent: parsed(&form.agent)?,
            prompt: Prompt::new(form.prompt.replace("\r\n", "\n")).map_err(empty)?,
            work: form.work.request()?,
            names_repository: true,
            busy: Busy::Wait,
            waits_for_room: true,
            batch: None,
        };
        Ok(jobs::submit(&own.jobs(&engine)?, context, new).await?)
    });
    let job = begun.end().await?;
    lead(&caller, &format!("/jobs/{}", job.id), "started")
}
