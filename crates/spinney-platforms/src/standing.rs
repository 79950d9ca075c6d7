//! How each platform stands: what is set up, and whether it works. Changes nothing there.

use spinney_core::config::{Config, TelegramMode, VariableName};
use spinney_core::{AgentName, Platform};
use spinney_engine::{Check, Engine};

use crate::set_up;
use crate::telegram::{Telegram, TelegramOptions};

/// Those on which people ask.
pub const PLATFORMS: [Platform; 4] = [Platform::Github, Platform::Slack, Platform::Discord, Platform::Telegram];

/// How a platform stands.
#[derive(Debug, Clone)]
pub struct Standing {
    pub platform: Platform,
    pub is_set_up: bool,
    /// Who the bot is there, where the platform says so.
    pub bot: Option<String>,
    /// None where it is not set up, and nobody wants it to be.
    pub checks: Vec<Check>,
}

/// A variable of the environment that holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretVariable {
    pub name: String,
    /// What is in it.
    pub what: &'static str,
    pub is_set: bool,
}

/// What the configuration says of every platform alike.
struct Section<'a> {
    allowed_users: &'a [String],
    agent: &'a AgentName,
}

/// Looks at all platforms that are set up, or that somebody wants to be.
pub async fn diagnose(engine: &Engine) -> Vec<Check> {
    let mut checks = Vec::new();
    for platform in PLATFORMS {
        checks.extend(standing(engine, platform).await.checks);
    }
    checks
}

/// Asks a platform whether it takes the secrets, and checks what else an answer needs.
pub async fn standing(engine: &Engine, platform: Platform) -> Standing {
    let mut standing = Standing { platform, is_set_up: false, bot: None, checks: Vec::new() };
    let Some(section) = section(engine.config(), platform) else { return standing };
    let name = platform.as_str();
    let help = format!("spinney platform add {name}");
    let adapter = match set_up::adapter(engine, platform) {
        Ok(Some(adapter)) => adapter,
        // Who may ask is said where the platform is wanted.
        Ok(None) if section.allowed_users.is_empty() => return standing,
        Ok(None) => {
            let missing = secret_variables(engine, platform).into_iter().filter(|variable| !variable.is_set);
            let missing: Vec<_> = missing.map(|variable| format!("`{}`", variable.name)).collect();
            let fact = format!("it is configured, but its secrets are missing: {}", missing.join(", "));
            standing.checks.push(Check::notice(name, fact, help));
            return standing;
        }
        Err(reason) => {
            standing.checks.push(Check::bad(name, reason, help));
            return standing;
        }
    };
    standing.is_set_up = true;
    match adapter.who().await {
        Ok(bot) => {
            let users = spinney_engine::plural(section.allowed_users.len(), "user");
            standing.checks.push(Check::good(name, format!("answers as {bot}; {users} may ask")));
            standing.bot = Some(bot);
        }
        Err(error) if error.is_temporary() => {
            standing.checks.push(Check::notice(name, error.to_string(), "try again later, or check the network"));
        }
        Err(error) => {
            let fix = format!("check {}", variable_names(engine, platform).join(", "));
            standing.checks.push(Check::bad(name, error.to_string(), fix));
        }
    }
    if section.allowed_users.is_empty() {
        let fix = format!("platforms.{name}.allowed_users = [their ids]");
        standing.checks.push(Check::notice(name, "nobody may ask", fix));
    }
    if !has_agent(engine, section.agent).await {
        let fact = format!("there is no agent `{}`, who is to do the work", section.agent);
        let fix = format!("platforms.{name}.agent, or [agents.{}]", section.agent);
        standing.checks.push(Check::bad(name, fact, fix));
    }
    standing.checks.extend(unreachable(engine.config(), platform).map(|(fact, fix)| Check::notice(name, fact, fix)));
    standing
}

/// Where a platform is to send what happens; none where it sends nothing.
#[must_use]
pub fn webhook_url(config: &Config, platform: Platform) -> Option<String> {
    let is_called = match platform {
        Platform::Github | Platform::Slack => true,
        Platform::Discord => !config.platforms.discord.public_key.is_empty(),
        Platform::Telegram => config.platforms.telegram.mode == TelegramMode::Webhook,
        Platform::Cli | Platform::Api | Platform::Schedule => false,
    };
    is_called.then(|| format!("{}/webhooks/{platform}", config.server.base_url()))
}

