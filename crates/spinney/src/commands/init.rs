//! `spinney init`: writes a commented `spinney.toml`.

use std::io::Write;

use clap::Args;
use serde_json::json;
use spinney_core::config::repository_template;
use spinney_engine::REPOSITORY_FILE;

use crate::app::App;
use crate::error::{CliError, Result};

/// Write a commented `spinney.toml` at the top of the repository
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney init && $EDITOR spinney.toml")]
pub struct InitArgs {}

pub async fn run(app: &App, _args: InitArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let Some(root) = context.git.root() else {
        return Err(CliError::usage(format!("{} is bare: it has no checkout to write to", context.repository.name))
            .hinted(format!("commit a `{REPOSITORY_FILE}` to its base branch instead")));
    };
    let path = root.join(REPOSITORY_FILE);
    let written =
        std::fs::File::create_new(&path).and_then(|mut file| file.write_all(repository_template().as_bytes()));
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(CliError::usage(format!("`{}` exists already", path.display()))
                .hinted("`spinney config show` tells what it sets"));
        }
        Err(error) => return Err(CliError::failed(format!("`{}` can't be written: {error}", path.display()))),
    }
    if app.ui.json {
        app.ui.print_json(&json!({ "path": path }));
    } else {
        app.ui.say("every key is in it as a comment; `spinney config show` tells what holds");
        app.ui.print(path.display());
    }
    Ok(0)
}
