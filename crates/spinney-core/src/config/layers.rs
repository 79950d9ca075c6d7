//! Puts the layers on top of each other and remembers where each value came from.

use std::fmt;
use std::path::Path;

use super::document::{self, RawSetting, Setting};
use super::error::ConfigError;
use super::schema::Config;
use super::source::Source;
use super::{defaults, environment, repository};

/// Collects the layers. The order of the calls does not matter, except that of two files (or flags) the later wins.
#[derive(Clone, Default)]
pub struct Layers {
    settings: Vec<(Source, Setting)>,
}

/// What became of the repository's file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryPart {
    /// The shell lines that were left out because nobody trusted them yet.
    pub withheld_setup: Vec<String>,
}

/// The configuration that counts.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub config: Config,
    entries: Vec<Entry>,
}

/// One key as it is shown to a person: no password in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `section.key`.
    pub key: String,
    pub value: toml::Value,
    pub source: Source,
}

impl Layers {
    /// Begins with the built-in defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the person's own file.
    pub fn file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let settings = document::read(&path.display().to_string(), text)?;
        self.add(&Source::File(path.to_owned()), settings);
        Ok(())
    }

    /// Adds the repository's file, read at `place`. Its shell lines count only if a person trusted them.
    pub fn repository(&mut self, place: &str, text: &str, trusted: bool) -> Result<RepositoryPart, ConfigError> {
        let mut settings = repository::read(place, text)?;
        let mut part = RepositoryPart::default();
        if !trusted {
            part.withheld_setup = repository::setup_of(&settings);
        }
        if !part.withheld_setup.is_empty() {
            settings.retain(|setting| setting.key != repository::SETUP);
        }
        self.add(&Source::Repository(place.to_owned()), settings);
        Ok(part)
    }

    /// Adds the environment's variables, of which only those that configure Spinney count.
    pub fn environment<'a>(&mut self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), ConfigError> {
        for (name, setting) in environment::read(variables)? {
            self.add(&Source::Environment(name), vec![setting]);
        }
        Ok(())
    }

    /// Adds what a flag says about a key.
    pub fn flag(&mut self, flag: &str, key: &str, value: toml::Value) -> Result<(), ConfigError> {
        let raw = RawSetting { key: key.to_owned(), value: Ok(value), place: flag.to_owned() };
        let setting = document::check(raw)?;
        self.add(&Source::Flag(flag.to_owned()), vec![setting]);
        Ok(())
    }

    fn add(&mut self, source: &Source, settings: Vec<Setting>) {
        self.settings.extend(settings.into_iter().map(|setting| (source.clone(), setting)));
    }

    /// Gives what counts.
    pub fn resolve(&self) -> Result<Resolved, ConfigError> {
        let mut table = defaults::table();
        let mut entries = Vec::new();
        let mut place = "";
        for known in defaults::keys() {
            // Of equals the last is the greatest: the later call.
            let winner = self
                .settings
                .iter()
                .filter(|(_, setting)| setting.key == known.key)
                .max_by_key(|(source, _)| source.rank());
            let (value, source) = match winner {
                Some((source, setting)) => {
                    place = &setting.place;
                    (setting.value.clone(), source.clone())
                }
                None => (known.default.clone(), Source::Default),
            };
            defaults::set(&mut table, &known.key, value.clone());
            entries.push(Entry { key: known.key.clone(), value, source });
        }
        let config: Config = table.try_into().map_err(|error: toml::de::Error| ConfigError::WrongValue {
            place: place.to_owned(),
            key: "configuration".to_owned(),
            message: error.message().to_owned(),
        })?;
        if let Some(url) = &config.store.url {
            let shown = entries.iter_mut().find(|entry| entry.key == "store.url");
            shown.expect("the store has a key").value = url.redacted().into();
        }
        Ok(Resolved { config, entries })
    }
}

/// Names the keys only: a value may be a secret.
impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.settings.iter().map(|(source, setting)| (source, setting.key))).finish()
    }
}

