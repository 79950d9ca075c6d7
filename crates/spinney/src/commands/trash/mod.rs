//! `spinney trash`: what was removed, emptying it, and erasing what is left.

mod erase;

use clap::{Args, Subcommand};
use spinney_app::document;
use spinney_app::housekeeping::{self, Purge};
use spinney_core::Workspace;
use spinney_engine::{Among, Engine, Purged, size};

use self::erase::EraseArgs;
use crate::app::App;
use crate::background;
use crate::completion::trashed_names;
use crate::error::{CliError, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// List the trash, empty it, or erase what is left
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney trash ls --size\n  spinney trash purge issue-42\n  spinney trash purge --all\n  \
    spinney trash erase issue-42"
)]
pub struct TrashArgs {
    #[command(subcommand)]
    command: Option<TrashCommand>,
}

#[derive(Debug, Subcommand)]
enum TrashCommand {
    /// List what is in the trash, and until when
    #[command(after_help = "Example: spinney trash ls --size")]
    Ls {
        /// Tell what each takes on disk
        #[arg(long)]
        size: bool,
    },
    /// Delete removed workspaces whose time is over; files that exist nowhere else are archived first
    #[command(
        after_help = "`restore` works from the archive, too. Without names: what is due by `cleanup.trash_for` and `cleanup.trash_quota`.\n\n\
        Examples:\n  spinney trash purge\n  spinney trash purge issue-42\n  spinney trash purge --all"
    )]
    Purge {
        /// The workspaces: see `spinney ls --help`
        #[arg(add = trashed_names())]
        names: Vec<String>,
        /// All that is in the trash
        #[arg(long, conflicts_with = "names")]
        all: bool,
        /// Give way to everything else that runs
        #[arg(long, hide = true)]
        background: bool,
    },
    Erase(EraseArgs),
}

pub async fn run(app: &App, args: TrashArgs) -> Result<u8> {
    match args.command.unwrap_or(TrashCommand::Ls { size: false }) {
        TrashCommand::Ls { size } => ls(app, size).await,
        TrashCommand::Purge { names, all, background } => purge(app, &names, all, background).await,
        TrashCommand::Erase(args) => erase::run(app, args).await,
    }
}

async fn ls(app: &App, sizes: bool) -> Result<u8> {
    let engine = app.engine().await?;
    let mut trash = housekeeping::trash(&engine, sizes).await?;
    if app.global.repo.is_some() {
        let wanted = app.context(&engine).await?.repository.id;
        trash.retain(|trashed| trashed.workspace.repository_id == wanted);
    }
    if app.ui.json {
        let list: Vec<_> = trash.iter().map(|trashed| document::TrashedWorkspace::of(&engine, trashed)).collect();
        app.ui.print_json(&document::Trash { trash: list });
        return Ok(0);
    }
    if trash.is_empty() {
        app.ui.say("the trash is empty");
        return Ok(0);
    }
    let mut columns = vec!["NAME", "ID", "BRANCH", "REPOSITORY", "UNTIL"];
    if sizes {
        columns.push("SIZE");
    }
    let mut table = Table::with_header(&columns);
    for trashed in &trash {
        let workspace = &trashed.workspace;
        let mut cells = vec![
            Cell::styled(workspace.name.as_str(), style::NAME),
            Cell::from(workspace.id.as_str()),
            Cell::from(workspace.branch.as_str()),
            Cell::from(workspace.repository.to_string()),
            Cell::from(words::date(trashed.until)),
        ];
        if sizes {
            cells.push(Cell::from(trashed.bytes.map_or("?".to_owned(), size)));
        }
        table.row(cells);
    }
    app.ui.print_table(&table);
    app.ui.say("bring one back: spinney restore NAME");
    Ok(0)
}

async fn purge(app: &App, names: &[String], all: bool, in_background: bool) -> Result<u8> {
    if in_background {
        background::give_way();
    }
    let engine = app.engine().await?;
    let what = if all {
        Purge::All
    } else if names.is_empty() {
        Purge::Due
    } else {
        let mut named = Vec::new();
        for name in names {
            named.push(app.workspace(&engine, name, Among::Trashed).await?.1);
        }
        Purge::These(named)
    };
    let begins = |workspace: &Workspace| app.ui.progress.set(format!("purging {}", workspace.name));
    let purging = match housekeeping::purge(&engine, what, &begins, &app.observer()).await {
        Err(spinney_app::Error::SweepUnderWay) if in_background => return Ok(0),
        purging => purging?,
    };
    let failed = purging.failed.into_iter().map(|(workspace, error)| (workspace.name.to_string(), error.into()));
    let failed: Vec<(String, CliError)> = failed.collect();
    app.ui.progress.clear();
    tell(app, &engine, &purging.purged, &failed);
    Ok(failed.iter().map(|(_, error)| error.exit_status()).max().unwrap_or(0))
}

fn tell(app: &App, engine: &Engine, purged: &[Purged], failed: &[(String, CliError)]) {
    if app.ui.json {
        let done: Vec<_> = purged.iter().map(|purged| document::PurgedWorkspace::of(engine, purged)).collect();
        let failed: Vec<_> = failed.iter().map(|(name, error)| error.as_failure(name)).collect();
        app.ui.print_json(&document::Purge { purged: done, failed });
        return;
    }
    for Purged { workspace, archive, freed } in purged {
        let how = match archive {
            Some(place) => format!("its own files are archived in {}", place.display()),
            None => "it had no files to archive".to_owned(),
        };
        app.ui.say(format!("{}: {} freed; {how}", style::paint(style::NAME, &workspace.name), size(*freed)));
    }
    if purged.is_empty() && failed.is_empty() {
        app.ui.say("nothing is due");
    }
    failed.iter().for_each(|(_, error)| error.print(false));
}
