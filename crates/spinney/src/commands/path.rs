//! `spinney path`: where a workspace is.

use clap::Args;
use serde_json::json;
use spinney_engine::Among;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::Result;

/// Print a workspace's path
#[derive(Debug, Args)]
#[command(after_help = "Example: cd \"$(spinney path issue-42)\"")]
pub struct PathArgs {
    /// A name, id, beginning of an id, or branch
    #[arg(add = workspace_names())]
    name: String,
}

pub async fn run(app: &App, args: PathArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (_, workspace) = app.workspace(&engine, &args.name, Among::Live).await?;
    if !workspace.path.is_dir() {
        let spinney_core::Workspace { name, path, .. } = workspace;
        return Err(spinney_engine::Error::TreeMissing { name, path }.into());
    }
    if app.ui.json {
        app.ui.print_json(&json!({ "path": workspace.path }));
    } else {
        app.ui.print_path(&workspace.path);
    }
    Ok(0)
}
