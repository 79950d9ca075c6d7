//! `context` and `conflicts`.

use serde_json::{Value, json};
use spinney_app::document::fit;
use spinney_app::repositories::{self, Tallied};
use spinney_app::{InvalidRequest, document, workspaces};

use crate::arguments::{InRepository, ListConflicts};
use crate::error::Result;
use crate::family::Family;
use crate::seat::Seat;

/// Where the client is, and what it may.
pub(crate) async fn context(seat: &Seat, asked: InRepository) -> Result<Value> {
    let engine = &seat.engine;
    let repository = seat.repository(asked.repository.as_deref()).await?;
    let limit = engine.config().limits.max_workspaces;
    let tallied = repositories::tally(engine, repository.as_ref()).await?;
    let status = |row: &Tallied| document::RepositoryStatus::tallied(&row.repository.name, limit, &row.tallies);
    let agents = match &repository {
        Some(row) => Some(document::Agent::all(&engine.require_repository(&row.id).await?)),
        None => None,
    };
    let job = Family::load(seat).await?.map(|family| document::OwnJob::of(&family.job, &family.children));
    let context = document::Context {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        account: engine.account().to_owned(),
        scope: seat.scope.into(),
        repositories: tallied.iter().map(status).collect(),
        agents,
        job,
    };
    Ok(json!(context))
}

/// Who would conflict with whom, a part at a time.
pub(crate) async fn conflicts(seat: &Seat, asked: ListConflicts) -> Result<Value> {
    let from = match asked.cursor.as_deref() {
        Some(text) => text.parse().map_err(|_| InvalidRequest::Cursor)?,
        None => 0,
    };
    let repository = seat.open_repository(asked.repository.as_deref()).await?;
    let mut found = workspaces::conflicts(&seat.engine, &repository).await?;
    if let Some(family) = Family::load(seat).await? {
        let mut names = Vec::new();
        for id in family.workspaces() {
            names.push(workspaces::find(&seat.engine, id.as_str()).await?.name);
        }
        found.retain_among(&names);
    }
    let mut document = json!(document::Conflicts::of(&found));
    let all = document["conflicts"].as_array_mut().map(std::mem::take).unwrap_or_default();
    Ok(fit::page(all, from, |rows, next| {
        document["conflicts"] = Value::from(rows);
        document["next"] = json!(next.map(|next| next.to_string()));
        document.clone()
    }))
}
