//! The platforms: one row each, from which configuration, set-up, webhooks, checks and `spinney platform` are made.
//!
//! A new platform is a folder with its adapter and its row, and one line in [`PLATFORMS`].

use std::sync::{Arc, LazyLock};

use spinney_core::Platform;
use spinney_core::config::{Config, PlatformConfig, Schema, Section, VariableName};
use spinney_engine::Engine;
use spinney_forge::ForgeKind;

use crate::Adapter;

/// Those on which people ask.
pub static PLATFORMS: &[&Descriptor] = &[
    &crate::github::DESCRIPTOR,
    &crate::slack::DESCRIPTOR,
    &crate::discord::DESCRIPTOR,
    &crate::telegram::DESCRIPTOR,
    #[cfg(feature = "trial")]
    &crate::trial::DESCRIPTOR,
];

/// What a platform's own set-up gives: none where its secrets are not there, an error where it can't be used as it is.
pub type Made = Result<Option<Arc<dyn Adapter>>, String>;

/// One platform.
#[derive(Debug)]
pub struct Descriptor {
    pub platform: Platform,
    /// As it stands in the configuration, in paths and on command lines.
    pub name: &'static str,
    /// As its makers write it.
    pub title: &'static str,
    /// What people do there, in one line.
    pub about: &'static str,
    /// How it is added on a command line.
    pub examples: &'static str,
    /// Where a person's id is to be found.
    pub user_ids: &'static str,
    /// Its section of the configuration.
    pub section: Section,
    /// What `spinney platform add` takes beside what it takes for every platform.
    pub settings: &'static [Setting],
    /// The variables in which its secrets are expected, and what is in each.
    pub secrets: fn(&Config, &PlatformConfig) -> Vec<Expected>,
    pub webhook: Webhook,
    pub guide: Guide,
    /// The forge whose messages these are: they tell the repository themselves.
    pub forge: Option<ForgeKind>,
    /// Makes the adapter. Nothing is asked yet.
    pub open: fn(&Engine, &PlatformConfig) -> Made,
}

/// A variable that is to hold a secret, if one is named, and what is in it.
pub type Expected = (Option<VariableName>, &'static str);

/// A key of the section that can be said on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub key: &'static str,
    /// With its dashes.
    pub flag: &'static str,
    pub value_name: &'static str,
    pub help: &'static str,
    /// Another flag, without its dashes, that must be there too.
    pub requires: Option<&'static str>,
    /// What is asked where no flag says it, and what is taken then; none where nobody is asked.
    pub question: Option<&'static str>,
    /// Says what is wrong with a value before the section is looked at as a whole.
    pub check: fn(&str) -> Result<(), String>,
}

/// How a platform calls.
#[derive(Debug, Clone, Copy)]
pub struct Webhook {
    /// Whether it is to call at all, as it is configured.
    pub is_called: fn(&PlatformConfig) -> bool,
    /// A setting that does without being called.
    pub otherwise: Option<&'static str>,
}

/// What is to be done on the platform itself.
#[derive(Debug, Clone, Copy)]
pub struct Guide {
    pub place: &'static str,
    pub steps: &'static [Step],
}

/// One thing to tick or fill in there.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub what: &'static str,
    pub values: &'static [&'static str],
}

impl Descriptor {
    /// What the configuration says of it.
    #[must_use]
    pub fn config<'a>(&self, config: &'a Config) -> Option<&'a PlatformConfig> {
        config.platforms.of(self.platform.name()?)
    }
}

/// A platform's row; none for what is no platform of ours.
#[must_use]
pub fn descriptor(platform: Platform) -> Option<&'static Descriptor> {
    PLATFORMS.iter().copied().find(|row| row.platform == platform)
}

/// All keys of the configuration: Spinney's own, the forges' and the platforms'.
#[must_use]
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| Schema::new(spinney_forge::sections().chain(PLATFORMS.iter().map(|row| row.section))));
    &SCHEMA
}

#[cfg(test)]
mod tests {
    use spinney_core::config::{Layers, named_variables};
    use toml::Value;

    use super::*;

    fn fault(key: &str, value: Value) -> Option<String> {
        Layers::of(schema()).flag("--flag", key, value).err().map(|error| error.to_string())
    }

    #[test]
    fn each_row_is_whole_and_the_only_one_of_its_name() {
        let config = Layers::of(schema()).resolve().unwrap().config;
        for row in PLATFORMS {
            assert_eq!(row.platform, row.name.parse().unwrap());
            assert_eq!(row.section.path, format!("platforms.{}", row.name));
            assert_eq!(PLATFORMS.iter().filter(|other| other.name == row.name).count(), 1, "{}", row.name);
            let own = row.config(&config).unwrap();
            assert_eq!(own.is_chat, row.forge.is_none(), "{}", row.name);
            assert!((row.section.check)(row.section.defaults.parse().unwrap()).is_ok(), "{}", row.name);
            for setting in row.settings {
                assert!(setting.flag.starts_with("--"), "{}", setting.flag);
                assert!(row.section.defaults.contains(&format!("\n{} = ", setting.key)), "{}", setting.key);
            }
        }
    }

    #[test]
    fn every_key_is_explained() {
        for row in PLATFORMS {
            for block in row.section.defaults.trim().split("\n\n") {
                assert!(block.starts_with("# "), "{}: {block}", row.name);
            }
        }
    }

    #[test]
    fn every_variable_that_holds_a_secret_is_known_as_one() {
        let config = Layers::of(schema()).resolve().unwrap().config;
        for row in PLATFORMS {
            for (variable, what) in (row.secrets)(&config, row.config(&config).unwrap()) {
                let variable = variable.expect("it is named by default").to_string();
                assert!(named_variables(&config).contains(&variable), "{variable}: {what}");
                assert!(schema().usual_variables().contains(&variable.as_str()), "{variable}: {what}");
            }
        }
    }

    #[test]
    fn users_are_named_by_what_stays_theirs() {
        let ids = |ids: Vec<Value>| fault("platforms.github.allowed_users", Value::Array(ids));
        assert_eq!(ids(vec![42.into(), "43".into()]), None);
        for wrong in ["octocat", "", "-1", "1.5", "007"] {
            assert!(ids(vec![wrong.into()]).is_some(), "{wrong}");
        }
        assert!(ids(vec![(-1).into()]).is_some());
        let slack = |id: &str| fault("platforms.slack.allowed_users", vec![id].into());
        assert_eq!(slack("U012AB3CD"), None);
        for wrong in ["", "me", "U1a2b3", "C012AB3CD"] {
            assert!(slack(wrong).is_some(), "{wrong}");
        }
        let message = fault("platforms.slack.allowed_users", Value::Array(vec![7.into()])).unwrap();
        assert!(message.ends_with("must be a list of texts, not a list of something else"), "{message}");
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
            assert_eq!(fault(key, right.into()), None, "{key}");
            assert!(fault(key, wrong.into()).is_some(), "{key}");
        }
    }
}
