//! Reads a TOML text into settings, each with its line.

use std::fmt;

use toml::de::{DeTable, DeValue};

use super::defaults::{self, AGENTS, SCHEDULES};
use super::error::{ConfigError, one_line};
use super::keys::KnownKey;
use super::schema::fault;
use super::sections::Schema;
use crate::agent::InvalidAgentName;
use crate::schedule::InvalidScheduleName;
use crate::{AgentName, ScheduleName};

/// A value, or what it is when it is of no type that any key has.
pub(super) type Plain = Result<toml::Value, &'static str>;

/// One `section.key = value` as it was written.
#[derive(Debug)]
pub(super) struct RawSetting {
    pub key: String,
    pub value: Plain,
    /// The file and the line.
    pub place: String,
}

/// A setting that was checked.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub key: Key,
    pub value: toml::Value,
    pub place: String,
}

/// What a setting is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Plain(&'static str),
    /// An agent's table with nothing in it: there is such an agent.
    Agent(AgentName),
    OfAgent(AgentName, &'static str),
    /// A schedule's table with nothing in it.
    Schedule(AgentName, ScheduleName),
    OfSchedule(AgentName, ScheduleName, &'static str),
}

impl Key {
    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            Self::Plain(_) => None,
            Self::Agent(agent) | Self::OfAgent(agent, _) | Self::Schedule(agent, _) | Self::OfSchedule(agent, _, _) => {
                Some(agent)
            }
        }
    }

    /// The schedule, and whose it is.
    pub fn schedule(&self) -> Option<(&AgentName, &ScheduleName)> {
        match self {
            Self::Schedule(agent, name) | Self::OfSchedule(agent, name, _) => Some((agent, name)),
            Self::Plain(_) | Self::Agent(_) | Self::OfAgent(..) => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(key) => f.write_str(key),
            Self::Agent(agent) => write!(f, "{AGENTS}.{agent}"),
            Self::OfAgent(agent, key) => write!(f, "{AGENTS}.{agent}.{key}"),
            Self::Schedule(agent, name) => write!(f, "{AGENTS}.{agent}.{SCHEDULES}.{name}"),
            Self::OfSchedule(agent, name, key) => write!(f, "{AGENTS}.{agent}.{SCHEDULES}.{name}.{key}"),
        }
    }
}

/// What [`Plain`] says of a table.
const TABLE: &str = "a table";
const OTHER_LIST: &str = "a list of something else";

/// Reads a configuration file: every key known, every value right.
pub(super) fn read(schema: &'static Schema, place: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    parse(schema, place, text)?.into_iter().map(|setting| check(schema, setting)).collect()
}

/// Reads the text alone, in the order of its lines. A table is gone into where it is a section; an unknown one at the
/// top is too, so that what stands in it can be named.
fn parse(schema: &Schema, place: &str, text: &str) -> Result<Vec<RawSetting>, ConfigError> {
    let at = |offset: usize| {
        let line = text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}", one_line(place))
    };
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or_else(|| one_line(place), |span| at(span.start));
        ConfigError::Syntax { place, message: error.message().to_owned() }
    })?;
    let descend =
        |path: &str, table: &DeTable<'_>| is_section(schema, path) || (!table.is_empty() && !path.contains('.'));
    let mut found = Vec::new();
    flatten("", document.get_ref(), &descend, &mut found);
    found.sort_by_key(|leaf| leaf.offset);
    let setting = |leaf: Leaf<'_, '_>| RawSetting { key: leaf.path, value: plain(leaf.value), place: at(leaf.offset) };
    Ok(found.into_iter().map(setting).collect())
}

/// Reads a built-in file, which says itself what is a section: every table but an empty one.
pub(super) fn parse_default(text: &str) -> Result<Vec<(String, Plain)>, toml::de::Error> {
    let document = DeTable::parse(text)?;
    let mut found = Vec::new();
    flatten("", document.get_ref(), &|_, table| !table.is_empty(), &mut found);
    found.sort_by_key(|leaf| leaf.offset);
    Ok(found.into_iter().map(|leaf| (leaf.path, plain(leaf.value))).collect())
}

/// What stands at the end of a path of tables.
struct Leaf<'a, 'i> {
    path: String,
    offset: usize,
    value: &'a DeValue<'i>,
}

