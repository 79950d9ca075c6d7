//! Puts the layers on top of each other and remembers where each value came from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::agent::AgentConfig;
use super::document::{self, Key, RawSetting, Setting};
use super::error::ConfigError;
use super::schedule::ScheduleConfig;
use super::schema::Config;
use super::sections::Schema;
use super::server::ServerConfig;
use super::source::Source;
use super::{defaults, environment, repository};
use crate::{AgentName, ScheduleName};

/// Stands for a value that is not shown.
const HIDDEN: &str = "***";

/// Collects the layers. The order of the calls does not matter, except that of two files (or flags) the later wins.
#[derive(Clone)]
pub struct Layers {
    schema: &'static Schema,
    settings: Vec<(Source, Setting)>,
}

/// What became of the repository's file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryPart {
    /// The shell lines that were left out because nobody trusted them yet.
    pub withheld_setup: Vec<String>,
    /// The agents about which the file says something that was left out likewise.
    pub withheld_agents: Vec<AgentName>,
}

/// The configuration that counts.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub config: Config,
    entries: Vec<Entry>,
    /// Where each agent is first spoken of.
    agents: BTreeMap<AgentName, String>,
}

/// One key as it is shown to a person: no password in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `section.key`, or `agents.name.key`.
    pub key: String,
    pub value: toml::Value,
    pub source: Source,
    /// The file and line, the variable or the flag that set it; none for a default.
    pub place: Option<String>,
}

