//! The trash: what was removed, and can come back.

use askama::Template;
use axum::extract::State;
use spinney_app::housekeeping::{self, Archives, Purge};
use spinney_app::{repositories, words};
use spinney_core::{WorkspaceId, WorkspaceStatus, in_full};
use spinney_engine::{plural, size};

use super::answer::{Asked, Id, Result, lead, within};
use super::frame::{Did, Frame};
use super::render;
use super::rows::size_of;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

#[derive(Template)]
#[template(path = "trash.html")]
struct TrashPage {
    frame: Frame,
    rows: Vec<TrashRow>,
    keep: String,
    /// `3 trees`.
    count: String,
    /// `30 archives, 1.2 GiB`; nothing where there are none.
    archives: String,
    /// Until when those are kept.
    archived: String,
}

struct TrashRow {
    id: String,
    name: String,
    repository: String,
    repository_id: String,
    branch: String,
    removed: String,
    until: String,
    size: String,
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let rows = housekeeping::trash(&engine, false).await?.into_iter().rev().map(|trashed| TrashRow {
        id: trashed.workspace.id.to_string(),
        name: trashed.workspace.name.to_string(),
        repository: trashed.workspace.repository.to_string(),
        repository_id: trashed.workspace.repository_id.to_string(),
        branch: trashed.workspace.branch.to_string(),
        removed: trashed.workspace.removed_at.map(words::ago).unwrap_or_default(),
        until: words::date(trashed.until),
        size: size_of(&trashed.workspace),
    });
    let keep = words::days(&engine.config().cleanup.trash_for.to_string());
    let rows: Vec<_> = rows.collect();
    let count = plural(rows.len(), "tree");
    let tallied = repositories::tally(&engine, None).await?;
    let found = Archives::of(tallied.iter().flat_map(|row| &row.tallies));
    let archives = archives_words(&found);
    let cleanup = &engine.config().cleanup;
    let archived = match (cleanup.archive_for.0.is_zero(), found.outgrow(cleanup)) {
        (false, _) => format!("each is kept for {}", words::days(&cleanup.archive_for.to_string())),
        (true, true) => "they take more than the live trees, and stay until somebody erases them".to_owned(),
        (true, false) => "they stay until somebody erases them".to_owned(),
    };
    Ok(render(&TrashPage { frame: Frame::new(&caller, "Trash", &did), rows, keep, count, archives, archived }))
}

/// `30 archives, 1.2 GiB`; nothing where there are none.
pub(super) fn archives_words(archives: &Archives) -> String {
    match usize::try_from(archives.count).unwrap_or(usize::MAX) {
        0 => String::new(),
        count => format!("{}, {}", plural(count, "archive"), size(archives.bytes)),
    }
}

/// Purges all that is in the trash.
pub(crate) async fn empty(State(app): State<App>, caller: Caller) -> Result {
    let engine = app.engine_of(&caller);
    let purged = within(&app, move || async move {
        let failed = housekeeping::purge(&engine, Purge::All, &|_| {}, &|_| {}).await?.failed;
        for (workspace, error) in &failed {
            tracing::warn!(name = %workspace.name, error = in_full(error), "it could not be purged");
        }
        Ok(failed.is_empty())
    });
    let code = match purged.await? {
        Some(true) => "emptied",
        Some(false) => "left",
        None => "going",
    };
    lead(&caller, "/trash", code)
}

/// Purges one workspace of the trash.
pub(crate) async fn purge_workspace(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    if workspace.status != WorkspaceStatus::Trashed {
        let (name, status) = (&workspace.name, workspace.status);
        return Err(ApiError::blocked(format!("{name} is not in the trash: it is {status}")).into());
    }
    let purged = within(&app, move || async move {
        match housekeeping::purge(&engine, Purge::These(vec![workspace]), &|_| {}, &|_| {}).await?.failed.pop() {
            Some((_, error)) => Err(error.into()),
            None => Ok(()),
        }
    });
    let code = if purged.await?.is_some() { "purged" } else { "going" };
    lead(&caller, &format!("/workspaces/{id}"), code)
}
