//! `spinney config`: what holds, and where it comes from.

use clap::{Args, Subcommand};
use serde_json::json;
use spinney_jobs::Agent;
use spinney_jobs::schedules::Schedules;

use crate::app::App;
use crate::error::Result;
use crate::jobs;
use crate::ui::table::{Cell, Table};
use crate::ui::{checks, style};

/// Show or check the configuration
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney config show\n  SPINNEY_LIMITS__MAX_WORKSPACES=50 spinney config show --json\n\n\
    Your own file is, in this order: `--config FILE`, `SPINNEY_CONFIG`, `$XDG_CONFIG_HOME/spinney/config.toml`, \
    `~/.config/spinney/config.toml`."
)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show every value and where it comes from
    #[command(after_help = "Example: spinney config show")]
    Show,
    /// Check all layers; says what is wrong and where
    #[command(after_help = "Example: spinney config validate")]
    Validate,
}

pub async fn run(app: &App, args: ConfigArgs) -> Result<u8> {
    // Without any repository the layers are checked by themselves, before a home or a store is opened.
    let resolved = app.layers()?.resolve()?;
    let engine = match app.engine().await {
        Ok(engine) => Some(engine),
        // A store that can't be opened is often why somebody looks here.
        Err(error) => {
            app.ui.warn(format!("without the repository's part: {}", error.message()));
            None
        }
    };
    let context = match &engine {
        Some(engine) => app.context_if_any(engine).await?,
        None => None,
    };
    let resolved = context.as_ref().map_or(&resolved, |context| &context.resolved);
    match args.command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Validate => {
            // What an agent's runtime can't do is a mistake in the configuration.
            Agent::check_all(resolved)?;
            // What is said well may still be of no use, here and now.
            let useless = match &engine {
                Some(engine) => checks::told(Schedules::new(jobs::open(app, engine)?, None).diagnose().await?),
                None => Vec::new(),
            };
            if app.ui.json {
                app.ui.print_json(&json!({ "valid": true, "problems": useless }));
            } else {
                for check in useless {
                    app.ui.warn(format!("schedule {}", check.fact));
                    app.ui.say(format!("  {}", check.fix.unwrap_or_default()));
                }
                app.ui.say("all layers are valid");
            }
        }
        ConfigCommand::Show if app.ui.json => {
            let list: Vec<_> = resolved
                .entries()
                .iter()
                .map(|entry| {
                    let source = entry.source.to_string();
                    json!({ "key": entry.key, "value": entry.value, "source": source, "place": entry.place })
                })
                .collect();
            app.ui.print_json(&json!({ "config": list }));
        }
        ConfigCommand::Show => {
            let mut table = Table::with_header(&["KEY", "FROM", "VALUE"]);
            for entry in resolved.entries() {
                let source_style = if entry.source.kind() == "default" { style::QUIET } else { style::GOOD };
                table.row([
                    Cell::styled(entry.key, style::NAME),
                    Cell::styled(entry.source.to_string(), source_style),
                    Cell::from(on_one_line(&entry.value)),
                ]);
            }
            app.ui.print_table(&table);
        }
    }
    Ok(0)
}

/// A value as TOML, which would spread a text with line breaks over several lines.
fn on_one_line(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => json!(text).to_string(),
        toml::Value::Array(values) => format!("[{}]", values.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
