//! `spinney restore`: brings a workspace back from the trash.

use clap::Args;
use spinney_app::{document, workspaces};
use spinney_core::BranchName;
use spinney_engine::Among;

use crate::app::App;
use crate::completion::trashed_names;
use crate::error::Result;
use crate::ui::style;

/// Bring a workspace back from the trash, or from its archive: same directory, branch, index and files
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney restore issue-42\n  spinney restore issue-42 --branch issue-42-old")]
pub struct RestoreArgs {
    /// A name, id, beginning of an id, or branch
    #[arg(add = trashed_names())]
    name: String,
    /// Put it on this new branch, when its own is taken by now
    #[arg(long, value_name = "NAME")]
    branch: Option<BranchName>,
}

pub async fn run(app: &App, args: RestoreArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::Removed).await?;
    let restored = workspaces::restore(&engine, &context, &workspace, args.branch, &app.observer()).await?;
    let detached_at = engine.detached_at(&context, &restored).await?;
    if app.ui.json {
        app.ui.print_json(&document::RestoredWorkspace {
            workspace: document::Workspace::of(&engine, &restored),
            detached_at: detached_at.map(|commit| commit.to_string()),
        });
    } else {
        let place = match detached_at {
            Some(commit) => format!("detached at {}, on no branch", commit.short()),
            None => format!("on `{}`", restored.branch),
        };
        app.ui.say(format!("{} is back {place}", style::paint(style::NAME, &restored.name)));
        app.ui.print_path(&restored.path);
    }
    Ok(0)
}
