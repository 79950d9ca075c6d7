//! The platforms on which people ask for work: what the configuration says of all of them alike. What else stands in a
//! platform's section is its adapter's to understand.
//!
//! A platform is used once its secrets are there.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::values;
use crate::platform::{Platform, PlatformName};
use crate::workspace::words;
use crate::{AgentName, RepositoryName};

/// The sections of the platforms, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlatformsConfig(BTreeMap<PlatformName, PlatformConfig>);

words!(
    /// What those hear who may not ask.
    Strangers {
        /// Nothing.
        Ignore = "ignore",
        /// That they may not, once in a conversation.
        Refuse = "refuse",
    }
);

/// One platform's section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformConfig {
    /// By the platform's own ids.
    pub allowed_users: Vec<String>,
    pub strangers: Strangers,
    pub agent: AgentName,
    /// The one that chats are about, until somebody says otherwise there. A forge's messages tell theirs themselves.
    pub repository: Option<RepositoryName>,
    /// Whether the section has a key for the repository: people chat here.
    pub is_chat: bool,
    section: Map<String, Value>,
}

impl PlatformsConfig {
    /// What is said of a platform; none where nobody declared it.
    #[must_use]
    pub fn of(&self, name: PlatformName) -> Option<&PlatformConfig> {
        self.0.get(&name)
    }

    /// Where a request came from, by a word that somebody else wrote; none where no platform of that name is declared.
    #[must_use]
    pub fn origin(&self, word: &str) -> Option<Platform> {
        let platform: Platform = word.parse().ok()?;
        platform.name().is_none_or(|name| self.of(name).is_some()).then_some(platform)
    }

    /// Whether people chat there: what they speak of has no repository of its own.
    #[must_use]
    pub fn is_chat(&self, platform: Platform) -> bool {
        platform.name().and_then(|name| self.of(name)).is_some_and(|config| config.is_chat)
    }
}

impl PlatformConfig {
    /// The section as its platform understands it.
    ///
    /// # Panics
    ///
    /// If this is not the type by which the section's declaration checks it.
    #[must_use]
    pub fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value(Value::Object(self.section.clone())).expect("the section was checked")
    }
}

/// The keys that every platform has.
#[derive(Deserialize)]
struct Common {
    #[serde(deserialize_with = "values::ids")]
    allowed_users: Vec<String>,
    #[serde(deserialize_with = "values::word")]
    strangers: Strangers,
    agent: AgentName,
    #[serde(default)]
    repository: Option<String>,
}

impl<'de> Deserialize<'de> for PlatformConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let section = Map::deserialize(deserializer)?;
        let common: Common = serde_json::from_value(Value::Object(section.clone())).map_err(D::Error::custom)?;
        let Common { allowed_users, strangers, agent, repository } = common;
        let is_chat = repository.is_some();
        let repository = repository.filter(|name| !name.is_empty()).map(|name| name.parse());
        let repository = repository.transpose().map_err(D::Error::custom)?;
        Ok(Self { allowed_users, strangers, agent, repository, is_chat, section })
    }
}

impl Serialize for PlatformConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.section.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Layers, Schema, Section};

    const DEFAULTS: &str =
        "allowed_users = []\nstrangers = \"ignore\"\nagent = \"coder\"\nrepository = \"\"\ncolour = \"red\"\n";

    #[derive(serde::Deserialize)]
    struct Own {
        colour: String,
    }

    fn check(table: toml::Table) -> Result<(), String> {
        let own: Own = table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        if own.colour == "green" { Err("green is taken".to_owned()) } else { Ok(()) }
    }

    fn layers() -> Layers {
        let section = Section { path: "platforms.trial", defaults: DEFAULTS, check, takes_numbers: true };
        Layers::of(Box::leak(Box::new(Schema::new([section]))))
    }

    #[test]
    fn a_declared_section_is_as_good_as_one_of_our_own() {
        let mut layers = layers();
        let text = "[platforms.trial]\nallowed_users = [7, 'U1']\ncolour = 'blue'\n[cleanup]\n\
            persistent_platforms = ['trial', 'cli']\n";
        layers.file("config.toml".as_ref(), text).unwrap();
        layers.environment([("SPINNEY_PLATFORMS__TRIAL__REPOSITORY", "acme/app")].into_iter()).unwrap();
        let config = layers.resolve().unwrap().config;
        let trial = config.platforms.of("trial".parse().unwrap()).unwrap();
        assert_eq!(trial.allowed_users, ["7", "U1"]);
        assert_eq!(trial.repository, Some("acme/app".parse().unwrap()));
        assert_eq!((trial.read::<Own>().colour.as_str(), trial.is_chat), ("blue", true));
        assert!(config.platforms.of("other".parse().unwrap()).is_none());
        let origin = |word: &str| config.platforms.origin(word).map(|platform| platform.to_string());
        assert_eq!([origin("trial"), origin("cli")].map(Option::unwrap), ["trial", "cli"]);
        assert_eq!([origin("other"), origin("No")], [None, None]);
        let is_chat = |word: &str| config.platforms.is_chat(word.parse().unwrap());
        assert_eq!([is_chat("trial"), is_chat("cli"), is_chat("other")], [true, false, false]);
    }

    #[test]
    fn what_is_wrong_in_it_is_told_with_its_place() {
        for (text, message) in [
            ("colour = 'green'", "wrong value for `platforms.trial.colour`: green is taken"),
            (
                "strangers = 'shout'",
                "wrong value for `platforms.trial.strangers`: `shout` is none of `ignore`, `refuse`",
            ),
            ("repository = 'acme'", "wrong value for `platforms.trial.repository`"),
            ("agent = ''", "wrong value for `platforms.trial.agent`"),
            ("color = 'red'", "unknown key `platforms.trial.color`"),
        ] {
            let error = layers().file("c".as_ref(), &format!("[platforms.trial]\n{text}")).unwrap_err().to_string();
            assert!(error.starts_with("c:2: ") && error.contains(message), "{error}");
        }
        let error = layers().file("c".as_ref(), "[cleanup]\npersistent_platforms = ['irc']").unwrap_err().to_string();
        assert!(error.ends_with("`irc` is none of `cli`, `api`, `schedule`, `trial`"), "{error}");
    }
}