/// Collects what is in a table and in the tables in it that `descend` goes into. An agent and a schedule are told although
/// they are empty.
fn flatten<'a, 'i>(
    prefix: &str,
    table: &'a DeTable<'i>,
    descend: &dyn Fn(&str, &DeTable<'_>) -> bool,
    found: &mut Vec<Leaf<'a, 'i>>,
) {
    for (key, value) in table {
        let path = match prefix {
            "" => quoted(key.get_ref()),
            _ => format!("{prefix}.{}", quoted(key.get_ref())),
        };
        let leaf = Leaf { path, offset: key.span().start, value: value.get_ref() };
        match value.get_ref() {
            DeValue::Table(table) if table.is_empty() && has_a_free_name(&leaf.path) => found.push(leaf),
            DeValue::Table(table) if descend(&leaf.path, table) => flatten(&leaf.path, table, descend, found),
            _ => found.push(leaf),
        }
    }
}

/// A key as it can be a part of a path: in quotes if it has dots or other signs.
fn quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { serde_json::Value::from(key).to_string() }
}

/// What a path leads to.
enum Subject<'a> {
    Plain(&'a str),
    Agent(AgentName),
    OfAgent(AgentName, &'a str),
    /// All schedules of an agent.
    Schedules,
    Schedule(AgentName, ScheduleName),
    OfSchedule(AgentName, ScheduleName, &'a str),
}

/// A text in a name's place.
enum Misnamed {
    Agent(InvalidAgentName),
    Schedule(InvalidScheduleName),
}

fn subject(path: &str) -> Result<Subject<'_>, Misnamed> {
    let Some(rest) = path.strip_prefix(AGENTS).and_then(|rest| rest.strip_prefix('.')) else {
        return Ok(Subject::Plain(path));
    };
    let (agent, below) = name_and_rest(rest);
    let agent = agent.parse().map_err(Misnamed::Agent)?;
    match below {
        None => Ok(Subject::Agent(agent)),
        Some(SCHEDULES) => Ok(Subject::Schedules),
        Some(below) => match below.strip_prefix(SCHEDULES).and_then(|rest| rest.strip_prefix('.')) {
            None => Ok(Subject::OfAgent(agent, below)),
            Some(rest) => {
                let (name, below) = name_and_rest(rest);
                let name = name.parse().map_err(Misnamed::Schedule)?;
                Ok(match below {
                    None => Subject::Schedule(agent, name),
                    Some(below) => Subject::OfSchedule(agent, name, below),
                })
            }
        },
    }
}

/// The name at the beginning of a path, and the path below it. One in quotes is no name, whatever is behind it.
fn name_and_rest(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((name, below)) if !path.starts_with('"') => (name, Some(below)),
        _ => (path, None),
    }
}

fn has_a_free_name(path: &str) -> bool {
    matches!(subject(path), Ok(Subject::Agent(_) | Subject::Schedule(..)))
}

fn is_section(schema: &Schema, path: &str) -> bool {
    match subject(path) {
        Ok(Subject::Agent(_) | Subject::Schedules | Subject::Schedule(..)) => true,
        Ok(Subject::OfAgent(_, below)) => defaults::agent_keys().is_section(below),
        Ok(Subject::OfSchedule(_, _, below)) => defaults::schedule_keys().is_section(below),
        Ok(Subject::Plain(path)) => path == AGENTS || schema.keys.is_section(path),
        Err(_) => false,
    }
}