/// Why a platform can't call, and what helps.
#[must_use]
pub fn unreachable(config: &Config, platform: Platform) -> Option<(String, String)> {
    webhook_url(config, platform)?;
    let fix = "server.public_url = \"https://…\"".to_owned();
    let poll = if platform == Platform::Telegram { ", or platforms.telegram.mode = \"poll\"" } else { "" };
    match &config.server.public_url {
        None => Some(("it can't call: `server.public_url` is empty".to_owned(), fix + poll)),
        Some(url) if !url.as_str().starts_with("https://") => {
            Some((format!("what it sends can be read along: `{}` is not https", url.as_str()), fix + poll))
        }
        Some(_) => None,
    }
}

/// The variables in which a platform's secrets are expected.
#[must_use]
pub fn secret_variables(engine: &Engine, platform: Platform) -> Vec<SecretVariable> {
    let (platforms, forge) = (&engine.config().platforms, &engine.config().forge);
    let named: Vec<(&Option<VariableName>, &'static str)> = match platform {
        Platform::Github => {
            let secret = (&platforms.github.webhook_secret_env, "the webhook's secret, which you choose");
            let is_app = !platforms.github.app_id.is_empty();
            let token = (!is_app).then_some((&forge.github.token_env, "a token of the bot's account"));
            [secret].into_iter().chain(token).collect()
        }
        Platform::Slack => vec![
            (&platforms.slack.token_env, "the bot's token, `xoxb-…`"),
            (&platforms.slack.signing_secret_env, "the app's signing secret"),
        ],
        Platform::Discord => vec![(&platforms.discord.token_env, "the bot's token")],
        Platform::Telegram => {
            let telegram = &platforms.telegram;
            let secret =
                (&telegram.webhook_secret_env, "the webhook's secret, which you choose: letters, digits, _ and -");
            let secret = (telegram.mode == TelegramMode::Webhook).then_some(secret);
            [(&telegram.token_env, "the bot's token, from @BotFather")].into_iter().chain(secret).collect()
        }
        Platform::Cli | Platform::Api | Platform::Schedule => Vec::new(),
    };
    let variable = |(name, what): (&Option<VariableName>, &'static str)| {
        let is_set = set_up::secret(engine, name.as_ref()).is_some();
        name.as_ref().map(|name| SecretVariable { name: name.to_string(), what, is_set })
    };
    named.into_iter().filter_map(variable).collect()
}

/// Tells Telegram to call the daemon from now on.
pub async fn set_telegram_webhook(engine: &Engine) -> Result<(), String> {
    let options: TelegramOptions = set_up::telegram_options(engine)?.ok_or("Telegram is not set up")?;
    let url = webhook_url(engine.config(), Platform::Telegram).ok_or("Telegram is asked, and does not call")?;
    let telegram = Telegram::new(options).map_err(|error| error.to_string())?;
    telegram.set_webhook(&url).await.map_err(|error| error.to_string())
}

fn section(config: &Config, platform: Platform) -> Option<Section<'_>> {
    let platforms = &config.platforms;
    let (allowed_users, agent) = match platform {
        Platform::Github => (&platforms.github.allowed_users, &platforms.github.agent),
        Platform::Slack => (&platforms.slack.allowed_users, &platforms.slack.agent),
        Platform::Discord => (&platforms.discord.allowed_users, &platforms.discord.agent),
        Platform::Telegram => (&platforms.telegram.allowed_users, &platforms.telegram.agent),
        Platform::Cli | Platform::Api | Platform::Schedule => return None,
    };
    Some(Section { allowed_users, agent })
}

/// Whether somebody configured the agent: for all repositories, or for one.
async fn has_agent(engine: &Engine, agent: &AgentName) -> bool {
    if engine.config().agents.contains_key(agent) {
        return true;
    }
    for repository in engine.repositories().await.unwrap_or_default() {
        let context = engine.repository(Some(&repository.name.to_string()), engine.home().root()).await;
        if context.is_ok_and(|context| context.config().agents.contains_key(agent)) {
            return true;
        }
    }
    false
}

fn variable_names(engine: &Engine, platform: Platform) -> Vec<String> {
    secret_variables(engine, platform).into_iter().map(|variable| format!("`{}`", variable.name)).collect()
}
