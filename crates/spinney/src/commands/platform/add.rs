//! `spinney platform add`: asks, tests, writes down, and says what is left to do.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;
use spinney_engine::{Check, Engine};
use spinney_platforms::{
    Descriptor, SecretVariable, Standing, announce, secret_variables, standing, unreachable, webhook_url,
};

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
    /// Whether the platform was told where to call.
    is_told: bool,
}

pub async fn run(app: &App, mut wanted: Wanted) -> Result<u8> {
    let row = wanted.row;
    let path = config_file(app)?;
    let mut layers = app.layers()?;
    let has_users = row.config(&layers.resolve()?.config).is_some_and(|config| !config.allowed_users.is_empty());
    wanted.ask(app, has_users)?;
    let settings = wanted.settings();
    for Setting { flag, key, value } in &settings {
        layers.flag(flag, &format!("platforms.{}.{key}", row.name), value.clone())?;
    }
    let text = with_settings(&path, row, &settings)?;
    let engine = app.open_engine_with(layers, std::time::Duration::ZERO).await?;
    if let Some(repository) = wanted.repository() {
        engine.find_context(Some(&repository.to_string()), engine.home().root()).await?;
    }
    if let Some(text) = &text {
        let unwritable = |error| CliError::failed(format!("`{}` can't be written: {error}", path.display()));
        file::replace(&path, text).map_err(unwritable)?;
    }
    app.ui.progress.set(format!("asking {}", row.name));
    let mut standing = standing(&engine, row).await;
    let is_told = tell(&engine, &mut standing).await;
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

/// Tells the platform where to call, where its API can be told; elsewhere a person does that by hand.
async fn tell(engine: &Engine, standing: &mut Standing) -> bool {
    let row = standing.row;
    if standing.bot.is_none() || unreachable(engine.config(), row).is_some() {
        return false;
    }
    match announce(engine, row).await {
        None => false,
        Some(Ok(())) => true,
        Some(Err(error)) => {
            let fix = format!("check server.public_url: {} must reach it", row.title);
            standing.checks.push(Check::bad(row.name, error, fix));
            false
        }
    }
}

/// The person's own file, which need not be there yet.
fn config_file(app: &App) -> Result<PathBuf> {
    let path = app.global.config.clone().or_else(|| app.environment.config().map(|(path, _)| path));
    path.ok_or_else(|| CliError::usage("there is no place for a configuration").hinted("name it with `--config FILE`"))
}

/// The file with the settings at its end, and all else as it is; none where it says them already. A section that is there
/// is the person's: what is to change in it is theirs to change.
fn with_settings(path: &Path, row: &Descriptor, settings: &[Setting]) -> Result<Option<String>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CliError::failed(format!("`{}` can't be read: {error}", path.display()))),
    };
    let table: toml::Table = text.parse().map_err(|_| CliError::usage(format!("`{}` is not TOML", path.display())))?;
    let section = table.get("platforms").and_then(|platforms| platforms.get(row.name));
    let is_there = |setting: &&Setting| section.and_then(|section| section.get(setting.key)) == Some(&setting.value);
    let missing: Vec<_> = settings.iter().filter(|setting| !is_there(setting)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let lines: Vec<_> = missing.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect();
    let name = row.name;
    let header = format!("[platforms.{name}]");
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
        let message = format!("`{}` has settings for {name} already and was not changed", path.display());
        return Err(CliError::usage(message)
            .hinted(format!("below `{header}` write: {}", lines.join("; ")))
            .hinted(format!("then `spinney platform add {name}` tests it")));
    }
    Ok(Some(longer))
}

impl Added<'_> {
    fn variables(&self) -> Vec<SecretVariable> {
        secret_variables(self.engine, self.standing.row)
    }

    fn print_json(&self, app: &App) {
        let Self { engine, standing, path, is_written, is_told } = self;
        let variables: Vec<_> = self
            .variables()
            .into_iter()
            .map(|variable| json!({ "name": variable.name, "what": variable.what, "set": variable.is_set }))
            .collect();
        let guide = standing.row.guide;
        let steps: Vec<_> =
            guide.steps.iter().map(|step| json!({ "what": step.what, "values": step.values })).collect();
        app.ui.print_json(&json!({
            "platform": standing.row.platform,
            "config": path,
            "written": is_written,
            "variables": variables,
            "webhook_url": webhook_url(engine.config(), standing.row),
            "webhook_set": is_told,
            "bot": standing.bot,
            "place": guide.place,
            "steps": steps,
            "checks": standing.checks,
        }));
    }

    fn print(&self, app: &App) {
        let Self { engine, standing, path, is_written, is_told } = self;
        let (row, config) = (standing.row, engine.config());
        let written = if *is_written { "is configured in" } else { "is as it was in" };
        app.ui.say(format!("{} {written} `{}`", style::paint(style::NAME, row.name), path.display()));
        app.ui.say("\nin the environment of `spinney serve`, and nowhere else:");
        let mut table = Table::default();
        for SecretVariable { name, what, is_set } in self.variables() {
            let set = if is_set { Cell::styled("set", style::GOOD) } else { Cell::styled("not set", style::WARNING) };
            table.row([Cell::from("  "), Cell::styled(name, style::NAME), set, Cell::from(what)]);
        }
        app.ui.say(table.render());
        app.ui.say(format!("\nat {}:", row.guide.place));
        for step in row.guide.steps {
            app.ui.say(format!("  {}: {}", step.what, step.values.join(", ")));
        }
        if let Some(url) = webhook_url(config, row) {
            let told = if *is_told { format!(", which {} knows now", row.title) } else { String::new() };
            app.ui.say(format!("  webhook{told}:"));
            app.ui.print(url);
        }
        app.ui.say("");
        if !standing.checks.is_empty() {
            app.ui.say(checks::table(&standing.checks).render());
        }
        if !standing.is_set_up {
            if let Some((fact, fix)) = unreachable(config, row) {
                app.ui.warn(format!("{fact}; {fix}"));
            }
            app.ui.say(format!("set the variables, then `spinney platform add {}` tests them", row.name));
        }
    }
}
