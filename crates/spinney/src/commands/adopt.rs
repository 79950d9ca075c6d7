//! `spinney adopt`: takes in worktrees that somebody else made.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use spinney_core::BranchName;
use spinney_server::document;

use crate::app::{App, current_directory};
use crate::error::Result;
use crate::ui::style;

/// Take in linked worktrees of this repository that other tools made, as they are
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney adopt ../app-feature\n  spinney adopt --all")]
pub struct AdoptArgs {
    /// Directories of linked worktrees
    #[arg(required_unless_present = "all")]
    paths: Vec<PathBuf>,
    /// All that this repository has and Spinney does not know
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// The branch that they are based on [default: `workspace.base`, else the remote's HEAD]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
}

pub async fn run(app: &App, args: AdoptArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let here = current_directory()?;
    let paths = if args.all {
        engine.unknown_worktrees(&context).await?
    } else {
        args.paths.iter().map(|path| here.join(path)).collect()
    };
    let mut adopted = Vec::new();
    let mut first_error = None;
    for path in paths {
        match engine.adopt(&context, &path, args.base.clone()).await {
            Ok(workspace) => {
                app.ui.say(format!("{} on `{}`", style::paint(style::NAME, &workspace.name), workspace.branch));
                adopted.push(workspace);
            }
            // With `--all`, one that can't be taken in does not stop the rest.
            Err(error) if args.all => {
                app.ui.warn(&error);
                first_error.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if app.ui.json {
        let workspaces: Vec<_> = adopted.iter().map(|workspace| document::Workspace::of(&engine, workspace)).collect();
        app.ui.print_json(&json!({ "workspaces": workspaces }));
    } else if adopted.is_empty() && first_error.is_none() {
        app.ui.say("nothing to adopt: every worktree is known");
    } else {
        adopted.iter().for_each(|workspace| app.ui.print(workspace.path.display()));
    }
    match first_error {
        Some(error) if adopted.is_empty() => Err(error.into()),
        _ => Ok(0),
    }
}
