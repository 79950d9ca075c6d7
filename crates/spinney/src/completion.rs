//! Completion in bash, zsh and fish, workspace names included.
//!
//! The shell's script asks this same program for candidates, by `SPINNEY_COMPLETE`; so the names are those of now.

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use spinney_core::Workspace;
use spinney_engine::Among;

use crate::app::App;
use crate::cli::{Cli, Global};
use crate::commands::completions::Shell;
use crate::environment::Environment;
use crate::error::{CliError, Result};

const VARIABLE: &str = "SPINNEY_COMPLETE";
const PROGRAM: &str = "spinney";

/// Answers a shell that asks for candidates, and ends the process; returns at once otherwise.
pub fn answer_shell(environment: &Environment) {
    if environment.value(VARIABLE).is_some() {
        CompleteEnv::with_factory(Cli::command).var(VARIABLE).bin(PROGRAM).completer(PROGRAM).complete();
    }
}

/// The script that a shell sources.
pub fn script(shell: Shell) -> Result<String> {
    let shells = Shells::builtins();
    let failed = || CliError::failed(format!("no completion for {}", shell.as_str()));
    let completer = shells.completer(shell.as_str()).ok_or_else(failed)?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| CliError::failed(format!("the completion script can't be made: {error}")))?;
    String::from_utf8(script).map_err(|_| failed())
}

/// Completes the names of live workspaces.
pub fn workspace_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(Among::Live))
}

/// Completes the names of workspaces in the trash.
pub fn trashed_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(Among::Trashed))
}

/// A shell that asks gets names or nothing, never an error.
fn candidates(among: Among) -> Vec<CompletionCandidate> {
    let workspaces = load(among).unwrap_or_default();
    let candidate = |workspace: Workspace| {
        let help = workspace.title.unwrap_or_else(|| workspace.branch.to_string());
        CompletionCandidate::new(workspace.name.as_str()).help(Some(help.into()))
    };
    workspaces.into_iter().map(candidate).collect()
}

fn load(among: Among) -> Option<Vec<Workspace>> {
    let app = App::new(default_options(), Environment::load());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let engine = app.engine().await.ok()?;
        let context = app.context_if_any(&engine).await.ok()?;
        engine.workspaces(context.as_ref().map(|context| &context.repository.id), among).await.ok()
    })
}

fn default_options() -> Global {
    Cli::parse_from([PROGRAM, "--quiet", "status"]).global
}
