//! `spinney platform`: where people may ask, and whether that works.

mod add;
mod inbox;
mod settings;

use clap::{Args, Subcommand};
use serde_json::json;
use spinney_engine::Mark;
use spinney_platforms::{PLATFORMS, Standing, standing, webhook_url};

use crate::app::App;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{checks, style};

/// Set up GitHub, Slack, Discord and Telegram
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney platform add telegram --allow-user 583231 --mode poll\n  spinney platform ls"
)]
pub struct PlatformArgs {
    #[command(subcommand)]
    command: Option<PlatformCommand>,
}

#[derive(Debug, Subcommand)]
enum PlatformCommand {
    /// Ask for what a platform needs, test it, and say what to do there
    #[command(
        after_help = "Secrets are never asked for and never written down: it says which variables of the environment \
        hold them, and tests those that are set. What is configured goes to the end of your configuration file.\n\n\
        Example: spinney platform add slack --allow-user U012AB3CD --repository acme/app"
    )]
    Add {
        #[command(subcommand)]
        platform: settings::Wanted,
    },
    /// List what platforms sent, and why nothing was done about some of it
    #[command(
        after_help = "Platforms send to the daemon. What was ignored counts as new when it is sent again, as with \
        \"Redeliver\" of GitHub.\n\nExample: spinney platform inbox --ignored"
    )]
    Inbox(inbox::InboxArgs),
    /// Show what is set up, and whether it works
    #[command(after_help = "Exits with 1 when something is bad.\n\nExample: spinney platform ls")]
    Ls,
}

pub async fn run(app: &App, args: PlatformArgs) -> Result<u8> {
    match args.command.unwrap_or(PlatformCommand::Ls) {
        PlatformCommand::Add { platform } => add::run(app, platform).await,
        PlatformCommand::Inbox(args) => inbox::run(app, &args).await,
        PlatformCommand::Ls => ls(app).await,
    }
}

async fn ls(app: &App) -> Result<u8> {
    let engine = app.open_engine().await?;
    app.ui.progress.set("asking the platforms".to_owned());
    let mut standings = Vec::new();
    for row in PLATFORMS {
        standings.push(standing(&engine, row).await);
    }
    app.ui.progress.clear();
    let is_bad = standings.iter().any(is_bad);
    if app.ui.json {
        let list: Vec<_> = standings
            .iter()
            .map(|standing| {
                let url = webhook_url(engine.config(), standing.row).filter(|_| standing.is_set_up);
                json!({
                    "platform": standing.row.platform,
                    "set_up": standing.is_set_up,
                    "works": standing.is_set_up && standing.bot.is_some() && !self::is_bad(standing),
                    "bot": standing.bot,
                    "webhook_url": url,
                    "checks": standing.checks,
                })
            })
            .collect();
        app.ui.print_json(&json!({ "platforms": list }));
        return Ok(u8::from(is_bad));
    }
    let mut table = Table::default();
    for standing in &standings {
        if standing.checks.is_empty() {
            let name = standing.row.name;
            let help = format!("spinney platform add {name}");
            table.row([Cell::from("–"), Cell::styled(name, style::NAME), Cell::from("not set up"), Cell::from(help)]);
        }
        standing.checks.iter().for_each(|check| checks::add(&mut table, check));
    }
    app.ui.print_table(&table);
    Ok(u8::from(is_bad))
}

fn is_bad(standing: &Standing) -> bool {
    standing.checks.iter().any(|check| check.mark == Mark::Bad)
}
