//! `spinney init`: writes a commented `spinney.toml`, or Claude Code's settings.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use clap::Args;
use serde_json::json;
use spinney_core::config::repository_template;
use spinney_engine::REPOSITORY_FILE;

use crate::app::App;
use crate::claude_settings;
use crate::error::{CliError, Result};
use crate::file;

/// Write a commented `spinney.toml` at the top of the repository
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney init && $EDITOR spinney.toml\n  spinney init --claude && claude --worktree dark-mode"
)]
pub struct InitArgs {
    /// Write `.claude/settings.json` instead, so that `claude --worktree` works in workspaces; keeps what else is in it
    #[arg(long)]
    claude: bool,
}

pub async fn run(app: &App, args: InitArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let file = if args.claude { claude_settings::PLACE } else { REPOSITORY_FILE };
    let Some(root) = context.root() else {
        return Err(CliError::usage(format!("{} is bare: it has no checkout to write to", context.repository.name))
            .hinted(format!("commit a `{file}` to its base branch instead")));
    };
    let path = root.join(file);
    let written = if args.claude { write_claude_settings(app, &path)? } else { write_template(app, &path)? };
    if app.ui.json {
        app.ui.print_json(&json!({ "path": path, "written": written }));
    } else {
        app.ui.print_path(&path);
    }
    Ok(0)
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
    app.ui.say("every key is in it as a comment; `spinney config show` tells what holds");
    Ok(true)
}

/// Gives whether there was anything to write.
fn write_claude_settings(app: &App, path: &Path) -> Result<bool> {
    let settings = match spinney_git::read_regular_text(path, spinney_git::SETTINGS_BYTES) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(CliError::failed(format!("`{}` can't be read: {error}", path.display()))),
    };
    let merged = claude_settings::with_hooks(settings.as_deref()).map_err(|error| {
        CliError::usage(format!("`{}` stays as it is: {error}", path.display()))
            .hinted("mend or empty that part of it, and run the same command again")
    })?;
    let Some(merged) = merged else {
        app.ui.say("its hooks call Spinney already; nothing to do");
        return Ok(false);
    };
    file::replace(path, &merged).map_err(|error| unwritable(path, &error))?;
    app.ui.say("`claude --worktree NAME` now works in a workspace, and removes it only if nothing could be missed");
    Ok(true)
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::failed(format!("`{}` can't be written: {error}", path.display()))
}
