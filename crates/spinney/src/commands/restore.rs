//! `spinney restore`: brings a workspace back from the trash.

use clap::Args;
use spinney_app::{document, workspaces};
use spinney_core::{BranchName, Workspace};
use spinney_engine::{Among, Engine};

use crate::app::App;
use crate::commands::path::readable_path;
use crate::completion::trashed_names;
use crate::error::Result;
use crate::ui::style;

/// Bring a workspace back from trash or archive
///
/// It has the same directory, branch, index and files as before. Where another workspace has its name or branch by now, it
/// gets the same with a number: `issue-42-2`. `spinney undo` brings back the one removed last.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney restore issue-42\n  spinney restore issue-42 --branch issue-42-old")]
pub struct RestoreArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = trashed_names())]
    name: String,
    /// Put it on this new branch, when its own is taken by now
    #[arg(long, value_name = "NAME")]
    branch: Option<BranchName>,
}

pub async fn run(app: &App, args: RestoreArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (_, workspace) = app.workspace(&engine, &args.name, Among::Removed).await?;
    bring_back(app, &engine, &workspace, args.branch).await
}

/// Brings a workspace back, and says where it is.
pub async fn bring_back(app: &App, engine: &Engine, workspace: &Workspace, branch: Option<BranchName>) -> Result<u8> {
    let context = &engine.context_of(workspace).await?;
    let restored = workspaces::restore(engine, context, workspace, branch, &app.observer()).await?;
    let detached_at = engine.detached_at(context, &restored).await?;
    if app.ui.json {
        app.ui.print_json(&document::RestoredWorkspace {
            workspace: document::Workspace::of(engine, &restored),
            detached_at: detached_at.map(|commit| commit.to_string()),
            name_before: (restored.name != workspace.name).then(|| workspace.name.to_string()),
            branch_before: (restored.branch != workspace.branch).then(|| workspace.branch.to_string()),
        });
    } else {
        let place = match detached_at {
            Some(commit) => format!("detached at {}, on no branch", commit.short()),
            None => format!("on `{}`", restored.branch),
        };
        let renamed = if restored.name == workspace.name {
            String::new()
        } else {
            format!("; another workspace is called {} by now", workspace.name)
        };
        app.ui.say(format!("{} is back {place}{renamed}", style::paint(style::NAME, &restored.name)));
        app.ui.print_path(&readable_path(engine, &restored));
    }
    Ok(0)
}
