//! Discord among the platforms: its section, its secrets, and what is to be done there.

use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use spinney_core::config::{ApiUrl, Config, PlatformConfig, Section, VariableName, values};
use spinney_engine::Engine;

use super::{Discord, DiscordOptions, PLATFORM};
use crate::section::{check, later};
use crate::set_up::secret;
use crate::table::{Descriptor, Expected, Guide, Made, Setting, Step, Webhook};

pub static DESCRIPTOR: Descriptor = Descriptor {
    platform: PLATFORM,
    name: "discord",
    title: "Discord",
    about: "Mentions, direct messages and slash commands",
    examples: "Example: spinney platform add discord --allow-user 80351110224678912 --public-key KEY",
    user_ids: "as numbers: developer mode copies a user's id",
    section: Section {
        path: "platforms.discord",
        defaults: include_str!("defaults.toml"),
        check: check::<DiscordConfig>,
        takes_numbers: true,
    },
    settings: &[Setting {
        key: "public_key",
        flag: "--public-key",
        value_name: "HEX",
        help: "The application's public key, for slash commands",
        requires: None,
        question: Some("The application's public key, for slash commands? [none]"),
        check: later,
    }],
    secrets,
    webhook: Webhook { is_called: |own| !own.read::<DiscordConfig>().public_key.is_empty(), otherwise: None },
    guide: Guide {
        place: "https://discord.com/developers/applications",
        steps: &[
            Step { what: "scopes", values: &["bot", "applications.commands"] },
            Step {
                what: "permissions",
                values: &[
                    "View Channels",
                    "Send Messages",
                    "Send Messages in Threads",
                    "Create Public Threads",
                    "Read Message History",
                ],
            },
        ],
    },
    forge: None,
    open,
};

#[derive(Debug, Deserialize)]
struct DiscordConfig {
    #[serde(with = "values::optional")]
    api_url: Option<ApiUrl>,
    /// Empty: Discord tells where its gateway is.
    #[serde(deserialize_with = "gateway")]
    gateway_url: String,
    #[serde(with = "values::optional")]
    token_env: Option<VariableName>,
    /// In hexadecimal, as Discord shows it; empty: no interactions are taken.
    #[serde(deserialize_with = "public_key")]
    public_key: String,
    #[serde(deserialize_with = "values::numeric_ids", rename = "allowed_users")]
    _allowed_users: Vec<String>,
}

fn public_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_key = text.is_empty() || (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_key { Ok(text) } else { Err(D::Error::custom("it is not a key of 64 hexadecimal digits")) }
}

fn gateway<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_socket = ["ws://", "wss://"].iter().any(|scheme| text.starts_with(scheme));
    if text.is_empty() || is_socket { Ok(text) } else { Err(D::Error::custom("it is not a `wss://` URL")) }
}

fn secrets(_: &Config, own: &PlatformConfig) -> Vec<Expected> {
    vec![(own.read::<DiscordConfig>().token_env, "the bot's token")]
}

fn open(engine: &Engine, own: &PlatformConfig) -> Made {
    let own: DiscordConfig = own.read();
    let token = secret(engine, own.token_env.as_ref());
    let Some((token, api_url)) = token.zip(own.api_url) else { return Ok(None) };
    let proxy = engine.proxy(api_url.as_str());
    let options = DiscordOptions { api_url, gateway_url: own.gateway_url, token, public_key: own.public_key, proxy };
    Ok(Some(Arc::new(Discord::new(options).map_err(|error| error.to_string())?)))
}
