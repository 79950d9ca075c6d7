//! What there is beside workspaces and jobs: agents, sessions, nodes, conflicts, counts, the audit log.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::document;
use spinney_store::{EventFilter, SessionSearch};
use utoipa::IntoParams;

use super::extract::Query;
use super::named;
use super::page::{self, Cursor};
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
    let row = named::repository(&engine, &asked.repository).await?;
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
    let row = named::repository(&engine, &asked.repository).await?;
    begin(&app, &caller, "conflicts", async move {
        let context = engine.require_repository(&row.id).await?;
        Answer::ok(document::Conflicts::of(&engine.conflicts(&context).await?))
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
    let page = page::asked(asked.limit, asked.cursor.as_deref())?;
    let search = SessionSearch {
        account: caller.account.to_string(),
        workspace: named::id("workspace", asked.workspace.as_deref())?,
        job: named::id("job", asked.job.as_deref())?,
    };
    let mut rows = app.engine().store().read().await?.session_page(&search, &page).await?;
    let next = page::cut(&mut rows, &page, |row| Cursor::behind(row.started_at, row.id.as_str()));
    Ok(Json(document::SessionPage { sessions: rows.iter().map(document::ListedSession::of).collect(), next }))
}

pub(crate) async fn nodes(State(app): State<App>) -> Result<Json<document::Nodes>> {
    let own = app.engine().home().node();
    let nodes = app.engine().store().read().await?.nodes().await?;
    Ok(Json(document::Nodes { nodes: nodes.iter().map(|node| document::Node::of(node, own)).collect() }))
}

pub(crate) async fn status(State(app): State<App>, caller: Caller) -> Result<Json<document::Status>> {
    let engine = app.engine_of(&caller);
    let limit = engine.config().limits.max_workspaces;
    let tallies = engine.store().read().await?.tally_workspaces(engine.account(), engine.home().node()).await?;
    let repositories = engine.repositories().await?;
    let repositories = repositories.iter().map(|row| {
        let own: Vec<_> = tallies.iter().filter(|tally| tally.repository == row.id).cloned().collect();
        document::RepositoryStatus::tallied(&row.name, limit, &own)
    });
    Ok(Json(document::Status { repositories: repositories.collect(), free_disk: engine.free_disk() }))
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
    let limit = page::limit(asked.limit)?;
    let number = |text: String| text.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(page::wrong_cursor);
    let before = asked.cursor.map(number).transpose()?;
    let filter = EventFilter {
        workspace: named::id("workspace", asked.workspace.as_deref())?,
        repository: named::id("repository", asked.repository.as_deref())?,
        job: named::id("job", asked.job.as_deref())?,
    };
    let mut db = app.engine().store().read().await?;
    let mut events = db.events_before(caller.account.as_str(), before, &filter, limit + 1).await?;
    let is_more = events.len() > limit as usize;
    events.truncate(limit as usize);
    let next = events.last().filter(|_| is_more).map(|(id, _)| id.to_string());
    let events = events.iter().map(|(id, event)| document::Event::new(*id, event)).collect();
    Ok(Json(document::EventPage { events, next }))
}
