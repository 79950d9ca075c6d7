//! What there is beside workspaces and jobs: agents, sessions, nodes, conflicts, counts, the audit log.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::activity::EventFilter;
use spinney_app::housekeeping::Archives;
use spinney_app::repositories::Tallied;
use spinney_app::{Page, PageAsked, activity, document, repositories, workspaces};
use utoipa::IntoParams;

use super::extract::Query;
use super::named;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};
use crate::operations::{Answer, Begun, begin};

/// Whose.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InRepository {
    /// Its id, or `owner/name`.
    repository: String,
}

pub(crate) async fn agents(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<InRepository>,
) -> Result<Json<document::Agents>> {
    let engine = app.engine_of(&caller);
    let row = repositories::find(&engine, &asked.repository).await?;
    let begun = Begun::new(&app, move || async move {
        let context = engine.require_repository(&row.id).await?;
        Ok::<_, ApiError>(document::Agents { agents: document::Agent::all(&context) })
    });
    Ok(Json(begun.end().await?))
}

pub(crate) async fn conflicts(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<InRepository>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = repositories::find(&engine, &asked.repository).await?;
    begin(&app, &caller, "conflicts", async move {
        let context = engine.require_repository(&row.id).await?;
        Answer::ok(document::Conflicts::of(&workspaces::conflicts(&engine, &context).await?))
    })
    .await
}

/// Which sessions are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListSessions {
    /// In this workspace, by its id.
    workspace: Option<String>,
    /// Of this job, by its id.
    job: Option<String>,
    /// How many at most; without: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

pub(crate) async fn sessions(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<ListSessions>,
) -> Result<Json<document::SessionPage>> {
    let workspace = named::id("workspace", asked.workspace.as_deref())?;
    let job = named::id("job", asked.job.as_deref())?;
    let page = PageAsked { limit: asked.limit, cursor: asked.cursor.as_deref() };
    let Page { rows, next } = activity::sessions(&app.engine_of(&caller), workspace, job, &page).await?;
    Ok(Json(document::SessionPage { sessions: rows.iter().map(document::ListedSession::of).collect(), next }))
}

/// What of the inbox is listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListInbox {
    /// Only what nothing was done about.
    #[serde(default)]
    ignored: bool,
    /// How many at most; without: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

pub(crate) async fn inbox(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<ListInbox>,
) -> Result<Json<document::InboxPage>> {
    let page = PageAsked { limit: asked.limit, cursor: asked.cursor.as_deref() };
    let Page { rows, next } = activity::inbox(&app.engine_of(&caller), asked.ignored, &page).await?;
    let messages = rows.iter().map(|(_, message)| document::InboxMessage::of(message)).collect();
    Ok(Json(document::InboxPage { messages, next }))
}

pub(crate) async fn nodes(State(app): State<App>) -> Result<Json<document::Nodes>> {
    let engine = app.engine();
    let (own, nodes) = (engine.home().node(), activity::nodes(&engine).await?);
    Ok(Json(document::Nodes { nodes: nodes.iter().map(|node| document::Node::of(node, own)).collect() }))
}

pub(crate) async fn status(State(app): State<App>, caller: Caller) -> Result<Json<document::Status>> {
    let engine = app.engine_of(&caller);
    let limit = engine.config().limits.max_workspaces;
    let tallied = repositories::tally(&engine, None).await?;
    let status = |row: &Tallied| document::RepositoryStatus::tallied(&row.repository.name, limit, &row.tallies);
    let archives = Archives::of(tallied.iter().flat_map(|row| &row.tallies));
    Ok(Json(document::Status {
        repositories: tallied.iter().map(status).collect(),
        free_disk: engine.free_disk(),
        archives: document::Archives::of(&archives, &engine.config().cleanup),
    }))
}

/// Which events are listed: those of all that is named.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListEvents {
    /// Of this workspace, by its id.
    workspace: Option<String>,
    /// Of this repository, by its id.
    repository: Option<String>,
    /// Of this job, by its id.
    job: Option<String>,
    /// How many at most; without: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

pub(crate) async fn audit(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<ListEvents>,
) -> Result<Json<document::EventPage>> {
    let filter = EventFilter {
        workspace: named::id("workspace", asked.workspace.as_deref())?,
        repository: named::id("repository", asked.repository.as_deref())?,
        job: named::id("job", asked.job.as_deref())?,
    };
    let page = PageAsked { limit: asked.limit, cursor: asked.cursor.as_deref() };
    let Page { rows, next } = activity::events(&app.engine_of(&caller), &filter, &page).await?;
    let events = rows.iter().map(|(id, event)| document::Event::new(*id, event)).collect();
    Ok(Json(document::EventPage { events, next }))
}