impl Layers {
    /// Begins with the built-in defaults of Spinney's own keys.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Schema::own())
    }

    /// Begins with the built-in defaults of all keys that a schema has.
    #[must_use]
    pub fn of(schema: &'static Schema) -> Self {
        Self { schema, settings: Vec::new() }
    }

    /// The keys that there are.
    #[must_use]
    pub fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// Adds the person's own file.
    pub fn file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let settings = document::read(self.schema, &path.display().to_string(), text)?;
        self.add(&Source::File(path.to_owned()), settings);
        Ok(())
    }

    /// Adds the repository's file, read at `place`. Its shell lines and agents count only if a person trusted them.
    pub fn repository(&mut self, place: &str, text: &str, trusted: bool) -> Result<RepositoryPart, ConfigError> {
        let mut settings = repository::read(self.schema, place, text)?;
        let mut part = RepositoryPart::default();
        if !trusted {
            part.withheld_setup = repository::setup_of(&settings);
            part.withheld_agents = repository::agents_of(&settings);
            settings.retain(|setting| !repository::needs_a_person(setting));
        }
        self.add(&Source::Repository(place.to_owned()), settings);
        Ok(part)
    }

    /// Adds the environment's variables, of which only those that configure Spinney count.
    pub fn environment<'a>(&mut self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), ConfigError> {
        for (name, setting) in environment::read(self.schema, variables)? {
            self.add(&Source::Environment(name), vec![setting]);
        }
        Ok(())
    }

    /// Adds what a flag says about a key.
    pub fn flag(&mut self, flag: &str, key: &str, value: toml::Value) -> Result<(), ConfigError> {
        let raw = RawSetting { key: key.to_owned(), value: Ok(value), place: flag.to_owned() };
        let setting = document::check(self.schema, raw)?;
        self.add(&Source::Flag(flag.to_owned()), vec![setting]);
        Ok(())
    }

    fn add(&mut self, source: &Source, settings: Vec<Setting>) {
        self.settings.extend(settings.into_iter().map(|setting| (source.clone(), setting)));
    }

    /// Gives what counts.
    pub fn resolve(&self) -> Result<Resolved, ConfigError> {
        let mut table = toml::Table::new();
        let mut entries = Vec::new();
        for known in self.schema.keys.iter() {
            let entry = self.winner(&Key::Plain(&known.key)).unwrap_or_else(|| Entry {
                key: known.key.clone(),
                value: known.default.clone(),
                source: Source::Default,
                place: None,
            });
            defaults::set(&mut table, &known.key, entry.value.clone());
            entries.push(entry);
        }
        let workspace = table["workspace"].clone();
        let mut config: Config = typed(table, &entries)?;
        if let Some(url) = &config.store.url {
            let shown = entries.iter_mut().find(|entry| entry.key == "store.url");
            shown.expect("the store has a key").value = url.redacted().into();
        }
        check_tls(&config.server, &entries)?;
        let mut agents = BTreeMap::new();
        for (_, setting) in &self.settings {
            if let Some(agent) = setting.key.agent() {
                agents.entry(agent.clone()).or_insert_with(|| setting.place.clone());
            }
        }
        for name in agents.keys() {
            let (agent, of_agent) = self.agent(name, workspace.clone())?;
            config.agents.insert(name.clone(), agent);
            entries.extend(of_agent);
        }
        Ok(Resolved { config, entries, agents })
    }

    /// One agent: its own keys, upon its defaults, and what it overrides upon `[workspace]`.
    fn agent(&self, name: &AgentName, workspace: toml::Value) -> Result<(AgentConfig, Vec<Entry>), ConfigError> {
        let mut table = toml::Table::new();
        table.insert("workspace".to_owned(), workspace);
        let mut entries = Vec::new();
        for known in defaults::agent_keys().iter() {
            let key = Key::OfAgent(name.clone(), &known.key);
            let entry = match self.winner(&key) {
                Some(entry) => entry,
                None if known.overrides => continue,
                None => {
                    let value = known.default.clone();
                    Entry { key: key.to_string(), value, source: Source::Default, place: None }
                }
            };
            defaults::set(&mut table, &known.key, entry.value.clone());
            entries.push(entry);
        }
        let mut agent: AgentConfig = typed(table, &entries)?;
        let mut places = BTreeMap::new();
        for (_, setting) in &self.settings {
            if let Some((of, schedule)) = setting.key.schedule().filter(|(of, _)| *of == name) {
                places.entry((of, schedule)).or_insert(&setting.place);
            }
        }
        for ((_, schedule), place) in places {
            let (config, of_schedule) = self.schedule(name, schedule, place)?;
            agent.schedules.insert(schedule.clone(), config);
            entries.extend(of_schedule);
        }
        for entry in &mut entries {
            if entry.key.ends_with(".env") {
                hide(&mut entry.value);
            } else if entry.key.ends_with(".mcp_servers") {
                let servers = entry.value.as_table_mut().into_iter().flat_map(toml::Table::iter_mut);
                let keys = servers.filter_map(|(_, server)| server.as_table_mut()).flat_map(toml::Table::iter_mut);
                keys.filter(|(key, _)| matches!(key.as_str(), "env" | "headers")).for_each(|(_, value)| hide(value));
            }
        }
        Ok((agent, entries))
    }

    /// One schedule of an agent, first spoken of at `place`: its own keys, upon its defaults.
    fn schedule(
        &self,
        agent: &AgentName,
        name: &ScheduleName,
        place: &str,
    ) -> Result<(ScheduleConfig, Vec<Entry>), ConfigError> {
        let mut table = toml::Table::new();
        let mut entries = Vec::new();
        for known in defaults::schedule_keys().iter() {
            let key = Key::OfSchedule(agent.clone(), name.clone(), &known.key);
            let entry = self.winner(&key).unwrap_or_else(|| Entry {
                key: key.to_string(),
                value: known.default.clone(),
                source: Source::Default,
                place: None,
            });
            defaults::set(&mut table, &known.key, entry.value.clone());
            entries.push(entry);
        }
        let schedule: ScheduleConfig = typed(table, &entries)?;
        match schedule.fault() {
            None => Ok((schedule, entries)),
            Some((key, message)) => {
                let key = format!("{}.{agent}.{}.{name}.{key}", defaults::AGENTS, defaults::SCHEDULES);
                let set = entries.into_iter().find(|entry| entry.key == key).and_then(|entry| entry.place);
                let place = set.unwrap_or_else(|| place.to_owned());
                Err(ConfigError::WrongValue { place, key, message: message.to_owned(), default: None })
            }
        }
    }

    /// The setting of a key that counts. Of equals the last is the greatest: the later call.
    fn winner(&self, key: &Key) -> Option<Entry> {
        let settings = self.settings.iter().filter(|(_, setting)| setting.key == *key);
        settings.max_by_key(|(source, _)| source.rank()).map(|(source, setting)| Entry {
            key: key.to_string(),
            value: setting.value.clone(),
            source: source.clone(),
            place: Some(setting.place.clone()),
        })
    }
}

