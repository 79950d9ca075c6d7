//! `spinney` alone: how the repository stands that one is in; elsewhere, what can be typed.

use std::path::Path;

use super::status;
use crate::app::{App, current_directory};
use crate::error::Result;
use crate::help;

pub async fn run(app: &App) -> Result<u8> {
    if app.ui.json || app.global.repo.is_some() || is_in_repository(&current_directory()?) {
        let status = status::run(app, status::StatusArgs {}).await?;
        app.ui.say("`spinney ls` lists the workspaces, `spinney --help` all commands");
        return Ok(status);
    }
    let page = help::grammar(false).render_help().ansi().to_string();
    app.ui.print_raw(page.trim_end());
    Ok(0)
}

/// Whether git would look for a repository here: help needs neither a home nor a store.
fn is_in_repository(directory: &Path) -> bool {
    let is_bare = |place: &Path| place.join("HEAD").is_file() && place.join("objects").is_dir();
    directory.ancestors().any(|place| place.join(".git").exists() || is_bare(place))
}
