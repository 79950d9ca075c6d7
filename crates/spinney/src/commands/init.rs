//! `spinney init`: writes a commented `spinney.toml`, Claude Code's settings, or the file that names MCP servers.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use spinney_core::config::repository_template;
use spinney_engine::{Among, Context, Engine, REPOSITORY_FILE};

use crate::app::{App, current_directory};
use crate::claude_settings;
use crate::commands::init_claude;
use crate::error::{CliError, Result};
use crate::file;
use crate::mcp_settings;

/// Write a commented `spinney.toml`
///
/// It goes to the top of the repository, or of the workspace that you are in.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney init && $EDITOR spinney.toml\n  spinney init --claude && claude --worktree dark-mode\n  \
                  spinney init --mcp && claude"
)]
pub struct InitArgs {
    /// Write `.claude/settings.json` instead, so that `claude --worktree` works in workspaces; keeps what else is in it
    ///
    /// Claude Code reads the settings of the worktree that it runs in. The command says what to commit for that.
    #[arg(long)]
    claude: bool,
    /// Write `.mcp.json` instead, so that agents' programs start `spinney mcp`; keeps what else is in it
    #[arg(long, conflicts_with = "claude")]
    mcp: bool,
}

pub async fn run(app: &App, args: InitArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let file = match (args.claude, args.mcp) {
        (true, _) => claude_settings::PLACE,
        (_, true) => mcp_settings::PLACE,
        _ => REPOSITORY_FILE,
    };
    let Some(root) = context.root() else {
        return Err(CliError::usage(format!("{} is bare: it has no checkout to write to", context.repository.name))
            .hinted(format!("commit a `{file}` to its base branch instead")));
    };
    let here = here(app, &engine, &context).await?;
    let path = here.as_deref().unwrap_or(root).join(file);
    if args.claude {
        return init_claude::run(app, &engine, &context, &path, here.is_some()).await;
    }
    let written = if args.mcp { write_mcp_settings(app, &path)? } else { write_template(app, &path)? };
    if app.ui.json {
        app.ui.print_json(&json!({ "path": path, "written": written }));
    } else {
        app.ui.print_path(&path);
    }
    Ok(0)
}

/// The workspace that the person stands in: what they write belongs to its branch.
async fn here(app: &App, engine: &Engine, context: &Context) -> Result<Option<PathBuf>> {
    if app.global.repo.is_some() {
        return Ok(None);
    }
    match engine.workspace_around(&current_directory()?, Among::Live).await {
        Ok(workspace) if workspace.repository_id == context.repository.id => Ok(Some(workspace.path)),
        Ok(_) | Err(spinney_engine::Error::OutsideWorkspaces { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn write_template(app: &App, path: &Path) -> Result<bool> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(repository_template().as_bytes()));
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(CliError::usage(format!("`{}` exists already", path.display()))
                .hinted("`spinney config show` tells what it sets"));
        }
        Err(error) => return Err(unwritable(path, &error)),
    }
    app.ui.say("it lists every key as a comment; `spinney config show` shows the values in force");
    Ok(true)
}

/// The options of this command that say which home and account are meant, for a command that starts elsewhere.
fn options(app: &App) -> Result<Vec<String>> {
    let absolute =
        |path: &PathBuf| -> Result<String> { Ok(current_directory()?.join(path).to_string_lossy().into_owned()) };
    let global = &app.global;
    let given = [
        ("--home", global.home.as_ref().map(absolute).transpose()?),
        ("--config", global.config.as_ref().map(absolute).transpose()?),
        ("--account", global.account.as_ref().map(ToString::to_string)),
    ];
    Ok(given.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?])).flatten().collect())
}

/// Gives whether there was anything to write.
fn write_mcp_settings(app: &App, path: &Path) -> Result<bool> {
    let settings = read(path)?;
    let merged = mcp_settings::with_server(settings.as_deref(), &options(app)?)
        .map_err(|error| stays(path, &error.to_string()))?;
    let Some(merged) = merged else {
        app.ui.say("it names a server `spinney` already; nothing to do");
        return Ok(false);
    };
    file::replace(path, &merged).map_err(|error| unwritable(path, &error))?;
    app.ui.say("agents that read this file now start `spinney mcp` here, after they asked you");
    Ok(true)
}

/// A settings file, if there is one.
pub fn read(path: &Path) -> Result<Option<String>> {
    match spinney_git::read_regular_text(path, spinney_git::SETTINGS_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::failed(format!("`{}` can't be read: {error}", path.display()))),
    }
}

pub fn stays(path: &Path, error: &str) -> CliError {
    CliError::usage(format!("`{}` stays as it is: {error}", path.display()))
        .hinted("mend or empty that part of it, and run the same command again")
}

pub fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::failed(format!("`{}` can't be written: {error}", path.display()))
}
