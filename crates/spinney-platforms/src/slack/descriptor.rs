//! Slack among the platforms: its section, its secrets, and what is to be done there.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use spinney_core::config::{ApiUrl, Config, PlatformConfig, Section, VariableName, values};
use spinney_engine::Engine;

use super::{PLATFORM, Slack};
use crate::section::check;
use crate::set_up::{required, secret};
use crate::table::{Descriptor, Expected, Guide, Made, Step, Webhook};

pub static DESCRIPTOR: Descriptor = Descriptor {
    platform: PLATFORM,
    name: "slack",
    title: "Slack",
    about: "Mentions, direct messages and slash commands",
    examples: "Example: spinney platform add slack --allow-user U012AB3CD --repository acme/app",
    user_ids: "as `U012AB3CD`: a profile's menu copies its member id",
    section: Section {
        path: "platforms.slack",
        defaults: include_str!("defaults.toml"),
        check: check::<SlackConfig>,
        takes_numbers: false,
    },
    settings: &[],
    secrets,
    webhook: Webhook { is_called: |_| true, otherwise: None },
    guide: Guide {
        place: "https://api.slack.com/apps",
        steps: &[
            Step {
                what: "bot scopes",
                values: &[
                    "app_mentions:read",
                    "chat:write",
                    "channels:history",
                    "groups:history",
                    "im:history",
                    "commands",
                ],
            },
            Step { what: "events", values: &["app_mention", "message.im"] },
            Step { what: "slash commands", values: &["/spinney", "/worktree"] },
        ],
    },
    forge: None,
    open,
};

#[derive(Debug, Deserialize)]
struct SlackConfig {
    #[serde(with = "values::optional")]
    api_url: Option<ApiUrl>,
    #[serde(with = "values::optional")]
    token_env: Option<VariableName>,
    #[serde(with = "values::optional")]
    signing_secret_env: Option<VariableName>,
    #[serde(deserialize_with = "ids", rename = "allowed_users")]
    _allowed_users: Vec<String>,
}

fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let is_id = |text: &str| {
        text.starts_with(['U', 'W'])
            && text.len() >= 3
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    let fault = "is not the id of a Slack user such as `U012AB3CD`";
    values::without(values::ids(deserializer)?, |text| (!is_id(text)).then_some(fault))
}

fn secrets(_: &Config, own: &PlatformConfig) -> Vec<Expected> {
    let own: SlackConfig = own.read();
    vec![(own.token_env, "the bot's token, `xoxb-…`"), (own.signing_secret_env, "the app's signing secret")]
}

fn open(engine: &Engine, own: &PlatformConfig) -> Made {
    let own: SlackConfig = own.read();
    let signing_secret = secret(engine, own.signing_secret_env.as_ref());
    let Some((signing_secret, api_url)) = signing_secret.zip(own.api_url.as_ref()) else { return Ok(None) };
    let token = required(engine, own.token_env.as_ref())?;
    let proxy = engine.proxy(api_url.as_str());
    let adapter = Slack::new(api_url, token, &signing_secret, proxy.as_ref()).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(adapter)))
}
