//! `spinney status`: how many there are of what, and how much room is left.

use clap::Args;
use spinney_app::housekeeping::Archives;
use spinney_app::{document, repositories, workspaces};
use spinney_core::WorkspaceStatus;
use spinney_engine::{Among, Sizes, plural, size};

use crate::app::App;
use crate::background;
use crate::error::Result;
use crate::ui::table::{Cell, Table};

/// Show counts, limits and disk space
///
/// From the store, with a look whether each directory is there. Sizes are measured in the background when few are known.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney status --json")]
pub struct StatusArgs {}

pub async fn run(app: &App, _args: StatusArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let here = app.context_if_any(&engine).await?;
    let of_those = match &here {
        Some(context) => vec![context.repository.clone()],
        None => engine.repositories().await?,
    };
    let limit = here.as_ref().map_or(engine.config(), |context| context.config()).limits.max_workspaces;
    workspaces::notice_vanished(&engine, here.as_ref().map(|context| &context.repository.id)).await?;
    let mut rows = Vec::new();
    for repository in of_those {
        let of_it = engine.workspaces(Some(&repository.id), Among::All).await?;
        rows.push((repository, of_it));
    }
    let all: Vec<_> = rows.iter().flat_map(|(_, workspaces)| workspaces.iter().cloned()).collect();
    let sizes = Sizes::of(&all);
    background::measure_if_much_is_due(app, &engine, &sizes);
    let tallied = repositories::tally(&engine, here.as_ref().map(|context| &context.repository)).await?;
    let archives = Archives::of(tallied.iter().flat_map(|row| &row.tallies));
    if app.ui.json {
        let repositories = rows
            .iter()
            .map(|(repository, workspaces)| document::RepositoryStatus::of(&repository.name, limit, workspaces))
            .collect();
        let archives = document::Archives::of(&archives, &engine.config().cleanup);
        app.ui.print_json(&document::Status { repositories, free_disk: engine.free_disk(), archives });
        return Ok(0);
    }
    if rows.is_empty() {
        app.ui.say(match app.global.is_other_account() {
            true => "no repository yet: `spinney repo add URL` adds one",
            false => "no repository yet: run `spinney new --issue 42` in one, or `spinney repo add URL`",
        });
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
        app.ui.print_table(&table);
    }
    if sizes.known > 0 {
        let known = if sizes.known == sizes.trees { String::new() } else { format!(" {} of", sizes.known) };
        app.ui.say(format!("{} in{known} {}", size(sizes.bytes), plural(sizes.trees, "tree")));
    }
    if archives.count > 0 {
        let count = usize::try_from(archives.count).unwrap_or(usize::MAX);
        app.ui.say(format!("{} in {}", size(archives.bytes), plural(count, "archive")));
    }
    if archives.outgrow(&engine.config().cleanup) {
        app.ui.warn("the archives of removed workspaces take more than the live trees");
        app.ui.say(
            "`spinney trash erase --before 90d` deletes old ones for good; `cleanup.archive_for` does so by itself",
        );
    }
    if let Some(free) = engine.free_disk() {
        app.ui.say(format!("{} free in {}", size(free), engine.home().root().display()));
    }
    Ok(0)
}
