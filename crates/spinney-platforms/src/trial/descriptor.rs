//! The trial platform's row.

use std::sync::Arc;

use serde::Deserialize;
use spinney_core::config::{ApiUrl, Config, PlatformConfig, Section, VariableName, values};
use spinney_engine::Engine;

use super::{PLATFORM, Trial};
use crate::section::{check, later};
use crate::set_up::{required, secret};
use crate::table::{Descriptor, Expected, Guide, Made, Setting, Step, Webhook};

pub static DESCRIPTOR: Descriptor = Descriptor {
    platform: PLATFORM,
    name: "trial",
    title: "Trial",
    about: "Messages of tests",
    examples: "Example: spinney platform add trial --allow-user 7 --colour green",
    user_ids: "as numbers",
    section: Section {
        path: "platforms.trial",
        defaults: include_str!("defaults.toml"),
        check: check::<TrialConfig>,
        takes_numbers: true,
    },
    settings: &[Setting {
        key: "colour",
        flag: "--colour",
        value_name: "COLOUR",
        help: "What no other platform has",
        requires: None,
        question: None,
        check: later,
    }],
    secrets,
    webhook: Webhook { is_called: |_| true, otherwise: None },
    guide: Guide { place: "the test", steps: &[Step { what: "header", values: &[super::SECRET_HEADER] }] },
    forge: None,
    open,
};

#[derive(Debug, Deserialize)]
struct TrialConfig {
    #[serde(with = "values::optional")]
    api_url: Option<ApiUrl>,
    #[serde(with = "values::optional")]
    token_env: Option<VariableName>,
    #[serde(with = "values::optional")]
    webhook_secret_env: Option<VariableName>,
    #[serde(deserialize_with = "values::numeric_ids", rename = "allowed_users")]
    _allowed_users: Vec<String>,
}

fn secrets(_: &Config, own: &PlatformConfig) -> Vec<Expected> {
    let own: TrialConfig = own.read();
    vec![(own.token_env, "the token"), (own.webhook_secret_env, "the webhook's secret")]
}

fn open(engine: &Engine, own: &PlatformConfig) -> Made {
    let own: TrialConfig = own.read();
    let token = secret(engine, own.token_env.as_ref());
    let Some((token, api_url)) = token.zip(own.api_url) else { return Ok(None) };
    let webhook_secret = required(engine, own.webhook_secret_env.as_ref())?;
    let adapter = Trial::new(&api_url, token, &webhook_secret).map_err(|error| error.to_string())?;
    Ok(Some(Arc::new(adapter)))
}
