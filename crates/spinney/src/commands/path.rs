//! `spinney path`: where a workspace is.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use spinney_core::Workspace;
use spinney_engine::{Among, Context, Engine};

use crate::app::{App, HERE, current_directory};
use crate::completion::workspace_names;
use crate::error::{CliError, Result};

/// Print where a workspace is
///
/// The directory itself, whose name is the workspace's id and never changes; with --link the readable link to it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  cd \"$(spinney path --link issue-42)\"\n  spinney path --main")]
pub struct PathArgs {
    /// The workspace: see `spinney ls --help` [default: the current one]
    #[arg(add = workspace_names(), conflicts_with = "main")]
    name: Option<String>,
    /// Print the link that has the workspace's name
    #[arg(long)]
    link: bool,
    /// Print the main checkout of the repository
    #[arg(long)]
    main: bool,
}

pub async fn run(app: &App, args: PathArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let path = match &args.name {
        None if args.main => main_checkout(&context_of_here(app, &engine).await?)?,
        name => find(app, &engine, name.as_deref().unwrap_or(HERE), args.link).await?,
    };
    if app.ui.json {
        app.ui.print_json(&json!({ "path": path }));
    } else {
        app.ui.print_path(&path);
    }
    Ok(0)
}

async fn find(app: &App, engine: &Engine, name: &str, link: bool) -> Result<PathBuf> {
    let workspace = match app.workspace(engine, name, Among::Live).await {
        Ok((_, workspace)) => workspace,
        // Whoever names the branch of the main checkout means that.
        Err(error) => match app.context_if_any(engine).await? {
            Some(context) if context.load_head_branch().await?.is_some_and(|branch| branch.as_str() == name) => {
                return main_checkout(&context);
            }
            _ => return Err(error),
        },
    };
    if !workspace.path.is_dir() {
        let Workspace { name, path, .. } = workspace;
        return Err(spinney_engine::Error::TreeMissing { name, path }.into());
    }
    Ok(if link { readable_path(engine, &workspace) } else { workspace.path })
}

/// The repository that one stands in, also where that is a workspace that went to the trash meanwhile.
async fn context_of_here(app: &App, engine: &Engine) -> Result<Context> {
    match app.context(engine).await {
        Ok(context) => Ok(context),
        Err(error) => match engine.workspace_around(&current_directory()?, Among::Trashed).await {
            Ok(workspace) => Ok(engine.context_of(&workspace).await?),
            Err(_) => Err(error),
        },
    }
}

fn main_checkout(context: &Context) -> Result<PathBuf> {
    context.repository.root.clone().ok_or_else(|| {
        CliError::not_found(format!("{} has no main checkout: it is a bare clone", context.repository.name))
            .hinted("`spinney ls` lists its workspaces")
    })
}

/// Where people find a workspace: by its name, where there is such a link.
pub fn readable_path(engine: &Engine, workspace: &Workspace) -> PathBuf {
    engine.require_link(workspace).unwrap_or_else(|| workspace.path.clone())
}
