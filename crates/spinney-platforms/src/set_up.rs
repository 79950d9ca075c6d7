//! The adapters of the platforms whose secrets are there.

use std::path::Path;
use std::sync::Arc;

use spinney_core::config::{TelegramMode, VariableName};
use spinney_core::{ForgeKind, Platform, Secret};
use spinney_engine::Engine;
use spinney_forge::token;

use crate::Adapter;
use crate::discord::{Discord, DiscordOptions};
use crate::github::{GithubAdapter, GithubApp, GithubOptions};
use crate::slack::Slack;
use crate::standing::PLATFORMS;
use crate::telegram::{Telegram, TelegramOptions};

/// A platform that is configured, but can't be used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub platform: Platform,
    pub reason: String,
}

/// What a platform's own set-up gives: none where it is not set up at all.
pub(crate) type Made = Result<Option<Arc<dyn Adapter>>, String>;

/// Makes the adapters of all platforms that are set up, and tells what is wrong with the others.
#[must_use]
pub fn adapters(engine: &Engine) -> (Vec<Arc<dyn Adapter>>, Vec<Fault>) {
    let (mut adapters, mut faults) = (Vec::new(), Vec::new());
    for platform in PLATFORMS {
        match adapter(engine, platform) {
            Ok(adapter) => adapters.extend(adapter),
            Err(reason) => faults.push(Fault { platform, reason }),
        }
    }
    (adapters, faults)
}

/// A platform's adapter; none where it is not set up.
pub(crate) fn adapter(engine: &Engine, platform: Platform) -> Made {
    match platform {
        Platform::Github => github(engine),
        Platform::Slack => slack(engine),
        Platform::Discord => discord(engine),
        Platform::Telegram => telegram(engine),
        Platform::Cli | Platform::Api | Platform::Schedule => Ok(None),
    }
}

fn github(engine: &Engine) -> Made {
    let (config, forge) = (&engine.config().platforms.github, &engine.config().forge.github);
    let Some(webhook_secrets) = secret(engine, config.webhook_secret_env.as_ref()) else { return Ok(None) };
    let Some(api_url) = forge.api_url.as_ref().map(ToString::to_string) else { return Ok(None) };
    let app = match (config.app_id.as_str(), &config.private_key_file) {
        ("", None) => None,
        ("", Some(_)) => return Err("`private_key_file` goes with `app_id`".to_owned()),
        (_, None) => return Err("`app_id` goes with `private_key_file`".to_owned()),
        (id, Some(file)) => Some(GithubApp { id: id.to_owned(), private_key: read_key(file)? }),
    };
    let variable = forge.token_env.as_ref().map(ToString::to_string).unwrap_or_default();
    let token = token::from_environment(ForgeKind::Github, &engine.texts(), &variable);
    if token.is_none() && app.is_none() {
        return Err(format!("there is no token in `{variable}`, and no app"));
    }
    let proxy = engine.proxy(&api_url);
    let options = GithubOptions { webhook_secrets, mention: config.mention.clone(), api_url, token, app, proxy };
    let adapter = GithubAdapter::new(&options).map_err(|error| spinney_core::in_full(&error))?;
    Ok(Some(Arc::new(adapter)))
}

fn slack(engine: &Engine) -> Made {
    let config = &engine.config().platforms.slack;
    let signing_secret = secret(engine, config.signing_secret_env.as_ref());
    let Some((signing_secret, api_url)) = signing_secret.zip(config.api_url.as_ref()) else { return Ok(None) };
    let token = required(engine, config.token_env.as_ref())?;
    let proxy = engine.proxy(api_url.as_str());
    let adapter = Slack::new(api_url, token, &signing_secret, proxy.as_ref()).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(adapter)))
}

fn discord(engine: &Engine) -> Made {
    let config = &engine.config().platforms.discord;
    let token = secret(engine, config.token_env.as_ref());
    let Some((token, api_url)) = token.zip(config.api_url.clone()) else { return Ok(None) };
    let proxy = engine.proxy(api_url.as_str());
    let (gateway_url, public_key) = (config.gateway_url.clone(), config.public_key.clone());
    let options = DiscordOptions { api_url, gateway_url, token, public_key, proxy };
    Ok(Some(Arc::new(Discord::new(options).map_err(|error| error.to_string())?)))
}

fn telegram(engine: &Engine) -> Made {
    let Some(options) = telegram_options(engine)? else { return Ok(None) };
    Ok(Some(Arc::new(Telegram::new(options).map_err(|error| error.to_string())?)))
}

/// How Telegram is spoken to; none where it is not set up.
pub(crate) fn telegram_options(engine: &Engine) -> Result<Option<TelegramOptions>, String> {
    let config = &engine.config().platforms.telegram;
    let token = secret(engine, config.token_env.as_ref());
    let Some((token, api_url)) = token.zip(config.api_url.clone()) else { return Ok(None) };
    let webhook_secret = match config.mode {
        TelegramMode::Webhook => Some(required(engine, config.webhook_secret_env.as_ref())?),
        TelegramMode::Poll => None,
    };
    let proxy = engine.proxy(api_url.as_str());
    Ok(Some(TelegramOptions { api_url, token, webhook_secret, proxy }))
}

fn read_key(file: &Path) -> Result<Secret, String> {
    let read = std::fs::read_to_string(file);
    read.map(Secret::new).map_err(|error| format!("`{}` can't be read: {error}", file.display()))
}

fn required(engine: &Engine, name: Option<&VariableName>) -> Result<Secret, String> {
    let missing = || match name {
        Some(name) => format!("`{name}` is not set"),
        None => "`token_env` names no variable".to_owned(),
    };
    secret(engine, name).ok_or_else(missing)
}

/// What the environment holds in a variable that the configuration names; an empty one holds nothing.
#[must_use]
pub fn secret(engine: &Engine, name: Option<&VariableName>) -> Option<Secret> {
    let name = name?.to_string();
    let (_, value) = engine.environment().iter().find(|(given, _)| given.to_str() == Some(&name))?;
    value.to_str().map(str::trim).filter(|value| !value.is_empty()).map(Secret::new)
}
