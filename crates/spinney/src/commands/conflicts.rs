//! `spinney conflicts`: who would get in whose way.

use std::path::PathBuf;

use clap::Args;
use spinney_app::{document, workspaces};
use spinney_engine::{Among, Conflict, Conflicts, Opponent, plural};

use crate::app::App;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// How many files a row names.
const NAMED: usize = 5;

/// Say which workspaces would conflict
///
/// With each other, or with the base, and in which files.
///
/// Commits are merged in a scratch place: no tree, index or branch is touched, and nothing is fetched. Exits with 0 whether
/// there are conflicts or not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney conflicts\n  spinney conflicts --json | jq '.conflicts[].files'")]
pub struct ConflictsArgs {}

pub async fn run(app: &App, _args: ConflictsArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    app.ui.progress.set("trying merges".to_owned());
    let conflicts = workspaces::conflicts(&engine, &context).await?;
    app.ui.progress.clear();
    if app.ui.json {
        app.ui.print_json(&document::Conflicts::of(&conflicts));
        return Ok(0);
    }
    let compared = plural(conflicts.compared, "workspace");
    let name = &context.repository.name;
    let live = engine.workspaces(Some(&context.repository.id), Among::Live).await?.len();
    if conflicts.compared == 0 {
        app.ui.say(match live {
            0 => format!("{name}: there are no workspaces to compare"),
            1 => format!("{name}: nothing to compare: the one workspace has no commits of its own"),
            _ => format!("{name}: nothing to compare: none of {live} workspaces has commits of its own"),
        });
    } else if conflicts.found.is_empty() {
        app.ui.say(format!("{name}: nothing conflicts among {compared}"));
    } else {
        let count = plural(conflicts.found.len(), "conflict");
        app.ui.say(format!("{name}: {count} among {compared}"));
        app.ui.print_table(&table(&conflicts.found));
    }
    tell_what_was_not_judged(app, &conflicts);
    Ok(0)
}

fn tell_what_was_not_judged(app: &App, conflicts: &Conflicts) {
    for (name, count) in &conflicts.uncommitted {
        app.ui.say(format!("{name}: {} not committed, and so not judged", plural(*count, "file")));
    }
    for (name, why) in &conflicts.unknown {
        app.ui.warn(format!("{name} could not be judged: {}", words::plain(why)));
    }
}

fn table(conflicts: &[Conflict]) -> Table {
    let mut table = Table::with_header(&["WORKSPACE", "WITH", "COUNT", "FILES"]);
    for Conflict { workspace, with, files } in conflicts {
        let with = match with {
            Opponent::Workspace(name) => Cell::styled(name.as_str(), style::NAME),
            Opponent::Base(branch) => Cell::from(format!("base ({branch})")),
        };
        let workspace = Cell::styled(workspace.as_str(), style::NAME);
        table.row([workspace, with, files.len().to_string().into(), named(files).into()]);
    }
    table
}

/// The first few files.
fn named(files: &[PathBuf]) -> String {
    let shown = files.iter().take(NAMED).map(|file| file.to_string_lossy()).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
