//! `spinney exec`: runs a command in a workspace.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use clap::Args;
use spinney_engine::Among;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::{CliError, Result};

/// The status for a failure of ours, so that it can be told from the command's own.
pub const OWN_FAILURE: u8 = 125;

/// Run a command in a workspace, with its environment; gives the command's own status, 125 for a failure of ours
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney exec issue-42 -- cargo test")]
pub struct ExecArgs {
    /// A name, id, beginning of an id, or branch
    #[arg(add = workspace_names())]
    name: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub async fn run(app: &App, args: ExecArgs) -> Result<u8> {
    become_command(app, args).await.map(|never| match never {}).map_err(|error| error.with_status(OWN_FAILURE))
}

/// Never comes back when the command could be started: the process becomes it.
async fn become_command(app: &App, args: ExecArgs) -> Result<std::convert::Infallible> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::Live).await?;
    if !workspace.path.is_dir() {
        let spinney_core::Workspace { name, path, .. } = workspace;
        return Err(spinney_engine::Error::TreeMissing { name, path }.into());
    }
    let environment = engine.workspace_environment(&context, &workspace).await?;
    engine.touch(&workspace).await?;
    drop(engine);
    app.ui.progress.clear();
    #[expect(clippy::disallowed_methods, reason = "a person's command, which becomes this process")]
    let mut command = std::process::Command::new(&args.command[0]);
    command.args(&args.command[1..]).current_dir(&workspace.path).env_clear().envs(environment);
    let error = command.exec();
    let name = args.command[0].to_string_lossy();
    let name = spinney_core::names::for_message(&name);
    Err(CliError::failed(format!("`{name}` could not be started: {error}"))
        .hinted("a line of shell needs one: `spinney exec NAME -- sh -c 'LINE'`"))
}
