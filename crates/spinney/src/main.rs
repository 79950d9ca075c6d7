//! The command line: parses, runs one command, tells the outcome by its exit status.

mod app;
mod cli;
mod commands;
mod completion;
mod document;
mod environment;
mod error;
mod ui;

use std::process::ExitCode;

use clap::Parser;

use crate::app::App;
use crate::cli::Cli;
use crate::environment::Environment;

fn main() -> ExitCode {
    let environment = Environment::load();
    completion::answer_shell(&environment);
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
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