/// What is known of a key, wherever it belongs.
pub(super) fn find(schema: &'static Schema, path: &str) -> Option<&'static KnownKey> {
    match subject(path) {
        Ok(Subject::Plain(path)) => schema.keys.find(path),
        Ok(Subject::OfAgent(_, below)) => defaults::agent_keys().find(below),
        Ok(Subject::OfSchedule(_, _, below)) => defaults::schedule_keys().find(below),
        Ok(Subject::Agent(_) | Subject::Schedules | Subject::Schedule(..)) | Err(_) => None,
    }
}

/// The value, if it is of a type that keys have; else what it is.
fn plain(value: &DeValue<'_>) -> Plain {
    match value {
        DeValue::String(text) => Ok(text.to_string().into()),
        DeValue::Boolean(value) => Ok((*value).into()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Into::into)
            .map_err(|_| "a number that is too large"),
        DeValue::Float(number) => {
            number.as_str().parse::<f64>().map(Into::into).map_err(|_| "a number that is too large")
        }
        DeValue::Array(values) => {
            let entries = values.iter().map(|value| match value.get_ref() {
                entry @ (DeValue::String(_) | DeValue::Integer(_)) => plain(entry),
                _ => Err(OTHER_LIST),
            });
            entries.collect::<Result<Vec<_>, _>>().map(Into::into)
        }
        DeValue::Table(table) => {
            let entry = |value| plain(value).map_err(|_| TABLE);
            let values = table.iter().map(|(key, value)| Ok((key.get_ref().to_string(), entry(value.get_ref())?)));
            values.collect::<Result<toml::Table, _>>().map(Into::into)
        }
        DeValue::Datetime(_) => Err("a date or time"),
    }
}

/// Checks that the key exists and that its value is right, alone.
pub(super) fn check(schema: &'static Schema, setting: RawSetting) -> Result<Setting, ConfigError> {
    let RawSetting { key: path, value, place } = setting;
    let known = find(schema, &path);
    let key = match (subject(&path), known) {
        (Err(Misnamed::Agent(name)), _) => return Err(ConfigError::AgentName { place, name }),
        (Err(Misnamed::Schedule(name)), _) => return Err(ConfigError::ScheduleName { place, name }),
        (Ok(Subject::Agent(agent)), _) => Key::Agent(agent),
        (Ok(Subject::Schedule(agent, name)), _) => Key::Schedule(agent, name),
        (Ok(Subject::Plain(_)), Some(known)) => Key::Plain(&known.key),
        (Ok(Subject::OfAgent(agent, _)), Some(known)) => Key::OfAgent(agent, &known.key),
        (Ok(Subject::OfSchedule(agent, name, _)), Some(known)) => Key::OfSchedule(agent, name, &known.key),
        (Ok(_), _) => return Err(unknown(schema, place, path)),
    };
    let Some(known) = known else {
        // A table with nothing in it: its name is all that it says.
        return match value {
            Ok(value) if value.is_table() => Ok(Setting { key, value, place }),
            _ => Err(unknown(schema, place, path)),
        };
    };
    let value = match value {
        Ok(value) => typed(known, value).map_err(|value| described(&value)),
        Err(found) => Err(found),
    };
    let default = (!known.overrides).then(|| known.default.to_string());
    let value = value.map_err(|found| {
        let (expected, default) = (known.expected(), default.clone());
        ConfigError::WrongType { place: place.clone(), key: path.clone(), expected, found, default }
    })?;
    match fault(schema, &key, &value) {
        None => Ok(Setting { key, value, place }),
        Some(message) => Err(ConfigError::WrongValue { place, key: path, message, default }),
    }
}

/// The value, if it is of the type that the key has. A whole number is a number too.
fn typed(known: &KnownKey, value: toml::Value) -> Result<toml::Value, toml::Value> {
    match (&known.default, value) {
        (toml::Value::Float(_), toml::Value::Integer(number)) => Ok((number as f64).into()),
        (_, value @ toml::Value::Table(_)) if known.also_a_table() => Ok(value),
        (_, toml::Value::Array(values)) if !known.also_numbers && !are_texts(&values) => Err(values.into()),
        (default, value) if value.same_type(default) => Ok(value),
        (_, value) => Err(value),
    }
}

fn are_texts(values: &[toml::Value]) -> bool {
    values.iter().all(toml::Value::is_str)
}

/// A type, as it is called in a message.
pub(super) fn described(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text in quotes",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Boolean(_) => "`true` or `false`",
        toml::Value::Array(values) if !are_texts(values) => OTHER_LIST,
        toml::Value::Array(_) => "a list of texts",
        toml::Value::Float(_) => "a number with a fraction",
        toml::Value::Datetime(_) => "a date or time",
        toml::Value::Table(_) => TABLE,
    }
}

fn unknown(schema: &Schema, place: String, key: String) -> ConfigError {
    if is_section(schema, &key) {
        return ConfigError::WrongType { place, key, expected: TABLE, found: "a value", default: None };
    }
    let suggestion = match subject(&key) {
        Ok(Subject::OfAgent(agent, below)) => defaults::agent_keys().suggest(&format!("{AGENTS}.{agent}."), below),
        Ok(Subject::OfSchedule(agent, name, below)) => {
            defaults::schedule_keys().suggest(&format!("{AGENTS}.{agent}.{SCHEDULES}.{name}."), below)
        }
        _ => schema.keys.suggest("", &key),
    };
    ConfigError::UnknownKey { place, key, suggestion }
}

