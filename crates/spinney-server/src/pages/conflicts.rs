//! Who would get in whose way. Git tries merges for it, so that it is asked for one repository at a time.

use std::collections::HashMap;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::workspaces;
use spinney_core::RepositoryId;
use spinney_engine::{Among, Conflicts, Opponent, plural};

use super::answer::{Asked, Result, within};
use super::frame::{Did, Frame};
use super::render;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

/// How many files a row names.
const NAMED: usize = 8;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ConflictsQuery {
    /// Its id; without, the only one there is.
    #[serde(default)]
    repository: String,
}

#[derive(Template)]
#[template(path = "conflicts.html")]
struct ConflictsPage {
    frame: Frame,
    repositories: Vec<(String, String, bool)>,
    is_slow: bool,
    found: Option<ConflictTable>,
}

struct ConflictTable {
    compared: String,
    rows: Vec<ConflictRow>,
    uncommitted: Vec<(Party, String)>,
    unknown: Vec<(Party, String)>,
}

struct ConflictRow {
    parties: [Party; 2],
    files: Vec<String>,
    more: usize,
}

struct Party {
    name: String,
    /// Its page; none for a base.
    id: Option<String>,
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Asked(asked): Asked<ConflictsQuery>) -> Result {
    let engine = app.engine_of(&caller);
    let known = engine.repositories().await?;
    let chosen: Option<RepositoryId> = match (asked.repository.as_str(), known.as_slice()) {
        ("", [only]) => Some(only.id.clone()),
        ("", _) => None,
        (text, _) => Some(text.parse().map_err(|_| ApiError::not_found("there is no such repository"))?),
    };
    let repositories = known.iter().map(|repository| {
        let is_chosen = Some(&repository.id) == chosen.as_ref();
        (repository.id.to_string(), repository.name.to_string(), is_chosen)
    });
    let repositories = repositories.collect();
    let (mut found, mut is_slow) = (None, false);
    if let Some(id) = chosen {
        let live = engine.workspaces(Some(&id), Among::Live).await?;
        let ids: HashMap<String, String> =
            live.iter().map(|workspace| (workspace.name.to_string(), workspace.id.to_string())).collect();
        let conflicts = within(&app, move || async move {
            let context = engine.require_repository(&id).await?;
            Ok(workspaces::conflicts(&engine, &context).await?)
        });
        let conflicts = conflicts.await?;
        is_slow = conflicts.is_none();
        found = conflicts.map(|conflicts| ConflictTable::new(&conflicts, &ids));
    }
    let frame = Frame::new(&caller, "Conflicts", &Did::default());
    Ok(render(&ConflictsPage { frame, repositories, is_slow, found }))
}

impl ConflictTable {
    fn new(conflicts: &Conflicts, ids: &HashMap<String, String>) -> Self {
        let party = |name: String| Party { id: ids.get(&name).cloned(), name };
        let rows = conflicts.found.iter().map(|conflict| ConflictRow {
            parties: [
                party(conflict.workspace.to_string()),
                match &conflict.with {
                    Opponent::Workspace(name) => party(name.to_string()),
                    Opponent::Base(branch) => Party { name: format!("base ({branch})"), id: None },
                },
            ],
            files: conflict.files.iter().take(NAMED).map(|file| file.display().to_string()).collect(),
            more: conflict.files.len().saturating_sub(NAMED),
        });
        let uncommitted = conflicts.uncommitted.iter();
        let unknown = conflicts.unknown.iter();
        Self {
            compared: plural(conflicts.compared, "workspace"),
            rows: rows.collect(),
            uncommitted: uncommitted.map(|(name, files)| (party(name.to_string()), plural(*files, "file"))).collect(),
            unknown: unknown.map(|(name, why)| (party(name.to_string()), why.clone())).collect(),
        }
    }
}
