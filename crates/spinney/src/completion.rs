//! Completion in bash, zsh and fish, names of workspaces and jobs included.
//!
//! The shell's script asks this same program for candidates, by `SPINNEY_COMPLETE`; so the names are those of now.

use clap::{CommandFactory, Parser};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use spinney_app::jobs::{self, Which};
use spinney_app::{PageAsked, accounts};
use spinney_core::{AccountName, Job, RepositoryId, Token, Workspace};
use spinney_engine::{Among, Engine};

use crate::app::App;
use crate::cli::{Cli, Global};
use crate::commands::completions::Shell;
use crate::environment::Environment;
use crate::error::{CliError, Result};
use crate::ui::words;

const VARIABLE: &str = "SPINNEY_COMPLETE";
const LOAD_COMPDEF: &str = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }";
const PROGRAM: &str = "spinney";
/// More than anybody looks through.
const MAX_JOBS: u32 = 50;

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
    let script = String::from_utf8(script).map_err(|_| failed())?;
    Ok(match shell {
        // A `.zshrc` of one's own need not have loaded what `compdef` comes from.
        Shell::Zsh => script.replace("\ncompdef ", &format!("\n{LOAD_COMPDEF}\ncompdef ")),
        Shell::Bash | Shell::Fish => script,
    })
}

/// Completes the names of live workspaces.
pub fn workspace_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(Among::Live))
}

/// Completes the names of workspaces in the trash.
pub fn trashed_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| candidates(Among::Trashed))
}

/// Completes the ids of jobs, newest first.
pub fn job_ids() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |job: Job| {
            let help = format!("{} on {}, {}", job.agent, job.work.workspace_name(), job.status);
            CompletionCandidate::new(job.id.as_str()).help(Some(help.into()))
        };
        load(load_jobs).unwrap_or_default().into_iter().map(candidate).collect()
    })
}

/// Completes the names of configured agents.
pub fn agent_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let app = App::new(default_options(), Environment::load());
        let config = app.layers().and_then(|layers| Ok(layers.resolve()?.config));
        let agents = config.map(|config| config.agents).unwrap_or_default();
        agents.keys().map(|name| CompletionCandidate::new(name.as_str())).collect()
    })
}

/// Completes the names of accounts.
pub fn account_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let accounts =
            load(async |engine, _| accounts::list(engine, &AccountName::local()).await.ok()).unwrap_or_default();
        accounts.iter().map(|account| CompletionCandidate::new(account.name.as_str())).collect()
    })
}

/// Completes the names of tokens.
pub fn token_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let candidate = |token: Token| {
            let help = format!("{}, made {}", token.scope, words::ago(token.created_at));
            CompletionCandidate::new(token.name.as_str()).help(Some(help.into()))
        };
        load(async |engine, _| accounts::tokens(engine).await.ok())
            .unwrap_or_default()
            .into_iter()
            .map(candidate)
            .collect()
    })
}

/// A shell that asks gets names or nothing, never an error.
fn candidates(among: Among) -> Vec<CompletionCandidate> {
    let workspaces = load(async |engine, repository| engine.workspaces(repository, among).await.ok());
    let candidate = |workspace: Workspace| {
        let help = workspace.title.unwrap_or_else(|| workspace.branch.to_string());
        CompletionCandidate::new(workspace.name.as_str()).help(Some(help.into()))
    };
    workspaces.unwrap_or_default().into_iter().map(candidate).collect()
}

async fn load_jobs(engine: &Engine, repository: Option<&RepositoryId>) -> Option<Vec<Job>> {
    let which = Which { repository: repository.cloned(), ..Which::default() };
    let asked = PageAsked { limit: Some(MAX_JOBS), cursor: None };
    Some(jobs::page(engine, which, &asked).await.ok()?.rows)
}

/// Loads from the store alone: what others left half done is for a command that a person sees.
fn load<T>(load: impl AsyncFnOnce(&Engine, Option<&RepositoryId>) -> Option<T>) -> Option<T> {
    let app = App::new(default_options(), Environment::load());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let engine = app.open_engine().await.ok()?;
        let context = app.context_if_any(&engine).await.ok()?;
        load(&engine, context.as_ref().map(|context| &context.repository.id)).await
    })
}

fn default_options() -> Global {
    Cli::parse_from([PROGRAM, "--quiet", "status"]).global
}
