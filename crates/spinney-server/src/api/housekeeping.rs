//! What keeps a place tidy: sweeps, the trash, pools.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use spinney_app::housekeeping::{self, Purge, SweepAsked};
use spinney_app::{Front, document, repositories, workspaces};
use spinney_core::{Timestamp, WorkspaceStatus};
use spinney_engine::What;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Body, OptionalBody, Query};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};
use crate::operations::{Answer, begin};

/// What a sweep looks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sweep {
    /// Workspaces whose branch is provably merged.
    Merged,
    /// Workspaces in which nothing happened for long.
    Stale,
    /// What store, git and disk disagree about.
    Orphans,
    /// Regenerable directories of idle workspaces.
    Caches,
    /// Merged, stale and orphans; forgets old jobs and conversations, and erases archives that are kept no longer, too.
    #[default]
    All,
}

/// A sweep.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskForCleanup {
    #[serde(default)]
    what: Sweep,
    /// Whether it only tells what would happen.
    #[serde(default)]
    dry_run: bool,
    /// Also workspaces whose pull request was closed without being merged.
    #[serde(default)]
    include_closed: bool,
    /// Of this repository: its id, or `owner/name`. Without: of all.
    repository: Option<String>,
}

impl AskForCleanup {
    fn what(&self) -> Result<What> {
        let what = match self.what {
            Sweep::Merged => What::MERGED,
            Sweep::Stale => What::STALE,
            Sweep::Orphans => What::ORPHANS,
            Sweep::Caches => What::CACHES,
            Sweep::All => What::ALL,
        };
        if self.include_closed && !what.merged {
            return Err(ApiError::usage("`include_closed` goes with `merged` and `all`"));
        }
        Ok(What { closed: self.include_closed, ..what })
    }
}

pub(crate) async fn cleanup(
    State(app): State<App>,
    caller: Caller,
    OptionalBody(asked): OptionalBody<AskForCleanup>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let what = asked.what()?;
    let repositories = match &asked.repository {
        Some(text) => vec![repositories::find(&engine, text).await?],
        None => engine.repositories().await?,
    };
    let own = app.clone();
    begin(&app, &caller, "cleanup", async move {
        let is_all = asked.what == Sweep::All;
        let sweep = SweepAsked { repositories, what, forget: is_all, archives: is_all, dry_run: asked.dry_run };
        let swept = housekeeping::sweep(&engine, &own.jobs(&engine)?, &sweep, &|_| {}).await?;
        Answer::ok(document::Cleanup::of(&engine, &swept, asked.dry_run, Front::Api))
    })
    .await
}

pub(crate) async fn trash(State(app): State<App>, caller: Caller) -> Result<Json<document::Trash>> {
    let engine = app.engine_of(&caller);
    let trash = housekeeping::trash(&engine, false).await?;
    let trash = trash.iter().map(|trashed| document::TrashedWorkspace::of(&engine, trashed)).collect();
    Ok(Json(document::Trash { trash }))
}

/// What is purged. Without anything: what is due.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PurgeTrash {
    /// The ids of workspaces in the trash.
    #[serde(default)]
    workspaces: Vec<String>,
    /// All that is in the trash.
    #[serde(default)]
    all: bool,
}

pub(crate) async fn purge(
    State(app): State<App>,
    caller: Caller,
    OptionalBody(asked): OptionalBody<PurgeTrash>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    if asked.all && !asked.workspaces.is_empty() {
        return Err(ApiError::usage("`all` and `workspaces` do not go together"));
    }
    let mut named = Vec::new();
    for id in &asked.workspaces {
        let row = workspaces::find(&engine, id).await?;
        if row.status != WorkspaceStatus::Trashed {
            return Err(ApiError::blocked(format!("{} is not in the trash: it is {}", row.name, row.status)));
        }
        named.push(row);
    }
    begin(&app, &caller, "trash.purge", async move {
        let what = match (asked.all, named.is_empty()) {
            (true, _) => Purge::All,
            (false, true) => Purge::Due,
            (false, false) => Purge::These(named),
        };
        let purging = housekeeping::purge(&engine, what, &|_| {}, &|_| {}).await?;
        Answer::ok(document::Purge::of(&engine, &purging, Front::Api))
    })
    .await
}

/// What is erased: what is named, or was removed before a time.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EraseTrash {
    /// The ids of workspaces in the trash, or purged from it.
    #[serde(default)]
    workspaces: Vec<String>,
    /// All that was removed before this time, as `2026-01-31T00:00:00Z`.
    before: Option<String>,
    /// Whether it only tells what would be gone.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn erase(State(app): State<App>, caller: Caller, Body(asked): Body<EraseTrash>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    if asked.before.is_some() != asked.workspaces.is_empty() {
        return Err(ApiError::usage("exactly one of `workspaces` and `before` says what is erased"));
    }
    let named = match &asked.before {
        Some(text) => {
            let before = Timestamp::parse(text)
                .ok_or_else(|| ApiError::usage("`before` is no time such as `2026-01-31T00:00:00Z`"))?;
            housekeeping::removed_before(&engine, None, before).await?
        }
        None => {
            let mut named = Vec::new();
            for id in &asked.workspaces {
                let row = workspaces::find(&engine, id).await?;
                if row.status.is_live() {
                    let message = format!("{} is {}: only what was removed can be erased", row.name, row.status);
                    return Err(ApiError::blocked(message));
                }
                named.push(row);
            }
            named
        }
    };
    begin(&app, &caller, "trash.erase", async move {
        Answer::ok(match asked.dry_run {
            true => document::Erase::asked(&engine, &housekeeping::erasable(&engine, named).await, Front::Api),
            false => document::Erase::done(&engine, &housekeeping::erase(&engine, named, &|_| {}).await, Front::Api),
        })
    })
    .await
}

/// Whose pools are told of.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OfRepository {
    /// Its id, or `owner/name`. Without: all.
    repository: Option<String>,
}

pub(crate) async fn pools(
    State(app): State<App>,
    caller: Caller,
    Query(asked): Query<OfRepository>,
) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let one = match &asked.repository {
        Some(text) => Some(repositories::find(&engine, text).await?),
        None => None,
    };
    begin(&app, &caller, "pool.status", async move {
        let one = match one {
            Some(row) => Some(engine.require_repository(&row.id).await?),
            None => None,
        };
        Answer::ok(document::Pools::of(&housekeeping::pools(&engine, one.as_ref()).await?, Front::Api))
    })
    .await
}

/// Whose pool is meant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThePool {
    /// Its id, or `owner/name`.
    repository: String,
}

pub(crate) async fn fill_pool(State(app): State<App>, caller: Caller, Body(asked): Body<ThePool>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = repositories::find(&engine, &asked.repository).await?;
    begin(&app, &caller, "pool.fill", async move {
        let context = engine.require_repository(&row.id).await?;
        Answer::ok(document::Filled::of(&housekeeping::fill_pool(&engine, context, &|_| {}).await?))
    })
    .await
}

pub(crate) async fn drain_pool(State(app): State<App>, caller: Caller, Body(asked): Body<ThePool>) -> Result<Response> {
    let engine = app.engine_of(&caller);
    let row = repositories::find(&engine, &asked.repository).await?;
    begin(&app, &caller, "pool.drain", async move {
        let context = engine.require_repository(&row.id).await?;
        Answer::ok(document::Drained::of(&housekeeping::drain_pool(&engine, &context, &|_| {}).await?))
    })
    .await
}
