//! How each platform stands: what is set up, and whether it works. Changes nothing there.

use spinney_core::AgentName;
use spinney_core::config::Config;
use spinney_engine::{Check, Engine};

use crate::set_up;
use crate::table::{Descriptor, Expected, PLATFORMS};

/// How a platform stands.
#[derive(Debug, Clone)]
pub struct Standing {
    pub row: &'static Descriptor,
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

/// Looks at all platforms that are set up, or that somebody wants to be.
pub async fn diagnose(engine: &Engine) -> Vec<Check> {
    let mut checks = Vec::new();
    for row in PLATFORMS {
        checks.extend(standing(engine, row).await.checks);
    }
    checks
}

/// Asks a platform whether it takes the secrets, and checks what else an answer needs.
pub async fn standing(engine: &Engine, row: &'static Descriptor) -> Standing {
    let mut standing = Standing { row, is_set_up: false, bot: None, checks: Vec::new() };
    let Some(section) = row.config(engine.config()) else { return standing };
    let name = row.name;
    let help = format!("spinney platform add {name}");
    let adapter = match set_up::adapter(engine, row) {
        Ok(Some(adapter)) => adapter,
        // Who may ask is said where the platform is wanted.
        Ok(None) if section.allowed_users.is_empty() => return standing,
        Ok(None) => {
            let missing = secret_variables(engine, row).into_iter().filter(|variable| !variable.is_set);
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
            let fix = format!("check {}", variable_names(engine, row).join(", "));
            standing.checks.push(Check::bad(name, error.to_string(), fix));
        }
    }
    if section.allowed_users.is_empty() {
        let fix = format!("platforms.{name}.allowed_users = [their ids]");
        standing.checks.push(Check::notice(name, "no user may send requests yet", fix));
    }
    if !has_agent(engine, &section.agent).await {
        let fact = format!("its agent `{}` is not configured", section.agent);
        let fix = format!("platforms.{name}.agent, or [agents.{}]", section.agent);
        standing.checks.push(Check::bad(name, fact, fix));
    }
    standing.checks.extend(unreachable(engine.config(), row).map(|(fact, fix)| Check::notice(name, fact, fix)));
    standing
}

/// Where a platform is to send what happens; none where it sends nothing.
#[must_use]
pub fn webhook_url(config: &Config, row: &Descriptor) -> Option<String> {
    let is_called = row.config(config).is_some_and(row.webhook.is_called);
    is_called.then(|| format!("{}/webhooks/{}", config.server.base_url(), row.name))
}

/// Why a platform can't call, and what helps.
#[must_use]
pub fn unreachable(config: &Config, row: &Descriptor) -> Option<(String, String)> {
    webhook_url(config, row)?;
    let otherwise = row.webhook.otherwise.map(|setting| format!(", or {setting}")).unwrap_or_default();
    let fix = format!("server.public_url = \"https://…\"{otherwise}");
    match &config.server.public_url {
        None => Some(("it can't reach the daemon: `server.public_url` is empty".to_owned(), fix)),
        Some(url) if !url.as_str().starts_with("https://") => {
            Some((format!("what it sends is not encrypted: `{}` is not https", url.as_str()), fix))
        }
        Some(_) => None,
    }
}

/// The variables in which a platform's secrets are expected.
#[must_use]
pub fn secret_variables(engine: &Engine, row: &Descriptor) -> Vec<SecretVariable> {
    let variable = |(name, what): Expected| {
        let is_set = set_up::secret(engine, name.as_ref()).is_some();
        name.map(|name| SecretVariable { name: name.to_string(), what, is_set })
    };
    let expected = row.config(engine.config()).map(|config| (row.secrets)(engine.config(), config));
    expected.into_iter().flatten().filter_map(variable).collect()
}

/// Whether somebody configured the agent: for all repositories, or for one.
async fn has_agent(engine: &Engine, agent: &AgentName) -> bool {
    if engine.config().agents.contains_key(agent) {
        return true;
    }
    for repository in engine.repositories().await.unwrap_or_default() {
        let context = engine.find_context(Some(&repository.name.to_string()), engine.home().root()).await;
        if context.is_ok_and(|context| context.config().agents.contains_key(agent)) {
            return true;
        }
    }
    false
}

fn variable_names(engine: &Engine, row: &Descriptor) -> Vec<String> {
    secret_variables(engine, row).into_iter().map(|variable| format!("`{}`", variable.name)).collect()
}
