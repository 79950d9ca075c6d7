//! `spinney pin`, `spinney unpin`: no sweep takes a pinned workspace.

use clap::Args;
use spinney_app::{document, workspaces};
use spinney_engine::Among;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::Result;
use crate::ui::style;

/// Keep a workspace from every sweep
///
/// A person can still remove it.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney pin issue-42")]
pub struct PinArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = workspace_names())]
    name: String,
}

/// Let sweeps take a workspace again
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney unpin issue-42")]
pub struct UnpinArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = workspace_names())]
    name: String,
}

pub async fn run(app: &App, args: PinArgs) -> Result<u8> {
    set(app, &args.name, true).await
}

pub async fn run_unpin(app: &App, args: UnpinArgs) -> Result<u8> {
    set(app, &args.name, false).await
}

async fn set(app: &App, name: &str, pinned: bool) -> Result<u8> {
    let engine = app.engine().await?;
    let (_, workspace) = app.workspace(&engine, name, Among::Live).await?;
    let workspace = workspaces::set_pinned(&engine, workspace, pinned).await?;
    if app.ui.json {
        app.ui.print_json(&document::Workspace::of(&engine, &workspace));
    } else {
        let how = if pinned { "pinned: cleanup does not remove it" } else { "no longer pinned" };
        app.ui.say(format!("{} is {how}", style::paint(style::NAME, &workspace.name)));
    }
    Ok(0)
}
