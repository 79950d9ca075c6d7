//! `spinney platform add`: asks, tests, writes down, and says what is left to do.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;
use spinney_core::Platform;
use spinney_core::config::TelegramMode;
use spinney_engine::{Check, Engine};
use spinney_platforms::{
    SecretVariable, Standing, secret_variables, set_telegram_webhook, standing, unreachable, webhook_url,
};

use super::guide::guide;
use super::is_bad;
use super::settings::{Setting, Wanted};
use crate::app::App;
use crate::error::{CliError, Result};
use crate::file;
use crate::ui::table::{Cell, Table};
use crate::ui::{checks, style};

/// What came of it.
struct Added<'a> {
    engine: &'a Engine,
    standing: Standing,
    path: PathBuf,
    is_written: bool,
    /// Whether Telegram was told where to call.
    is_told: bool,
}

pub async fn run(app: &App, mut wanted: Wanted) -> Result<u8> {
    let platform = wanted.platform();
    let path = config_file(app)?;
    let mut layers = app.layers()?;
    wanted.ask(app, has_users(&layers.resolve()?.config.platforms, platform))?;
    let settings = wanted.settings();
    for Setting { flag, key, value } in &settings {
        layers.flag(flag, &format!("platforms.{platform}.{key}"), value.clone())?;
    }
    let text = with_settings(&path, platform, &settings)?;
    let engine = app.open_engine_with(layers, std::time::Duration::ZERO).await?;
    if let Some(repository) = wanted.repository() {
        engine.repository(Some(&repository.to_string()), engine.home().root()).await?;
    }
    if let Some(text) = &text {
        let unwritable = |error| CliError::failed(format!("`{}` can't be written: {error}", path.display()));
        file::replace(&path, text).map_err(unwritable)?;
    }
    app.ui.progress.set(format!("asking {platform}"));
    let mut standing = standing(&engine, platform).await;
    let is_told = tell_telegram(&engine, &mut standing).await;
    app.ui.progress.clear();
    let status = u8::from(is_bad(&standing));
    let added = Added { engine: &engine, standing, path, is_written: text.is_some(), is_told };
    if app.ui.json {
        added.print_json(app);
    } else {
        added.print(app);
    }
    Ok(status)
}

/// Telegram learns by its API where to call; the others by hand.
async fn tell_telegram(engine: &Engine, standing: &mut Standing) -> bool {
    let config = engine.config();
    let is_called = standing.platform == Platform::Telegram && config.platforms.telegram.mode == TelegramMode::Webhook;
    if !is_called || standing.bot.is_none() || unreachable(config, standing.platform).is_some() {
        return false;
    }
    match set_telegram_webhook(engine).await {
        Ok(()) => true,
        Err(error) => {
            let fix = "check server.public_url: Telegram must reach it".to_owned();
            standing.checks.push(Check::bad("telegram", error, fix));
            false
        }
    }
}

/// The person's own file, which need not be there yet.
fn config_file(app: &App) -> Result<PathBuf> {
    let path = app.global.config.clone().or_else(|| app.environment.config().map(|(path, _)| path));
    path.ok_or_else(|| CliError::usage("there is no place for a configuration").hinted("name it with `--config FILE`"))
}

fn has_users(platforms: &spinney_core::config::PlatformsConfig, platform: Platform) -> bool {
    let users = match platform {
        Platform::Github => &platforms.github.allowed_users,
        Platform::Slack => &platforms.slack.allowed_users,
        Platform::Discord => &platforms.discord.allowed_users,
        _ => &platforms.telegram.allowed_users,
    };
    !users.is_empty()
}

/// The file with the settings at its end, and all else as it is; none where it says them already. A section that is there
/// is the person's: what is to change in it is theirs to change.
fn with_settings(path: &Path, platform: Platform, settings: &[Setting]) -> Result<Option<String>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CliError::failed(format!("`{}` can't be read: {error}", path.display()))),
    };
    let table: toml::Table = text.parse().map_err(|_| CliError::usage(format!("`{}` is not TOML", path.display())))?;
    let section = table.get("platforms").and_then(|platforms| platforms.get(platform.as_str()));
    let is_there = |setting: &&Setting| section.and_then(|section| section.get(setting.key)) == Some(&setting.value);
    let missing: Vec<_> = settings.iter().filter(|setting| !is_there(setting)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let lines: Vec<_> = missing.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect();
    let header = format!("[platforms.{platform}]");
    let gap = if text.is_empty() {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let longer = format!("{text}{gap}{header}\n{}\n", lines.join("\n"));
    // `platforms = { … }` can't be gone on with, either.
    if section.is_some() || longer.parse::<toml::Table>().is_err() {
        let message = format!("`{}` speaks of {platform} already, and stays as it is", path.display());
        return Err(CliError::usage(message)
            .hinted(format!("below `{header}` write: {}", lines.join("; ")))
            .hinted(format!("then `spinney platform add {platform}` tests it")));
    }
    Ok(Some(longer))
}

impl Added<'_> {
    fn variables(&self) -> Vec<SecretVariable> {
        secret_variables(self.engine, self.standing.platform)
    }

    fn print_json(&self, app: &App) {
        let Self { engine, standing, path, is_written, is_told } = self;
        let variables: Vec<_> = self
            .variables()
            .into_iter()
            .map(|variable| json!({ "name": variable.name, "what": variable.what, "set": variable.is_set }))
            .collect();
        let (place, steps) = guide(standing.platform);
        let steps: Vec<_> = steps.iter().map(|step| json!({ "what": step.what, "values": step.values })).collect();
        app.ui.print_json(&json!({
            "platform": standing.platform,
            "config": path,
            "written": is_written,
            "variables": variables,
            "webhook_url": webhook_url(engine.config(), standing.platform),
            "webhook_set": is_told,
            "bot": standing.bot,
            "place": place,
            "steps": steps,
            "checks": standing.checks,
        }));
    }

    fn print(&self, app: &App) {
        let Self { engine, standing, path, is_written, is_told } = self;
        let (platform, config) = (standing.platform, engine.config());
        let written = if *is_written { "is configured in" } else { "is as it was in" };
        app.ui.say(format!("{} {written} `{}`", style::paint(style::NAME, platform), path.display()));
        app.ui.say("\nin the environment of `spinney serve`, and nowhere else:");
        let mut table = Table::default();
        for SecretVariable { name, what, is_set } in self.variables() {
            let set = if is_set { Cell::styled("set", style::GOOD) } else { Cell::styled("not set", style::WARNING) };
            table.row([Cell::from("  "), Cell::styled(name, style::NAME), set, Cell::from(what)]);
        }
        app.ui.say(table.render());
        let (place, steps) = guide(platform);
        app.ui.say(format!("\nat {place}:"));
        for step in steps {
            app.ui.say(format!("  {}: {}", step.what, step.values.join(", ")));
        }
        if let Some(url) = webhook_url(config, platform) {
            let told = if *is_told { ", which Telegram knows now" } else { "" };
            app.ui.say(format!("  webhook{told}:"));
            app.ui.print(url);
        }
        app.ui.say("");
        if !standing.checks.is_empty() {
            app.ui.say(checks::table(&standing.checks).render());
        }
        if !standing.is_set_up {
            if let Some((fact, fix)) = unreachable(config, platform) {
                app.ui.warn(format!("{fact}; {fix}"));
            }
            app.ui.say(format!("set the variables, then `spinney platform add {platform}` tests them"));
        }
    }
}