#[cfg(test)]
mod tests {
    use super::super::sections::tests::trial;
    use super::*;
    use crate::Advice;

    fn failure(text: &str) -> (String, String) {
        let error = read(trial(), "config.toml", text).unwrap_err();
        let advice = match error.advice() {
            Advice::Configuration(text) => text,
            other => format!("{other:?}"),
        };
        (error.to_string(), advice)
    }

    #[test]
    fn settings_come_in_the_order_of_their_lines() {
        let settings =
            read(trial(), "c", "limits.max_workspaces = 3\n[workspace]\nremote = 'a'\nbase = 'b'\n[store]").unwrap();
        let places: Vec<_> = settings.iter().map(|setting| format!("{} {}", setting.place, setting.key)).collect();
        assert_eq!(places, ["c:1 limits.max_workspaces", "c:3 workspace.remote", "c:4 workspace.base"]);
    }

    #[test]
    fn unknown_keys_are_errors_that_name_the_nearest() {
        for (text, message, hint) in [
            (
                "[limits]\nmax_workspace = 3",
                "config.toml:2: unknown key `limits.max_workspace`",
                "did you mean `max_workspaces`?",
            ),
            (
                "[workspace]\nmax_workspaces = 3",
                "config.toml:2: unknown key `workspace.max_workspaces`",
                "did you mean `limits.max_workspaces`?",
            ),
            (
                "\nmax_workspaces = 3",
                "config.toml:2: unknown key `max_workspaces`",
                "did you mean `limits.max_workspaces`?",
            ),
            ("[wrkspace]\nbase = 'x'", "config.toml:2: unknown key `wrkspace.base`", "did you mean `workspace.base`?"),
            ("[worspace]", "config.toml:1: unknown key `worspace`", "did you mean `workspace`?"),
            (
                "[zzz]\nqqq = 1",
                "config.toml:2: unknown key `zzz.qqq`",
                "use one of `workspace`, `pool`, `limits`, `cleanup`, `store`, `server`, `forge`, `platforms`, `agents`",
            ),
            (
                "[limits]\nqqq = 1",
                "config.toml:2: unknown key `limits.qqq`",
                "use one of `max_workspaces`, `max_workers`, `min_free_disk`",
            ),
            (
                "[limits.max_workspace]\na = 1",
                "config.toml:1: unknown key `limits.max_workspace`",
                "did you mean `max_workspaces`?",
            ),
        ] {
            assert_eq!(failure(text), (message.to_owned(), hint.to_owned()));
        }
    }

    #[test]
    fn nested_sections_and_agents_are_read_key_by_key() {
        let text = "[forge.github]\ntoken_env = 'T'\n[agents.coder]\nmodel = 'x'\nenv = { A = 'b' }\nhandoff_at = 1\n\
            workspace.base = 'main'\n[agents.coder.hooks]\nbefore_run = ['make']\n[agents.empty]\n\
            [agents.other.workspace]\n[agents.coder.working_directory]\nroot = 'sub'\n";
        let settings = read(trial(), "c", text).unwrap();
        let found: Vec<_> = settings.iter().map(|setting| format!("{} {}", setting.place, setting.key)).collect();
        assert_eq!(
            found,
            [
                "c:2 forge.github.token_env",
                "c:4 agents.coder.model",
                "c:5 agents.coder.env",
                "c:6 agents.coder.handoff_at",
                "c:7 agents.coder.workspace.base",
                "c:9 agents.coder.hooks.before_run",
                "c:10 agents.empty",
                "c:12 agents.coder.working_directory",
            ]
        );
        assert_eq!(settings[3].value, 1.0.into());
        assert!(read(trial(), "c", "[agents]\n[forge]\n[forge.github]\n[agents.x.hooks]").unwrap().is_empty());
    }

