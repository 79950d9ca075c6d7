//! `spinney trust`: a person agrees to what the repository's own file would run.

use std::io::{BufRead, IsTerminal};

use clap::Args;
use serde_json::json;

use crate::app::App;
use crate::error::{CliError, Result};

/// Agree to the `setup` commands of the repository's own `spinney.toml`
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
            app.ui
                .print_json(&json!({ "repository": name, "trusted": true, "setup": context.config().workspace.setup }));
        } else {
            app.ui.say(format!("{name}: nothing that needs trust, or trusted already"));
        }
        return Ok(0);
    };
    if !app.ui.json {
        app.ui.say(format!("{name} would run in every new workspace:"));
        request.setup.iter().for_each(|line| app.ui.say(format!("  {line}")));
    }
    if !args.yes && !confirmed(app)? {
        return Err(CliError::failed("not trusted; workspaces are made without its set-up"));
    }
    engine.trust(&context, request).await?;
    if app.ui.json {
        app.ui.print_json(&json!({ "repository": name, "trusted": true, "setup": request.setup }));
    } else {
        app.ui.say("trusted, until it changes");
    }
    Ok(0)
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
