//! Schedules: listed, run now, paused, resumed.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::document;
use utoipa::IntoParams;

use super::extract::{Path, Query};
use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::operations::Begun;
use crate::schedules::{self, Change};

pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<document::Schedules>> {
    let (engine, own) = (app.engine_of(&caller), app.clone());
    let begun = Begun::new(&app, move || async move { schedules::load(&own, &engine).await });
    Ok(Json(begun.end().await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhichSchedule {
    /// As `owner/name`, where several repositories have such a schedule.
    repository: Option<String>,
}

type Named = Path<(String, String)>;

pub(crate) async fn run_now(
    State(app): State<App>,
    caller: Caller,
    Path((agent, name)): Named,
    Query(which): Query<WhichSchedule>,
) -> Result<Json<document::Schedule>> {
    change(&app, &caller, (agent, name), which, Change::RunNow).await
}

pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Path((agent, name)): Named,
    Query(which): Query<WhichSchedule>,
) -> Result<Json<document::Schedule>> {
    change(&app, &caller, (agent, name), which, Change::Pause).await
}

pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Path((agent, name)): Named,
    Query(which): Query<WhichSchedule>,
) -> Result<Json<document::Schedule>> {
    change(&app, &caller, (agent, name), which, Change::Resume).await
}

async fn change(
    app: &App,
    caller: &Caller,
    (agent, name): (String, String),
    which: WhichSchedule,
    change: Change,
) -> Result<Json<document::Schedule>> {
    let (engine, own) = (app.engine_of(caller), app.clone());
    let begun = Begun::new(app, move || async move {
        schedules::change(&own, &engine, (&agent, &name), which.repository.as_deref(), change).await
    });
    Ok(Json(begun.end().await?))
}
