//! The trash: what was removed, and can come back.

use askama::Template;
use axum::extract::State;

use super::answer::{Asked, Result};
use super::frame::{Did, Frame};
use super::render;
use super::rows::size_of;
use crate::app::App;
use crate::auth::Caller;
use crate::words;

#[derive(Template)]
#[template(path = "trash.html")]
struct TrashPage {
    frame: Frame,
    rows: Vec<TrashRow>,
    keep: String,
}

struct TrashRow {
    id: String,
    name: String,
    repository: String,
    branch: String,
    removed: String,
    until: String,
    size: String,
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let rows = engine.trash(false).await?.into_iter().rev().map(|trashed| TrashRow {
        id: trashed.workspace.id.to_string(),
        name: trashed.workspace.name.to_string(),
        repository: trashed.workspace.repository.to_string(),
        branch: trashed.workspace.branch.to_string(),
        removed: trashed.workspace.removed_at.map(words::ago).unwrap_or_default(),
        until: words::date(trashed.until),
        size: size_of(&trashed.workspace),
    });
    let keep = words::days(&engine.config().cleanup.trash_for.to_string());
    let rows = rows.collect();
    Ok(render(&TrashPage { frame: Frame::new(&caller, "Trash", &did), rows, keep }))
}