impl Default for Layers {
    fn default() -> Self {
        Self::new()
    }
}

/// Each value was checked alone; what is wrong with all of them together is told of the last.
fn typed<T: DeserializeOwned>(table: toml::Table, entries: &[Entry]) -> Result<T, ConfigError> {
    table.try_into().map_err(|error: toml::de::Error| ConfigError::WrongValue {
        place: entries.iter().rev().find_map(|entry| entry.place.clone()).unwrap_or_default(),
        key: "configuration".to_owned(),
        message: error.message().to_owned(),
        default: None,
    })
}

/// A certificate and its key come from different layers at times, and mean nothing without each other.
fn check_tls(server: &ServerConfig, entries: &[Entry]) -> Result<(), ConfigError> {
    let (given, missing) = match (&server.tls_cert, &server.tls_key) {
        (Some(_), None) => ("server.tls_cert", "tls_key"),
        (None, Some(_)) => ("server.tls_key", "tls_cert"),
        _ => return Ok(()),
    };
    let place = entries.iter().find(|entry| entry.key == given).and_then(|entry| entry.place.clone());
    let message = format!("it needs `server.{missing}` beside it");
    Err(ConfigError::WrongValue { place: place.unwrap_or_default(), key: given.to_owned(), message, default: None })
}

/// Names the keys only: a value may be a secret.
impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.settings.iter().map(|(source, setting)| (source, &setting.key))).finish()
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

    /// The file and line, the variable or the flag that set an agent's key (`model`, `workspace.base`); none where it
    /// is left to its default, or to `[workspace]`.
    #[must_use]
    pub fn agent_place(&self, agent: &AgentName, key: &str) -> Option<&str> {
        let key = format!("{}.{agent}.{key}", defaults::AGENTS);
        self.entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.place.as_deref())
    }

    /// Whether the repository's own file says anything about an agent's schedule.
    #[must_use]
    pub fn is_of_repository(&self, agent: &AgentName, schedule: &ScheduleName) -> bool {
        let prefix = format!("{}.{agent}.{}.{schedule}.", defaults::AGENTS, defaults::SCHEDULES);
        let of_schedule = self.entries.iter().filter(|entry| entry.key.starts_with(&prefix));
        of_schedule.into_iter().any(|entry| matches!(entry.source, Source::Repository(_)))
    }

    /// An error about an agent's key, at the place that set it; else where the agent is first spoken of.
    #[must_use]
    pub fn agent_error(&self, agent: &AgentName, key: &str, message: impl Into<String>) -> ConfigError {
        let declared = || self.agents.get(agent).map(String::as_str);
        let place = self.agent_place(agent, key).or_else(declared).unwrap_or_default().to_owned();
        ConfigError::Agent { place, agent: agent.clone(), key: key.to_owned(), message: message.into() }
    }
}