impl Resolved {
    /// Every key with its value and origin, in the order of the default file. Passwords are hidden.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.clone()
    }

    /// Where a key's value comes from; none for a key that does not exist.
    #[must_use]
    pub fn source(&self, key: &str) -> Option<&Source> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.source)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "[workspace]\nbase = 'file'\nremote = 'file'\nsetup = ['file']\n[limits]\nmax_workspaces = 1\n";
    const REPOSITORY: &str = "[workspace]\nbase = 'repository'\nremote = 'repository'\nsetup = ['repository']\n";

    #[test]
    fn defaults_alone_are_the_default_configuration() {
        let resolved = Layers::new().resolve().unwrap();
        assert_eq!(resolved.config, Config::default());
        assert!(resolved.entries().iter().all(|entry| entry.source == Source::Default));
        assert_eq!(resolved.entries()[0].key, "workspace.populate");
        assert_eq!(resolved.config.limits.max_workspaces, 25);
        assert_eq!(resolved.config.workspace.setup_timeout.0.as_secs(), 600);
    }

    #[test]
    fn later_layers_win_whatever_the_order_of_calls() {
        let base = |name: &str| Some(name.parse().unwrap());
        let mut layers = Layers::new();
        layers.flag("--base", "workspace.base", "flag".into()).unwrap();
        layers.environment([("SPINNEY_WORKSPACE__BASE", "environment")].into_iter()).unwrap();
        layers.repository("spinney.toml", REPOSITORY, true).unwrap();
        layers.file("config.toml".as_ref(), FILE).unwrap();
        let resolved = layers.resolve().unwrap();
        assert_eq!(resolved.config.workspace.base, base("flag"));
        assert_eq!(resolved.source("workspace.base"), Some(&Source::Flag("--base".to_owned())));
        assert_eq!(resolved.config.workspace.remote.as_deref(), Some("repository"));
        assert_eq!(resolved.source("workspace.remote"), Some(&Source::Repository("spinney.toml".to_owned())));
        assert_eq!(resolved.source("limits.max_workspaces"), Some(&Source::File("config.toml".into())));
        assert_eq!(resolved.source("workspace.copy"), Some(&Source::Default));
        assert_eq!(resolved.source("workspace.nothing"), None);

        let mut layers = Layers::new();
        layers.environment([("SPINNEY_WORKSPACE__BASE", "environment")].into_iter()).unwrap();
        layers.repository("spinney.toml", REPOSITORY, true).unwrap();
        let resolved = layers.resolve().unwrap();
        assert_eq!(resolved.config.workspace.base, base("environment"));
        let variable = Source::Environment("SPINNEY_WORKSPACE__BASE".to_owned());
        assert_eq!(resolved.source("workspace.base"), Some(&variable));
    }

    #[test]
    fn untrusted_shell_lines_do_not_count_but_the_rest_does() {
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), FILE).unwrap();
        let part = layers.repository("spinney.toml", REPOSITORY, false).unwrap();
        assert_eq!(part.withheld_setup, ["repository"]);
        let resolved = layers.resolve().unwrap();
        assert_eq!(resolved.config.workspace.setup, ["file"]);
        assert_eq!(resolved.config.workspace.remote.as_deref(), Some("repository"));

        let part = layers.repository("spinney.toml", REPOSITORY, true).unwrap();
        assert_eq!(part, RepositoryPart::default());
        assert_eq!(layers.resolve().unwrap().config.workspace.setup, ["repository"]);
    }

    #[test]
    fn a_file_with_an_error_adds_nothing() {
        let mut layers = Layers::new();
        assert!(layers.file("c".as_ref(), "[workspace]\nbase = 'x'\nbse = 'y'").is_err());
        assert!(layers.flag("--base", "workspace.base", "a..b".into()).is_err());
        assert!(layers.flag("--x", "workspace.x", "a".into()).is_err());
        assert!(layers.flag("--base", "workspace.base", 3.into()).is_err());
        assert_eq!(layers.resolve().unwrap().config, Config::default());
    }

    #[test]
    fn the_stores_password_is_not_shown() {
        let mut layers = Layers::new();
        layers.environment([("SPINNEY_DATABASE_URL", "postgres://me:s3cret@host/db")].into_iter()).unwrap();
        let resolved = layers.resolve().unwrap();
        assert_eq!(resolved.config.store.url.as_ref().unwrap().expose(), "postgres://me:s3cret@host/db");
        let entry = resolved.entries().into_iter().find(|entry| entry.key == "store.url").unwrap();
        assert_eq!(entry.value.as_str(), Some("postgres://me:***@host/db"));
        assert!(!format!("{layers:?} {resolved:?}").contains("s3cret"));
    }

    /// Texts that are nearly right, so that every stage is reached.
    fn hostile() -> impl Strategy<Value = String> {
        let key = prop_oneof!["[a-z_.]{0,12}", Just("workspace.setup".to_owned()), Just("workspace.path".to_owned())];
        let value = prop_oneof!["(?s).{0,40}", "[0-9.eE+_-]{1,25}", "\\[?[\"'a-z, {}]{0,30}\\]?", "\"[^\"]{0,40}\""];
        let line = prop_oneof![
            (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
            "\\[[a-z]{0,10}\\]",
            Just("[workspace]".to_owned()),
            "(?s).{0,60}",
        ];
        proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn hostile_texts_give_one_line_errors_and_never_panic(place in "(?s).{0,30}", text in hostile()) {
            let mut layers = Layers::new();
            let errors = [
                layers.file(place.as_ref(), &text).err(),
                layers.repository(&place, &text, false).err(),
                repository::needs_trust(&place, &text).err(),
                layers.environment([("SPINNEY_WORKSPACE__COPY", text.as_str())].into_iter()).err(),
                layers.environment([(format!("SPINNEY_{place}__X").as_str(), "x")].into_iter()).err(),
                layers.resolve().err(),
            ];
            for error in errors.into_iter().flatten() {
                let (message, hint) = (error.to_string(), error.hint().unwrap_or_default());
                prop_assert!(!message.contains(char::is_control) && !hint.contains(char::is_control), "{message}");
                prop_assert!(message.chars().count() < 600, "{message}");
            }
        }
    }
}