    #[test]
    fn wrong_agents_are_told_with_file_and_line() {
        let known_agent_keys = "use one of `runtime`, `command`, `model`";
        for (text, message, hint) in [
            ("[agents.coder]\nmodle = 'x'", "2: unknown key `agents.coder.modle`", "did you mean `model`?"),
            (
                "[agents.coder]\nbranch_patern = 'x'",
                "2: unknown key `agents.coder.branch_patern`",
                "did you mean `agents.coder.workspace.branch_pattern`?",
            ),
            (
                "[agents.coder.workspace]\nbse = 'x'",
                "2: unknown key `agents.coder.workspace.bse`",
                "did you mean `base`?",
            ),
            ("[agents.coder.hook]\nafter_run = []", "1: unknown key `agents.coder.hook`", "did you mean `hooks`?"),
            ("[agents.coder]\nqqq = 1", "2: unknown key `agents.coder.qqq`", known_agent_keys),
            ("[agents.coder.container]\nimage = 'x'", "1: unknown key `agents.coder.container`", known_agent_keys),
            (
                "[agents.coder.schedule.x]\ncron = ''",
                "1: unknown key `agents.coder.schedule`",
                "did you mean `schedules`?",
            ),
            (
                "[agents.coder.schedules.x]\nintervall = '5m'",
                "2: unknown key `agents.coder.schedules.x.intervall`",
                "did you mean `interval`?",
            ),
            (
                "[agents.coder]\nschedules = 3",
                "2: `agents.coder.schedules` must be a table, not a value",
                "a section begins with `[agents.coder.schedules]`",
            ),
            (
                "[agents.coder.schedules]\nx = 3",
                "2: `agents.coder.schedules.x` must be a table, not a value",
                "a section begins with `[agents.coder.schedules.x]`",
            ),
            (
                "[agents.coder.schedules.x]\ninterval = 5",
                "2: `agents.coder.schedules.x.interval` must be a text in quotes, not a whole number",
                "by default it is `\"5m\"`",
            ),
            (
                "[agents.coder.schedules.x]\ntimezone = 'Mars/Olympus'",
                "2: wrong value for `agents.coder.schedules.x.timezone`: `Mars/Olympus` is not a time zone such as \
                 `Europe/Berlin`",
                "by default it is `\"\"`",
            ),
            (
                "[agents.coder.schedules.X]\ninterval = '5m'",
                "1: `X` is not a schedule's name: at most 40 lowercase letters, digits, `-` and `_`, \
                 a letter or digit first",
                "for example `[agents.coder.schedules.nightly]`",
            ),
            ("[agent.coder]\nmodel = 'x'", "1: unknown key `agent.coder`", "did you mean `agents`?"),
            ("[forge.githb]\napi_url = ''", "1: unknown key `forge.githb`", "did you mean `github`?"),
            ("[forge.github]\napi = ''", "2: unknown key `forge.github.api`", "use one of `api_url`, `token_env`"),
            ("agents = 3", "1: `agents` must be a table, not a value", "a section begins with `[agents]`"),
            (
                "agents.coder = 3",
                "1: `agents.coder` must be a table, not a value",
                "a section begins with `[agents.coder]`",
            ),
            (
                "[agents.coder]\nhooks = []",
                "2: `agents.coder.hooks` must be a table, not a value",
                "a section begins with `[agents.coder.hooks]`",
            ),
            (
                "[agents.coder]\nmodel = 3",
                "2: `agents.coder.model` must be a text in quotes, not a whole number",
                "by default it is `\"\"`",
            ),
            (
                "[agents.coder]\nworking_directory = 3",
                "2: `agents.coder.working_directory` must be a text in quotes or a table, not a whole number",
                "by default it is `\".\"`",
            ),
            (
                "[agents.coder]\nhandoff_at = 'x'",
                "2: `agents.coder.handoff_at` must be a number, not a text in quotes",
                "by default it is `0.9`",
            ),
            (
                "[agents.coder]\nhandoff_at = 90",
                "2: wrong value for `agents.coder.handoff_at`: `90` is not a share from `0` to `1` in thousandths, \
                 such as `0.9`",
                "by default it is `0.9`",
            ),
            (
                "[agents.coder]\nenv = 'x'",
                "2: `agents.coder.env` must be a table, not a text in quotes",
                "by default it is `{}`",
            ),
            (
                "[agents.coder.workspace]\nfetch = 'x'",
                "2: wrong value for `agents.coder.workspace.fetch`: `x` is none of `auto`, `never`, `require`",
                "by default it is what `workspace.fetch` says",
            ),
            (
                "[agents.Coder]\nmodel = 'x'",
                "1: `Coder` is not an agent's name: at most 40 lowercase letters, digits, `-` and `_`, \
                 a letter or digit first",
                "for example `[agents.coder]`",
            ),
        ] {
            let (found, found_hint) = failure(text);
            assert_eq!(found, format!("config.toml:{message}"));
            assert!(found_hint.starts_with(hint), "{text}: {found_hint}");
        }
        for name in ["'a.b'", "'a b'", "''", "\"a\\nb\"", "'coder.workspace'"] {
            let (message, _) = failure(&format!("[agents.{name}]\nmodel = 'x'"));
            assert!(message.starts_with("config.toml:1: `") && message.contains("is not an agent's name"), "{message}");
        }
    }

