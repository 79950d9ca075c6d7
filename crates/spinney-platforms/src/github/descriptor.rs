//! GitHub among the platforms: its section, its secrets, and what is to be done there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use spinney_core::Secret;
use spinney_core::config::{Config, PlatformConfig, Section, VariableName, values};
use spinney_core::names::for_message;
use spinney_engine::Engine;
use spinney_forge::{GITHUB, token};

use super::{GithubAdapter, GithubApp, GithubOptions, PLATFORM};
use crate::section::{check, later};
use crate::set_up::secret;
use crate::table::{Descriptor, Expected, Guide, Made, Setting, Step, Webhook};

pub static DESCRIPTOR: Descriptor = Descriptor {
    platform: PLATFORM,
    name: "github",
    title: "GitHub",
    about: "Issues, pull requests, reviews and their comments",
    examples: "Examples:\n  spinney platform add github --allow-user 583231\n  \
        spinney platform add github --allow-user 583231 --app-id 12345 --private-key-file /etc/spinney/app.pem",
    user_ids: "as `gh api user --jq .id` prints them",
    section: Section {
        path: "platforms.github",
        defaults: include_str!("defaults.toml"),
        check: check::<GithubConfig>,
        takes_numbers: true,
    },
    settings: &[
        Setting {
            key: "mention",
            flag: "--mention",
            value_name: "@NAME",
            help: "How people call the bot, as `@spinney`",
            requires: None,
            question: None,
            check: later,
        },
        Setting {
            key: "app_id",
            flag: "--app-id",
            value_name: "ID",
            help: "The id of a GitHub App, instead of a token",
            requires: Some("private-key-file"),
            question: None,
            check: later,
        },
        Setting {
            key: "private_key_file",
            flag: "--private-key-file",
            value_name: "FILE",
            help: "The App's private key, in PEM",
            requires: Some("app-id"),
            question: None,
            check: later,
        },
    ],
    secrets,
    webhook: Webhook { is_called: |_| true, otherwise: None },
    guide: Guide {
        place: "the repository's settings, *Webhooks*; or a GitHub App",
        steps: &[
            Step { what: "content type", values: &["application/json"] },
            Step {
                what: "permissions",
                values: &["contents: read", "issues: write", "metadata: read", "pull requests: write"],
            },
            Step {
                what: "events",
                values: &[
                    "issues",
                    "issue_comment",
                    "pull_request",
                    "pull_request_review",
                    "pull_request_review_comment",
                ],
            },
        ],
    },
    forge: Some(&GITHUB),
    open,
};

#[derive(Debug, Deserialize)]
struct GithubConfig {
    /// Two secrets, separated by a comma, while they change.
    #[serde(with = "values::optional")]
    webhook_secret_env: Option<VariableName>,
    /// With the `@`.
    #[serde(deserialize_with = "mention")]
    mention: String,
    /// Empty: the token of `[forge.github]` is used.
    #[serde(deserialize_with = "app_id")]
    app_id: String,
    #[serde(with = "values::path")]
    private_key_file: Option<PathBuf>,
    #[serde(deserialize_with = "values::numeric_ids", rename = "allowed_users")]
    _allowed_users: Vec<String>,
}

fn mention<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_login =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match text.strip_prefix('@') {
        Some(name) if is_login(name) => Ok(text),
        _ => Err(serde::de::Error::custom(format!("`{}` is not a mention such as `@spinney`", for_message(&text)))),
    }
}

fn app_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_id = text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    let wrong = || serde::de::Error::custom(format!("`{}` is not the id of an app", for_message(&text)));
    if is_id { Ok(text) } else { Err(wrong()) }
}

fn secrets(config: &Config, own: &PlatformConfig) -> Vec<Expected> {
    let own: GithubConfig = own.read();
    let is_app = !own.app_id.is_empty();
    let token = config.forge.of(GITHUB.name).and_then(|forge| forge.token_env.clone());
    let token = (!is_app).then_some((token, "a token of the bot's account"));
    [(own.webhook_secret_env, "the webhook's secret, which you choose")].into_iter().chain(token).collect()
}

fn open(engine: &Engine, own: &PlatformConfig) -> Made {
    let own: GithubConfig = own.read();
    let forge = engine.config().forge.of(GITHUB.name).cloned().unwrap_or_default();
    let Some(webhook_secrets) = secret(engine, own.webhook_secret_env.as_ref()) else { return Ok(None) };
    let Some(api_url) = forge.api_url.as_ref().map(ToString::to_string) else { return Ok(None) };
    let app = match (own.app_id.as_str(), &own.private_key_file) {
        ("", None) => None,
        ("", Some(_)) => return Err("`private_key_file` goes with `app_id`".to_owned()),
        (_, None) => return Err("`app_id` goes with `private_key_file`".to_owned()),
        (id, Some(file)) => Some(GithubApp { id: id.to_owned(), private_key: read_key(file)? }),
    };
    let variable = forge.token_env.as_ref().map(ToString::to_string).unwrap_or_default();
    let token = token::from_environment(&GITHUB, &engine.texts(), &variable);
    if token.is_none() && app.is_none() {
        return Err(format!("there is no token in `{variable}`, and no app"));
    }
    let proxy = engine.proxy(&api_url);
    let options = GithubOptions { webhook_secrets, mention: own.mention, api_url, token, app, proxy };
    let adapter = GithubAdapter::new(&options).map_err(|error| spinney_core::in_full(&error))?;
    Ok(Some(Arc::new(adapter)))
}

fn read_key(file: &Path) -> Result<Secret, String> {
    // Whoever opens a pipe waits for its other end.
    let is_file = std::fs::metadata(file).map(|found| found.is_file());
    let read = match is_file {
        Ok(false) => Err(std::io::Error::other("it is no regular file")),
        Ok(true) => std::fs::read_to_string(file),
        Err(error) => Err(error),
    };
    read.map(Secret::new).map_err(|error| format!("`{}` can't be read: {error}", file.display()))
}