/// Hides the values of a table.
fn hide(table: &mut toml::Value) {
    let values = table.as_table_mut().into_iter().flat_map(toml::Table::iter_mut);
    values.for_each(|(_, value)| *value = HIDDEN.into());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Advice;

    const FILE: &str = "[workspace]\nbase = 'file'\nremote = 'file'\nsetup = ['file']\n[limits]\nmax_workspaces = 1\n";
    const REPOSITORY: &str = "[workspace]\nbase = 'repository'\nremote = 'repository'\nsetup = ['repository']\n";

    #[test]
    fn defaults_alone_are_the_default_configuration() {
        let resolved = Layers::new().resolve().unwrap();
        assert_eq!(resolved.config, Config::default());
        assert!(resolved.entries().iter().all(|entry| entry.source == Source::Default));
        assert_eq!(resolved.entries()[0].key, "workspace.strategy");
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

    const AGENTS: &str = "[workspace]\nbase = 'file'\nremote = 'file'\n[agents.coder]\nmodel = 'file'\nruntime = 'codex'\n\
        env = { KEY = 's3cret' }\n[agents.coder.workspace]\nbase = 'mine'\ncreate_pr = true\n[agents.reader]\n";
    const AGENTS_OF_REPOSITORY: &str = "[workspace]\nremote = 'repository'\n[agents.coder]\nmodel = 'repository'\n\
        [agents.theirs]\ntimeout = '1m'\n";

    fn agent(name: &str) -> AgentName {
        name.parse().unwrap()
    }

    #[test]
    fn agents_are_put_together_key_by_key_upon_their_defaults_and_the_workspace() {
        let mut layers = Layers::new();
        layers.repository("spinney.toml", AGENTS_OF_REPOSITORY, true).unwrap();
        layers.file("config.toml".as_ref(), AGENTS).unwrap();
        let resolved = layers.resolve().unwrap();
        let names: Vec<_> = resolved.config.agents.keys().map(AgentName::as_str).collect();
        assert_eq!(names, ["coder", "reader", "theirs"]);
        let coder = &resolved.config.agents[&agent("coder")];
        assert_eq!((coder.runtime.as_str(), coder.model.as_deref()), ("codex", Some("repository")));
        assert_eq!(coder.env.iter().collect::<Vec<_>>(), [("KEY", "s3cret")]);
        let branch = |name: &str| Some(name.parse().unwrap());
        assert_eq!(coder.workspace.settings.base, branch("mine"));
        assert_eq!(coder.workspace.settings.remote.as_deref(), Some("repository"));
        assert!(coder.workspace.create_pr && coder.workspace.push_on_success);
        let reader = &resolved.config.agents[&agent("reader")];
        assert_eq!((reader.runtime.as_str(), &reader.workspace.settings), ("claude", &resolved.config.workspace));
        assert_eq!(reader.workspace.branch_pattern.as_str(), "agent/{agent}/{workItem}");
        assert_eq!(resolved.config.agents.get(&agent("nobody")), None);
    }

    #[test]
    fn each_key_of_an_agent_tells_its_place() {
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), AGENTS).unwrap();
        layers.repository("spinney.toml", AGENTS_OF_REPOSITORY, true).unwrap();
        let resolved = layers.resolve().unwrap();
        let coder = agent("coder");
        for (key, place) in [
            ("model", Some("spinney.toml:4")),
            ("runtime", Some("config.toml:6")),
            ("workspace.base", Some("config.toml:9")),
            ("workspace.remote", None),
            ("workspace.keep", None),
            ("nothing", None),
        ] {
            assert_eq!(resolved.agent_place(&coder, key), place, "{key}");
        }
        assert_eq!(resolved.source("agents.coder.model"), Some(&Source::Repository("spinney.toml".to_owned())));
        assert_eq!(resolved.source("agents.reader.model"), Some(&Source::Default));
        let error = resolved.agent_error(&coder, "model", "runtime `codex` has no\n`model`");
        assert_eq!(error.to_string(), "spinney.toml:4: agent `coder`: runtime `codex` has no `model`");
        assert_eq!(error.advice(), Advice::Configuration("change or remove `agents.coder.model`".to_owned()));
        let error = resolved.agent_error(&agent("reader"), "runtime", "it is not installed");
        assert_eq!(error.to_string(), "config.toml:11: agent `reader`: it is not installed");
    }

    #[test]
    fn agents_show_their_own_keys_and_what_they_override_but_no_values_of_variables() {
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), AGENTS).unwrap();
        let resolved = layers.resolve().unwrap();
        let entries = resolved.entries();
        let of =
            |agent: &str| entries.iter().filter(|entry| entry.key.starts_with(&format!("agents.{agent}."))).count();
        assert_eq!(of("coder"), of("reader") + 1, "only an overridden key of [workspace] is shown");
        let env = entries.iter().find(|entry| entry.key == "agents.coder.env").unwrap();
        assert_eq!(env.value["KEY"].as_str(), Some("***"));
        assert_eq!(env.place.as_deref(), Some("config.toml:7"));
        assert!(!format!("{layers:?} {resolved:?}").contains("s3cret"));
        let servers = "[agents.coder.mcp_servers]\na = { command = 'x', env = { KEY = 's3cret' } }\n\
            b = { url = 'https://h', headers = { K = 's3cret' } }\n";
        layers.file("later.toml".as_ref(), servers).unwrap();
        let resolved = layers.resolve().unwrap();
        let entry = resolved.entries().into_iter().find(|entry| entry.key == "agents.coder.mcp_servers").unwrap();
        assert_eq!(
            (entry.value["a"]["command"].as_str(), entry.value["a"]["env"]["KEY"].as_str()),
            (Some("x"), Some("***"))
        );
        assert_eq!(entry.value["b"]["headers"]["K"].as_str(), Some("***"));
    }

    #[test]
    fn untrusted_agents_do_not_count_and_are_named() {
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), AGENTS).unwrap();
        let part = layers.repository("spinney.toml", AGENTS_OF_REPOSITORY, false).unwrap();
        assert_eq!(part.withheld_agents, [agent("coder"), agent("theirs")]);
        assert!(part.withheld_setup.is_empty());
        let config = layers.resolve().unwrap().config;
        assert_eq!(config.agents[&agent("coder")].model.as_deref(), Some("file"));
        assert_eq!(config.agents.get(&agent("theirs")), None);
        assert_eq!(config.workspace.remote.as_deref(), Some("repository"));
    }

    #[test]
    fn schedules_are_put_together_key_by_key_upon_their_defaults() {
        let file = "[agents.coder.schedules.nightly]\ntype = 'cron'\ncron = '0 3 * * *'\nprompt = 'mine'\n\
            [agents.coder.schedules.issues]\nwork_source = { type = 'github', labels = { ready = 'go' } }\n";
        let repository =
            "[agents.coder.schedules.nightly]\ncron = '0 4 * * *'\n[agents.coder.schedules.own]\nprompt = 'x'";
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), file).unwrap();
        let part = layers.repository("spinney.toml", repository, false).unwrap();
        assert_eq!(part.withheld_agents, [agent("coder")]);
        let names = |layers: &Layers| {
            let schedules = layers.resolve().unwrap().config.agents[&agent("coder")].schedules.clone();
            schedules.into_keys().map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(names(&layers), ["issues", "nightly"], "the repository's own count only when they are trusted");
        layers.repository("spinney.toml", repository, true).unwrap();
        assert_eq!(names(&layers), ["issues", "nightly", "own"]);
        let resolved = layers.resolve().unwrap();
        let schedules = &resolved.config.agents[&agent("coder")].schedules;
        let nightly = &schedules[&"nightly".parse().unwrap()];
        assert_eq!(
            (nightly.cron.as_ref().unwrap().to_string(), nightly.prompt.as_str()),
            ("0 4 * * *".to_owned(), "mine")
        );
        assert!(schedules[&"issues".parse().unwrap()].work_source.is_some());
        assert_eq!(resolved.source("agents.coder.schedules.own.interval"), Some(&Source::Default));
        for (name, of_repository) in [("issues", false), ("nightly", true), ("own", true), ("none", false)] {
            assert_eq!(resolved.is_of_repository(&agent("coder"), &name.parse().unwrap()), of_repository, "{name}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_schedule_as_a_whole_names_the_key_and_its_place() {
        for (text, message) in [
            ("", "1: wrong value for `agents.a.schedules.s.prompt`: there is neither a `prompt` nor a `work_source`"),
            (
                "interval = '1h'",
                "2: wrong value for `agents.a.schedules.s.prompt`: there is neither a `prompt` nor a `work_source`",
            ),
            (
                "interval = '1h'\nprompt = 'x'\nwork_source = { type = 'github' }",
                "3: wrong value for `agents.a.schedules.s.prompt`: a schedule with a `work_source` can't have a `prompt`: \
                 the item's title and text are the prompt",
            ),
            (
                "prompt = 'x'\ncron = '0 9 * * *'",
                "3: wrong value for `agents.a.schedules.s.cron`: it counts only with `type = \"cron\"`",
            ),
            (
                "prompt = 'x'\ntimezone = 'Asia/Tokyo'",
                "3: wrong value for `agents.a.schedules.s.timezone`: it counts only with `type = \"cron\"`",
            ),
            (
                "prompt = 'x'\ntype = 'cron'",
                "2: wrong value for `agents.a.schedules.s.cron`: it is empty, and `type` is `cron`",
            ),
        ] {
            let mut layers = Layers::new();
            layers.file("c".as_ref(), &format!("[agents.a.schedules.s]\n{text}")).unwrap();
            assert_eq!(layers.resolve().unwrap_err().to_string(), format!("c:{message}"));
        }
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
    fn a_certificate_without_its_key_is_told_where_it_stands() {
        for (given, missing) in [("tls_cert", "tls_key"), ("tls_key", "tls_cert")] {
            let mut layers = Layers::new();
            layers.file("config.toml".as_ref(), &format!("[server]\n{given} = '/a.pem'")).unwrap();
            let message = layers.resolve().unwrap_err().to_string();
            assert!(message.starts_with("config.toml:2: ") && message.contains(missing), "{message}");
            layers.flag("--tls", &format!("server.{missing}"), "/b.pem".into()).unwrap();
            layers.resolve().unwrap();
        }
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
        let key = prop_oneof![
            "[a-z_.]{0,12}",
            Just("workspace.setup".to_owned()),
            Just("workspace.path".to_owned()),
            Just("agents.a.env".to_owned()),
            Just("agents.a.working_directory".to_owned()),
            "agents\\.[a-zA-Z\"]{1,3}\\.[a-z_.]{1,9}"
        ];
        let value = prop_oneof!["(?s).{0,40}", "[0-9.eE+_-]{1,25}", "\\[?[\"'a-z, {}]{0,30}\\]?", "\"[^\"]{0,40}\""];
        let line = prop_oneof![
            (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
            "\\[[a-z]{0,10}\\]",
            Just("[workspace]".to_owned()),
            "\\[agents\\.[a-zA-Z\".]{0,8}\\]",
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
                repository::needs_trust(Schema::own(), &place, &text).err(),
                layers.environment([("SPINNEY_WORKSPACE__COPY", text.as_str())].into_iter()).err(),
                layers.environment([(format!("SPINNEY_{place}__X").as_str(), "x")].into_iter()).err(),
                layers.resolve().err(),
            ];
            for error in errors.into_iter().flatten() {
                let (message, hint) = (error.to_string(), match error.advice() { Advice::Configuration(text) => text, _ => String::new() });
                prop_assert!(!message.contains(char::is_control) && !hint.contains(char::is_control), "{message}");
                prop_assert!(message.chars().count() < 600, "{message}");
            }
        }
    }
}
