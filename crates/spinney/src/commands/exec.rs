//! `spinney exec`: runs a command in a workspace.

use std::ffi::OsString;

use clap::Args;
use spinney_engine::Among;
use spinney_engine::executor::Invocation;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::{CliError, Result};

/// The status for a failure of ours, so that it can be told from the command's own.
pub const OWN_FAILURE: u8 = 125;

/// Run a command in a workspace, with its environment
///
/// Exits with the command's own status, or 125 when the command can't be started. Options of Spinney come before NAME.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney exec issue-42 cargo test\n  spinney exec issue-42 -- sh -c 'make && make check'"
)]
pub struct ExecArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = workspace_names())]
    name: String,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "CMD")]
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
    let invocation = Invocation {
        arguments: args.command[1..].to_vec(),
        environment: engine.workspace_environment(&context, &workspace).await?,
        ..Invocation::new(&args.command[0], &workspace.path)
    };
    engine.touch(&workspace).await?;
    let executor = engine.executor(Some(&workspace));
    drop(engine);
    app.ui.progress.clear();
    let error = match executor.become_program(&invocation) {
        Ok(never) => return Ok(never),
        Err(error) => error,
    };
    let name = args.command[0].to_string_lossy();
    let name = spinney_core::names::for_message(&name);
    Err(CliError::failed(format!("`{name}` could not be started: {error}"))
        .hinted("to run a shell line, start a shell: `spinney exec NAME -- sh -c 'LINE'`"))
}