    #[test]
    fn people_are_listed_by_numbers_or_texts() {
        let listed = read(trial(), "c", "[platforms.github]\nallowed_users = [583231, '7']").unwrap();
        assert_eq!(listed[0].value.to_string(), "[583231, \"7\"]");
    }

    #[test]
    fn a_quoted_key_is_no_path() {
        for text in
            ["'workspace.base' = 'x'", "[agents]\n'coder.model' = 'x'", "[agents.coder]\n'workspace.base' = 'x'"]
        {
            assert!(read(trial(), "c", text).is_err(), "{text}");
        }
    }

    #[test]
    fn wrong_types_and_values_name_file_line_and_key() {
        for (text, message) in [
            (
                "[limits]\n\nmax_workspaces = '3'",
                "3: `limits.max_workspaces` must be a whole number, not a text in quotes",
            ),
            (
                "[limits]\nmax_workspaces = 1.5",
                "2: `limits.max_workspaces` must be a whole number, not a number with a fraction",
            ),
            (
                "[limits]\nmax_workspaces = 99999999999999999999",
                "2: `limits.max_workspaces` must be a whole number, not a number that is too large",
            ),
            (
                "[workspace]\nsubmodules = 'yes'",
                "2: `workspace.submodules` must be `true` or `false`, not a text in quotes",
            ),
            ("[workspace]\ncopy = [1]", "2: `workspace.copy` must be a list of texts, not a list of something else"),
            ("[workspace]\ncopy = [[]]", "2: `workspace.copy` must be a list of texts, not a list of something else"),
            (
                "[platforms.slack]\nallowed_users = [7]",
                "2: `platforms.slack.allowed_users` must be a list of texts, not a list of something else",
            ),
            ("[workspace]\ncopy = '.env'", "2: `workspace.copy` must be a list of texts, not a text in quotes"),
            ("[workspace.copy]\na = 1", "1: `workspace.copy` must be a list of texts, not a table"),
            ("workspace = 3", "1: `workspace` must be a table, not a value"),
            (
                "[limits]\nmax_workspaces = 0",
                "2: wrong value for `limits.max_workspaces`: `0` is not a number from `1` to `4294967295`",
            ),
            (
                "[workspace]\nfetch_max_age = '5'",
                "2: wrong value for `workspace.fetch_max_age`: `5` is not a span of time such as `30s`, `5m`, `6h` or `14d`",
            ),
        ] {
            assert_eq!(failure(text).0, format!("config.toml:{message}"));
        }
    }

    #[test]
    fn broken_toml_is_one_line_with_file_and_line() {
        for text in
            ["[workspace]\nbase = ", "[workspace]\nbase = 'a", "[workspace]\nbase = 1\nbase = 2", "a\n==", "\0\n"]
        {
            let (message, _) = failure(text);
            assert!(message.starts_with("config.toml:") && message.contains(": broken TOML: "), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
        assert!(failure("[workspace]\nbase = 1\nbase = 2").0.starts_with("config.toml:3: "));
    }

    #[test]
    fn a_message_is_short_however_long_the_mistake() {
        let long = "x".repeat(10_000);
        for text in [
            format!("{long} = 1"),
            format!("[workspace]\nbase = '{long}'"),
            format!("[workspace]\nports = ['{long}']"),
            format!("[workspace]\n{long} = 1\n{long} = 1"),
            format!("[workspace]\nbase = {long}"),
        ] {
            let (message, hint) = failure(&text);
            assert!(message.chars().count() + hint.chars().count() < 300, "{message}");
        }
    }
}
