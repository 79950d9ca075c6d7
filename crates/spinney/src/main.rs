//! The command line: parses, runs one command, tells the outcome by its exit status.

mod ancestors;
mod app;
mod background;
mod claude_settings;
mod cli;
mod commands;
mod completion;
mod environment;
mod error;
mod file;
mod follow;
mod help;
mod jobs;
mod log;
mod mcp_settings;
mod members;
mod ui;

use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use crate::app::App;
use crate::cli::{Cli, Command};
use crate::environment::Environment;
use crate::error::CliError;

/// Whether the command line, wrong as it may be, is one of `exec`, whose own failures have a status of their own.
fn is_exec() -> bool {
    let matches = help::grammar(false).ignore_errors(true).try_get_matches();
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("exec"))
}

/// The stack of each of the daemon's threads. Only what is used of it takes memory.
const STACK_BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    let environment = Environment::load();
    #[cfg(feature = "fail-points")]
    if let Some(points) = environment.value("SPINNEY_FAIL") {
        spinney_engine::fail::arm(&points.to_string_lossy());
    }
    #[cfg(feature = "fail-points")]
    if let Some(provider) = environment.value("SPINNEY_PROVIDER") {
        spinney_engine::fail::use_provider(&provider.to_string_lossy());
    }
    completion::answer_shell(&environment);
    let parsed =
        help::grammar(help::asks_for_long()).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(asked) if !asked.use_stderr() => asked.exit(),
        // A group of commands, without one of them: its help is what is wanted.
        Err(asked) if asked.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => asked.exit(),
        Err(error) => {
            let mut error = CliError::from(error);
            if is_exec() {
                error = error.with_status(commands::exec::OWN_FAILURE);
            }
            error.print(std::env::args_os().any(|argument| argument == "--json"));
            return ExitCode::from(error.exit_status());
        }
    };
    let is_daemon = matches!(cli.command, Some(Command::Serve(_)));
    log::begin(&cli.global, is_daemon);
    // One command is one thing after the other; the daemon is many at once.
    let mut builder = match is_daemon {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    if is_daemon {
        builder.on_thread_start(spinney_engine::share_thread);
    }
    // As much as the main thread has: a command nests deeply on its way through jobs, engine and git.
    let runtime = match builder.thread_stack_size(STACK_BYTES).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            anstream::eprintln!("error: the runtime can't be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let app = App::new(cli.global, environment);
    let outcome = runtime.block_on(app.run(cli.command));
    app.ui.progress.clear();
    // What still runs on blocking threads (a walk nobody waits for) must not hold the process back.
    runtime.shutdown_background();
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            error.print(app.global.json);
            ExitCode::from(error.exit_status())
        }
    }
}
