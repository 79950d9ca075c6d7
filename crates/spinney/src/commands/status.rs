//! `spinney status`: how many there are of what, and how much room is left.

use clap::Args;
use spinney_app::document;
use spinney_core::WorkspaceStatus;
use spinney_engine::{Among, Sizes, plural, size};

use crate::app::App;
use crate::background;
use crate::error::Result;
use crate::ui::table::{Cell, Table};

/// Tell the counts: workspaces by status for each repository, limits, disk
///
/// From the store alone; sizes are measured behind your back when too few are known.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney status --json")]
pub struct StatusArgs {}

pub async fn run(app: &App, _args: StatusArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let here = app.context_if_any(&engine).await?;
    let repositories = match &here {
        Some(context) => vec![context.repository.clone()],
        None => engine.repositories().await?,
    };
    let limit = here.as_ref().map_or(engine.config(), |context| context.config()).limits.max_workspaces;
    let mut rows = Vec::new();
    for repository in repositories {
        let workspaces = engine.workspaces(Some(&repository.id), Among::All).await?;
        rows.push((repository, workspaces));
    }
    let all: Vec<_> = rows.iter().flat_map(|(_, workspaces)| workspaces.iter().cloned()).collect();
    let sizes = Sizes::of(&all);
    background::measure_if_much_is_due(app, &engine, &sizes);
    if app.ui.json {
        let repositories = rows
            .iter()
            .map(|(repository, workspaces)| document::RepositoryStatus::of(&repository.name, limit, workspaces))
            .collect();
        app.ui.print_json(&document::Status { repositories, free_disk: engine.free_disk() });
        return Ok(0);
    }
    if rows.is_empty() {
        app.ui.say("no repository yet: run `spinney new --issue 42` in one, or `spinney repo add URL`");
    } else {
        let mut table = Table::with_header(&["REPOSITORY", "LIVE", "LIMIT", "WARM", "LOST", "BROKEN", "TRASH"]);
        for (repository, workspaces) in &rows {
            let count = |test: &dyn Fn(WorkspaceStatus) -> bool| {
                Cell::from(workspaces.iter().filter(|workspace| test(workspace.status)).count().to_string())
            };
            table.row([
                Cell::from(repository.name.to_string()),
                count(&WorkspaceStatus::is_of_work),
                Cell::from(limit.to_string()),
                count(&|status| status == WorkspaceStatus::Warm),
                count(&|status| status == WorkspaceStatus::Lost),
                count(&|status| status == WorkspaceStatus::Broken),
                count(&|status| status == WorkspaceStatus::Trashed),
            ]);
        }
        app.ui.print(table.render());
    }
    if sizes.known > 0 {
        let known = if sizes.known == sizes.trees { String::new() } else { format!(" {} of", sizes.known) };
        app.ui.say(format!("{} in{known} {}", size(sizes.bytes), plural(sizes.trees, "tree")));
    }
    if let Some(free) = engine.free_disk() {
        app.ui.say(format!("{} free in {}", size(free), engine.home().root().display()));
    }
    Ok(0)
}
