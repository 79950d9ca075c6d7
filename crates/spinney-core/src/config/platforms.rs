//! The platforms on which people ask for work: where their APIs are, which variables hold their secrets, who may ask.
//!
//! A platform is used once its secrets are there.

use std::path::PathBuf;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::api_url::ApiUrl;
use super::forge::VariableName;
use super::values;
use crate::names::for_message;
use crate::workspace::words;
use crate::{AgentName, RepositoryName};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlatformsConfig {
    pub github: GithubConfig,
    pub slack: SlackConfig,
    pub discord: DiscordConfig,
    pub telegram: TelegramConfig,
}

words!(
    /// What those hear who may not ask.
    Strangers {
        /// Nothing.
        Ignore = "ignore",
        /// That they may not, once in a conversation.
        Refuse = "refuse",
    }
);

words!(
    /// How Telegram's messages come.
    TelegramMode { Webhook = "webhook", Poll = "poll" }
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GithubConfig {
    /// Two secrets, separated by a comma, while they change.
    #[serde(with = "values::optional")]
    pub webhook_secret_env: Option<VariableName>,
    /// With the `@`.
    #[serde(deserialize_with = "mention")]
    pub mention: String,
    /// Empty: the token of `[forge.github]` is used.
    #[serde(deserialize_with = "app_id")]
    pub app_id: String,
    #[serde(with = "values::path")]
    pub private_key_file: Option<PathBuf>,
    #[serde(deserialize_with = "numeric_ids")]
    pub allowed_users: Vec<String>,
    #[serde(deserialize_with = "values::word")]
    pub strangers: Strangers,
    pub agent: AgentName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    #[serde(with = "values::optional")]
    pub api_url: Option<ApiUrl>,
    #[serde(with = "values::optional")]
    pub token_env: Option<VariableName>,
    #[serde(with = "values::optional")]
    pub signing_secret_env: Option<VariableName>,
    #[serde(deserialize_with = "slack_ids")]
    pub allowed_users: Vec<String>,
    #[serde(deserialize_with = "values::word")]
    pub strangers: Strangers,
    pub agent: AgentName,
    #[serde(with = "values::optional")]
    pub repository: Option<RepositoryName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiscordConfig {
    #[serde(with = "values::optional")]
    pub api_url: Option<ApiUrl>,
    /// None: Discord tells where its gateway is.
    #[serde(deserialize_with = "gateway")]
    pub gateway_url: String,
    #[serde(with = "values::optional")]
    pub token_env: Option<VariableName>,
    /// In hexadecimal, as Discord shows it; empty: no interactions are taken.
    #[serde(deserialize_with = "public_key")]
    pub public_key: String,
    #[serde(deserialize_with = "numeric_ids")]
    pub allowed_users: Vec<String>,
    #[serde(deserialize_with = "values::word")]
    pub strangers: Strangers,
    pub agent: AgentName,
    #[serde(with = "values::optional")]
    pub repository: Option<RepositoryName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramConfig {
    #[serde(with = "values::optional")]
    pub api_url: Option<ApiUrl>,
    #[serde(with = "values::optional")]
    pub token_env: Option<VariableName>,
    #[serde(with = "values::optional")]
    pub webhook_secret_env: Option<VariableName>,
    #[serde(deserialize_with = "values::word")]
    pub mode: TelegramMode,
    #[serde(deserialize_with = "numeric_ids")]
    pub allowed_users: Vec<String>,
    #[serde(deserialize_with = "values::word")]
    pub strangers: Strangers,
    pub agent: AgentName,
    #[serde(with = "values::optional")]
    pub repository: Option<RepositoryName>,
}

/// Ids as numbers or as texts: names can be given to somebody else.
fn numeric_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(u64),
        Text(String),
    }
    let ids = Vec::<Id>::deserialize(deserializer).map_err(|_| D::Error::custom("it is not a list of user ids"))?;
    let text = |id| match id {
        Id::Number(number) => Ok(number.to_string()),
        Id::Text(text) if text.parse::<u64>().is_ok_and(|number| number.to_string() == text) => Ok(text),
        Id::Text(text) => Err(D::Error::custom(format!(
            "`{}` is not the number of a user: names can be given to somebody else",
            for_message(&text)
        ))),
    };
    ids.into_iter().map(text).collect()
}

fn slack_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let is_id = |text: &str| {
        text.starts_with(['U', 'W'])
            && text.len() >= 3
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    values::texts(deserializer, |text| (!is_id(text)).then_some("is not the id of a Slack user such as `U012AB3CD`"))
}

fn mention<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_login =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    match text.strip_prefix('@') {
        Some(name) if is_login(name) => Ok(text),
        _ => Err(D::Error::custom(format!("`{}` is not a mention such as `@spinney`", for_message(&text)))),
    }
}

fn app_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_id = text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    if is_id { Ok(text) } else { Err(D::Error::custom(format!("`{}` is not the id of an app", for_message(&text)))) }
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

#[cfg(test)]
mod tests {
    use super::super::schema::tests::plain_fault as fault;
    use toml::Value;

    #[test]
    fn users_are_named_by_what_stays_theirs() {
        let ids = |ids: Vec<Value>| fault("platforms.github.allowed_users", &Value::Array(ids));
        assert_eq!(ids(vec![42.into(), "43".into()]), None);
        for wrong in ["octocat", "", "-1", "1.5", "007"] {
            assert!(ids(vec![wrong.into()]).is_some(), "{wrong}");
        }
        assert!(ids(vec![(-1).into()]).is_some());
        let slack = |id: &str| fault("platforms.slack.allowed_users", &vec![id].into());
        assert_eq!(slack("U012AB3CD"), None);
        for wrong in ["", "me", "U1a2b3", "C012AB3CD"] {
            assert!(slack(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_checked() {
        for (key, right, wrong) in [
            ("platforms.github.mention", "@spinney-bot", "spinney"),
            ("platforms.github.app_id", "12345", "a b"),
            ("platforms.github.strangers", "refuse", "shout"),
            ("platforms.github.private_key_file", "/etc/key.pem", "key.pem"),
            ("platforms.discord.public_key", "", "abc"),
            ("platforms.discord.gateway_url", "wss://gateway.discord.gg", "https://discord.com"),
            ("platforms.telegram.mode", "poll", "pull"),
            ("platforms.slack.repository", "acme/app", "acme"),
            ("platforms.slack.agent", "coder", ""),
            ("platforms.slack.token_env", "SLACK_BOT_TOKEN", "xoxb-1"),
        ] {
            assert_eq!(fault(key, &right.into()), None, "{key}");
            assert!(fault(key, &wrong.into()).is_some(), "{key}");
        }
    }
}
