//! Telegram among the platforms: its section, its secrets, and what is to be done there.

use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use spinney_core::config::{ApiUrl, Config, PlatformConfig, Section, VariableName, values};
use spinney_core::workspace::UnknownWord;
use spinney_engine::Engine;

use super::{PLATFORM, Telegram, TelegramOptions};
use crate::section::check;
use crate::set_up::{required, secret};
use crate::table::{Descriptor, Expected, Guide, Made, Setting, Step, Webhook};

pub static DESCRIPTOR: Descriptor = Descriptor {
    platform: PLATFORM,
    name: "telegram",
    title: "Telegram",
    about: "Private chats and groups",
    examples: "Examples:\n  spinney platform add telegram --allow-user 583231 --mode poll\n  \
        SPINNEY_SERVER__PUBLIC_URL=https://spinney.example.org spinney platform add telegram --allow-user 583231",
    user_ids: "as numbers: @userinfobot tells yours",
    section: Section {
        path: "platforms.telegram",
        defaults: include_str!("defaults.toml"),
        check: check::<TelegramConfig>,
        takes_numbers: true,
    },
    settings: &[Setting {
        key: "mode",
        flag: "--mode",
        value_name: "MODE",
        help: "`webhook`: Telegram calls the daemon; `poll`: the daemon asks, from behind any firewall",
        requires: None,
        question: Some("`webhook`, or `poll` from behind a firewall? [webhook]"),
        check: |text| text.parse::<Mode>().map(drop).map_err(|error| error.to_string()),
    }],
    secrets,
    webhook: Webhook {
        is_called: |own| own.read::<TelegramConfig>().mode == Mode::Webhook,
        otherwise: Some("platforms.telegram.mode = \"poll\""),
    },
    guide: Guide {
        place: "@BotFather",
        steps: &[
            Step { what: "privacy mode", values: &["on: in groups the bot sees what calls it"] },
            Step { what: "updates", values: &["message", "edited_message"] },
        ],
    },
    forge: None,
    open,
};

#[derive(Debug, Deserialize)]
struct TelegramConfig {
    #[serde(with = "values::optional")]
    api_url: Option<ApiUrl>,
    #[serde(with = "values::optional")]
    token_env: Option<VariableName>,
    #[serde(with = "values::optional")]
    webhook_secret_env: Option<VariableName>,
    #[serde(deserialize_with = "values::word")]
    mode: Mode,
    #[serde(deserialize_with = "values::numeric_ids", rename = "allowed_users")]
    _allowed_users: Vec<String>,
}

/// How Telegram's messages come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Webhook,
    Poll,
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "webhook" => Ok(Self::Webhook),
            "poll" => Ok(Self::Poll),
            _ => Err(UnknownWord { word: text.to_owned(), known: "webhook`, `poll".to_owned() }),
        }
    }
}

fn secrets(_: &Config, own: &PlatformConfig) -> Vec<Expected> {
    let own: TelegramConfig = own.read();
    let secret = (own.webhook_secret_env, "the webhook's secret, which you choose: letters, digits, _ and -");
    let secret = (own.mode == Mode::Webhook).then_some(secret);
    [(own.token_env, "the bot's token, from @BotFather")].into_iter().chain(secret).collect()
}

fn open(engine: &Engine, own: &PlatformConfig) -> Made {
    let own: TelegramConfig = own.read();
    let token = secret(engine, own.token_env.as_ref());
    let Some((token, api_url)) = token.zip(own.api_url) else { return Ok(None) };
    let webhook_secret = match own.mode {
        Mode::Webhook => Some(required(engine, own.webhook_secret_env.as_ref())?),
        Mode::Poll => None,
    };
    let proxy = engine.proxy(api_url.as_str());
    let options = TelegramOptions { api_url, token, webhook_secret, proxy };
    Ok(Some(Arc::new(Telegram::new(options).map_err(|error| error.to_string())?)))
}
