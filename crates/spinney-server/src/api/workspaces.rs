//! Workspaces: found and made, judged, removed and brought back.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::workspaces::{self, Removal, Seen, list};
use spinney_app::{InvalidRequest, PageAsked, WorkRequest, document, repositories};
use spinney_core::work::parse_conversation;
use spinney_core::{BranchName, CommitId, Consent, Platform, ReasonCode, WorkKind};
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, OptionalBody, Path, Query};
use super::named;
use crate::app::App;
use crate::auth::Caller;
use crate::daemon::background;
use crate::error::{ApiError, Result};
use crate::operations::{Answer, begin};

/// Which workspaces are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListWorkspaces {
    /// Of this repository: its id, or `owner/name`.
    repository: Option<String>,
    /// With one of these statuses, separated by commas. Without: those that are not removed, but for those to read in.
    status: Option<String>,
    /// For work of this kind.
    #[param(value_type = Option<document::WorkKind>)]
    kind: Option<WorkKind>,
    /// With this text in the name, the title or the branch.
    #[param(max_length = 1000)]
    q: Option<String>,
    /// How many at most; without: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<ListWorkspaces>,
) -> Result<Json<document::WorkspacePage>> {
    let engine = app.engine_of(&caller);
    let repository = match &asked.repository {
        Some(text) => Some(repositories::find(&engine, text).await?.id),
        None => None,
    };
    let statuses = asked.status.as_deref().map(|text| named::words("status", text)).transpose()?;
    let which = list::Which { repository, statuses, kind: asked.kind, text: named::text("q", asked.q)? };
    let page = PageAsked { limit: asked.limit, cursor: asked.cursor.as_deref() };
    let found = workspaces::page(&engine, which, &page).await?;
    let told = |row: &list::Row| document::ListedWorkspace::of(&engine, &row.workspace, row.job.as_ref());
    Ok(Json(document::WorkspacePage { workspaces: found.rows.iter().map(told).collect(), next: found.next }))
}

/// A piece of work that wants its workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorkspace {
    /// Its id, or `owner/name`.
    repository: String,
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
    /// The conversation that asks: it gets the same workspace again.
    conversation: Option<String>,
}

impl NewWorkspace {
    fn request(self) -> Result<WorkRequest> {
        let invalid = |error| ApiError::usage(format!("`conversation`: {error}"));
        let request = WorkRequest {
            title: self.title,
            links: named::links(&self.links)?,
            conversation: self.conversation.as_deref().map(parse_conversation).transpose().map_err(invalid)?,
            base: self.base,
            branch: self.branch,
            head: self.head,
            sha: self.sha,
            fork: self.fork,
            suggest: self.suggest,
            ..WorkRequest::from(Platform::Api)
        };
        let request = named::titled(request.named(self.kind, self.key.as_deref())?)?;
        if request.work.is_none() {
            return Err(InvalidRequest::NoWork.into());
        }
        Ok(request)
    }
}

pub(crate) async fn create(State(app): State<App>, caller: Caller, Body(new): Body<NewWorkspace>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = repositories::find(&engine, &new.repository).await?;
    let request = new.request()?;
    let after = app.clone();
    begin(&app, &caller, "workspace.create", async move {
        let context = engine.require_repository(&row.id).await?;
        let created = workspaces::create(&engine, context, request, &|_| {}).await?;
        let document = document::ResolvedWorkspace::of(&engine, &created.resolution);
        let is_cold = created.is_made() && created.resolution.set_up_at.is_none();
        if created.is_made() {
            background::fill_pool(&after, engine, created.context);
        }
        Answer::new(if is_cold { StatusCode::CREATED } else { StatusCode::OK }, document)
    })
    .await
}

/// How much is told of a workspace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ShowWorkspace {
    /// Whether git is asked about its tree. Without, what it would say is `null`.
    #[serde(default)]
    details: bool,
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(asked): Query<ShowWorkspace>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.show", async move {
        let context = match asked.details {
            true => Some(engine.context_of(&row).await?),
            false => None,
        };
        let Seen { shown, jobs } = workspaces::show(&engine, context.as_ref(), &row).await?;
        Answer::ok(document::ShownWorkspace::of(&engine, &row, &shown, &jobs))
    })
    .await
}

pub(crate) async fn verdict(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.verdict", async move {
        let context = engine.context_of(&row).await?;
        let why = workspaces::why(&engine, &context, &row).await?;
        Answer::ok(document::Verdict::of(&engine, &row, &why.verdict))
    })
    .await
}

/// What may go with a workspace.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveWorkspace {
    /// Whether all may go that can be overridden.
    #[serde(default)]
    force: bool,
    /// The codes of the reasons that are let go, separated by commas.
    allow: Option<String>,
}

impl RemoveWorkspace {
    fn consent(&self) -> Result<Consent> {
        match (&self.allow, self.force) {
            (Some(_), true) => Err(ApiError::usage("`force` and `allow` do not go together")),
            (None, true) => Ok(Consent::Force),
            (None, false) => Ok(Consent::None),
            (Some(codes), false) => {
                let codes: Vec<ReasonCode> = named::words("allow", codes)?;
                Ok(Consent::Codes(codes.into_iter().collect()))
            }
        }
    }
}

pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(asked): Query<RemoveWorkspace>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let consent = asked.consent()?;
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.remove", async move {
        let context = engine.context_of(&row).await?;
        let gone = match workspaces::remove(&engine, &context, &row, &consent, false, &|_| {}).await? {
            Removal::Removed(removed) => removed.workspace,
            Removal::WouldGo => row,
        };
        Answer::ok(document::Workspace::of(&engine, &gone))
    })
    .await
}

/// How a workspace comes back.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RestoreWorkspace {
    /// A new branch for it, when its own is taken by now.
    #[schema(value_type = Option<String>)]
    branch: Option<BranchName>,
}

pub(crate) async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    OptionalBody(asked): OptionalBody<RestoreWorkspace>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = workspaces::find(&engine, &id).await?;
    begin(&app, &caller, "workspace.restore", async move {
        let context = engine.context_of(&row).await?;
        let restored = workspaces::restore(&engine, &context, &row, asked.branch, &|_| {}).await?;
        Answer::ok(document::Workspace::of(&engine, &restored))
    })
    .await
}

pub(crate) async fn pin(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Workspace>> {
    set_pinned(&app, &caller, &id, true).await
}

pub(crate) async fn unpin(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Workspace>> {
    set_pinned(&app, &caller, &id, false).await
}

async fn set_pinned(app: &App, caller: &Caller, id: &str, pinned: bool) -> Result<Json<document::Workspace>> {
    let engine = app.engine_of(caller);
    let row = workspaces::set_pinned(&engine, workspaces::find(&engine, id).await?, pinned).await?;
    Ok(Json(document::Workspace::of(&engine, &row)))
}
