//! All keys that there are: Spinney's own, and those of the sections that others declare, as each platform does.

use std::sync::LazyLock;

use super::defaults;
use super::keys::Keys;
use crate::platform::{Platform, PlatformName};

/// What the sections of platforms begin with.
const PLATFORMS: &str = "platforms";

/// A section of the configuration that is declared by whoever understands it.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Where its keys are, as `platforms.github`.
    pub path: &'static str,
    /// Its keys with their defaults, a comment before each.
    pub defaults: &'static str,
    /// Says what is wrong with the section: its defaults, and in them what somebody set.
    pub check: fn(toml::Table) -> Result<(), String>,
    /// Whether the entries of its lists can be written as numbers too, as ids of people are.
    pub takes_numbers: bool,
}

/// The keys that can be set, and what is right for each.
#[derive(Debug)]
pub struct Schema {
    pub(super) keys: Keys,
    sections: Vec<Section>,
}

static OWN: LazyLock<Schema> = LazyLock::new(|| Schema::new([]));

impl Schema {
    /// Spinney's own keys, and behind them those of the sections in their order.
    ///
    /// # Panics
    ///
    /// If the defaults of a section are not TOML: they are compiled in.
    #[must_use]
    pub fn new(sections: impl IntoIterator<Item = Section>) -> Self {
        let sections: Vec<_> = sections.into_iter().collect();
        let mut keys = defaults::own_keys();
        for section in &sections {
            keys.extend(&format!("[{}]\n{}", section.path, section.defaults), section.takes_numbers);
        }
        Self { keys, sections }
    }

    /// Spinney's own keys alone.
    pub(super) fn own() -> &'static Self {
        &OWN
    }

    /// The names of the variables that hold secrets, where nobody names others.
    #[must_use]
    pub fn usual_variables(&self) -> Vec<&str> {
        let names = self.keys.iter().filter(|known| known.names_a_variable());
        names.filter_map(|known| known.default.as_str()).filter(|name| !name.is_empty()).collect()
    }

    /// The platforms that are declared, in their order.
    pub fn platforms(&self) -> impl Iterator<Item = PlatformName> {
        let names = self.sections.iter().filter_map(|section| section.path.strip_prefix(PLATFORMS)?.strip_prefix('.'));
        names.filter_map(|name| name.parse().ok())
    }

    /// Every word that says where a request came from.
    pub(super) fn origins(&self) -> impl Iterator<Item = Platform> {
        Platform::OWN.into_iter().chain(self.platforms().map(Platform::On))
    }

    /// What is wrong with a value of a declared section, looking at it alone among the section's defaults.
    pub(super) fn fault(&self, key: &str, value: &toml::Value) -> Option<String> {
        let below = |section: &Section| Some((*section, key.strip_prefix(section.path)?.strip_prefix('.')?.to_owned()));
        let (section, key) = self.sections.iter().find_map(below)?;
        let mut table: toml::Table = section.defaults.parse().ok()?;
        defaults::set(&mut table, &key, value.clone());
        (section.check)(table).err()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::forge::ForgeConfig;
    use super::super::platforms::PlatformConfig;
    use super::*;

    fn forge(table: toml::Table) -> Result<(), String> {
        table.try_into::<ForgeConfig>().map(drop).map_err(|error| error.message().to_owned())
    }

    fn platform(table: toml::Table) -> Result<(), String> {
        table.try_into::<PlatformConfig>().map(drop).map_err(|error| error.message().to_owned())
    }

    static TRIAL: LazyLock<Schema> = LazyLock::new(|| {
        let forge = Section {
            path: "forge.github",
            defaults: "api_url = \"https://api.github.com\"\ntoken_env = \"GITHUB_TOKEN\"\n",
            check: forge,
            takes_numbers: false,
        };
        let defaults = "allowed_users = []\nstrangers = \"ignore\"\nagent = \"coder\"\n";
        let platform = |path, takes_numbers| Section { path, defaults, check: platform, takes_numbers };
        Schema::new([forge, platform("platforms.github", true), platform("platforms.slack", false)])
    });

    /// Our own keys, a forge's and two platforms'.
    pub fn trial() -> &'static Schema {
        &TRIAL
    }

    #[test]
    fn declared_keys_come_behind_our_own() {
        let sections: Vec<_> = trial().keys.children("").collect();
        let own: Vec<_> = Schema::own().keys.children("").collect();
        assert_eq!(sections, [own, vec!["forge", "platforms"]].concat());
        assert_eq!(trial().platforms().map(|name| name.to_string()).collect::<Vec<_>>(), ["github", "slack"]);
        assert_eq!(trial().usual_variables(), ["GITHUB_TOKEN"]);
    }
}
