//! `spinney trust`: a person agrees to what the repository's own file would run, to the agents that it sets, and to what
//! its own git configuration makes git run.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use spinney_app::{document, trust};
use spinney_core::config::{Resolved, Source, TrustRequest};
use spinney_core::{AgentName, CommitId, RepositoryName};
use spinney_engine::{Context, Engine};
use spinney_git::Executing;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::ui::words;

/// Agree to what a repository's own settings run
///
/// These are the `setup` commands and agents of its `spinney.toml`, and the programs that its git configuration names.
///
/// They are shown first, and remembered by content: when they change, they are shown again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney trust\n  spinney trust --yes\n  spinney trust --commit SHA")]
pub struct TrustArgs {
    /// Agree without being asked
    #[arg(long, short)]
    yes: bool,
    /// Agree to run `setup` in this commit of a fork or a review
    #[arg(long, value_name = "SHA")]
    commit: Option<CommitId>,
}

pub async fn run(app: &App, args: TrustArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let name = &context.repository.name;
    if let Some(commit) = &args.commit {
        return trust_commit(app, &engine, &context, commit, args.yes).await;
    }
    let asked = trust::load(&engine, &context).await?;
    let is_asked = !asked.is_empty();
    if is_asked {
        if !app.ui.json {
            asked.request.iter().for_each(|request| show(app, name, request));
            show_settings(app, name, &asked.settings);
        }
        if !args.yes && !confirmed(app)? {
            return Err(CliError::failed(
                "not trusted: Spinney does not use the repository's `setup` and agents, and git does not run these programs",
            ));
        }
    }
    trust::agree(&engine, &context, &asked).await?;
    match (app.ui.json, is_asked) {
        (true, _) => {
            let (setup, agents) = match &asked.request {
                Some(request) => (&request.setup, request.agents.clone()),
                None => (&context.config().workspace.setup, agents_of_repository(&context.resolved)),
            };
            app.ui.print_json(&document::Trusted::of(name, setup, &agents, &asked.own.executing));
        }
        (false, true) => app.ui.say("trusted, until it changes"),
        (false, false) => app.ui.say(format!("{name}: nothing that needs trust, or trusted already")),
    }
    Ok(0)
}

/// Shows what git would run because the repository's own configuration says so.
fn show_settings(app: &App, name: &RepositoryName, settings: &[Executing]) {
    if settings.is_empty() {
        return;
    }
    app.ui.say(format!("the git configuration of {name} changed since you trusted it last; git would now run:"));
    for Executing { key, value, file } in settings {
        let (key, value) = (words::plain(key), words::plain(value));
        app.ui.say(format!("  {key} = {value}  ({})", file.display()));
    }
}

/// Agrees to run `setup` with what one commit holds, though a stranger wrote it.
async fn trust_commit(app: &App, engine: &Engine, context: &Context, commit: &CommitId, yes: bool) -> Result<u8> {
    let name = &context.repository.name;
    let setup = &context.config().workspace.setup;
    if !app.ui.json {
        app.ui.say(format!("{name} would run in a workspace that starts at {commit}, with the files of that commit:"));
        setup.iter().for_each(|line| app.ui.say(format!("  {line}")));
    }
    if !yes && !confirmed(app)? {
        return Err(CliError::failed("not trusted; `setup` does not run there"));
    }
    trust::agree_to_commit(engine, context, commit).await?;
    if app.ui.json {
        app.ui.print_json(&document::TrustedCommit::of(name, commit, setup));
    } else {
        app.ui.say("trusted: this commit, and no other");
    }
    Ok(0)
}

/// Shows all that is asked for.
fn show(app: &App, name: &RepositoryName, request: &TrustRequest) {
    if !request.setup.is_empty() {
        app.ui.say(format!("{name} would run in every new workspace:"));
        request.setup.iter().for_each(|line| app.ui.say(format!("  {line}")));
    }
    if !request.agents.is_empty() {
        app.ui.say(format!("{name} would set, for agents that run here:"));
        request.agents_content.lines().for_each(|line| app.ui.say(format!("  {line}")));
    }
}

/// The agents about which the repository's file says something that counts.
fn agents_of_repository(resolved: &Resolved) -> Vec<AgentName> {
    let is_set = |agent: &&AgentName| {
        let keys = format!("agents.{agent}.");
        let is_repositorys = |source: &Source| matches!(source, Source::Repository(_));
        resolved.entries().iter().any(|entry| entry.key.starts_with(&keys) && is_repositorys(&entry.source))
    };
    resolved.config.agents.keys().filter(is_set).cloned().collect()
}

fn confirmed(app: &App) -> Result<bool> {
    if app.ui.json || !std::io::stdin().is_terminal() {
        return Err(CliError::usage("`spinney trust` asks for consent, and there is no terminal")
            .hinted("`spinney trust --yes` agrees without being asked"));
    }
    app.ui.say("trust it? [y/N]");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| CliError::failed(format!("no answer could be read: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
