//! `spinney trust`: a person agrees to what the repository's own file would run, and to the agents that it sets.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use serde_json::json;
use spinney_core::config::{Resolved, Source, TrustRequest};
use spinney_core::{AgentName, RepositoryName};

use crate::app::App;
use crate::error::{CliError, Result};

/// Agree to the `setup` commands and the agents of the repository's own `spinney.toml`
///
/// They are shown first, and remembered by content: when they change, they are shown again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney trust\n  spinney trust --yes")]
pub struct TrustArgs {
    /// Agree without being asked
    #[arg(long, short)]
    yes: bool,
}

pub async fn run(app: &App, args: TrustArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let name = &context.repository.name;
    let Some(request) = &context.untrusted else {
        if app.ui.json {
            let setup = &context.config().workspace.setup;
            let agents = agents_of_repository(&context.resolved);
            app.ui.print_json(&json!({ "repository": name, "trusted": true, "setup": setup, "agents": agents }));
        } else {
            app.ui.say(format!("{name}: nothing that needs trust, or trusted already"));
        }
        return Ok(0);
    };
    if !app.ui.json {
        show(app, name, request);
    }
    if !args.yes && !confirmed(app)? {
        return Err(CliError::failed("not trusted; its set-up and agents don't count"));
    }
    engine.trust(&context, request).await?;
    if app.ui.json {
        app.ui.print_json(
            &json!({ "repository": name, "trusted": true, "setup": request.setup, "agents": request.agents }),
        );
    } else {
        app.ui.say("trusted, until it changes");
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
        return Err(
            CliError::usage("nobody is there to ask").hinted("`spinney trust --yes` agrees without being asked")
        );
    }
    app.ui.say("trust it? [y/N]");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| CliError::failed(format!("no answer could be read: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
