//! `spinney adopt`: takes in worktrees that somebody else made.

use std::path::PathBuf;

use clap::Args;
use spinney_app::adoption::{self, Adopt};
use spinney_app::document;
use spinney_core::names::visible_line;
use spinney_core::{BranchName, NodeId};

use crate::app::{App, current_directory};
use crate::error::Result;
use crate::ui::style;

/// Take in worktrees that other tools made
///
/// Linked worktrees of this repository become workspaces where they are; nothing in them changes.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney adopt ../app-feature\n  spinney adopt --all\n  spinney adopt --from-home jcc603jftz"
)]
pub struct AdoptArgs {
    /// Directories of linked worktrees
    #[arg(required_unless_present_any = ["all", "from_home"])]
    paths: Vec<PathBuf>,
    /// All that this repository has and Spinney does not know
    #[arg(long, conflicts_with = "paths")]
    all: bool,
    /// Take over the workspaces of another Spinney home, which must be gone; all of them unless paths are given
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    from_home: Option<NodeId>,
    /// The branch that they are based on [default: `workspace.base`, else the remote's HEAD]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
}

pub async fn run(app: &App, args: AdoptArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let here = current_directory()?;
    let named: Vec<PathBuf> = args.paths.iter().map(|path| here.join(path)).collect();
    let which = match &args.from_home {
        Some(home) => Adopt::FromHome { home: home.clone(), paths: named },
        None if args.all => Adopt::Unknown,
        None => Adopt::These(named),
    };
    let outcomes = adoption::adopt(&engine, &context, &which, args.base.as_ref()).await?;
    let several = args.all || (args.from_home.is_some() && args.paths.is_empty());
    let mut adopted = Vec::new();
    let mut first_error = None;
    for outcome in outcomes {
        match outcome {
            Ok(workspace) => {
                app.ui.say(format!("{} on `{}`", style::paint(style::NAME, &workspace.name), workspace.branch));
                adopted.push(workspace);
            }
            // Of all, one that can't be taken in does not stop the rest.
            Err(error) if several => {
                app.ui.warn(visible_line(&error.to_string()));
                first_error.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if app.ui.json {
        let workspaces: Vec<_> = adopted.iter().map(|workspace| document::Workspace::of(&engine, workspace)).collect();
        app.ui.print_json(&document::Workspaces { workspaces, failed: None });
    } else if adopted.is_empty() && first_error.is_none() {
        app.ui.say(match &args.from_home {
            Some(from) => format!("nothing to adopt: home `{from}` has no worktree of this repository"),
            None => "nothing to adopt: every worktree is known".to_owned(),
        });
    } else {
        adopted.iter().for_each(|workspace| app.ui.print_path(&workspace.path));
    }
    match first_error {
        Some(error) if adopted.is_empty() => Err(error.into()),
        _ => Ok(0),
    }
}
