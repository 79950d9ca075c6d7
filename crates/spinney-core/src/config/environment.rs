//! Settings from environment variables: `SPINNEY_<SECTION>__<KEY>`.

use super::document::{self, RawSetting, Setting};
use super::error::ConfigError;
use super::keys::KnownKey;
use super::nearest::Suggestion;
use super::sections::Schema;

const PREFIX: &str = "SPINNEY_";
/// Agents have names of their own, which a variable's name can't carry.
const AGENTS: &str = "SPINNEY_AGENTS__";
/// Stands alone beside `SPINNEY_STORE__URL`, because every tool around a database expects such a name.
const DATABASE_URL: &str = "SPINNEY_DATABASE_URL";

/// A variable's name and the setting that it makes.
pub(super) type Variable = (String, Setting);

/// Reads the variables that configure something. Names without a double underscore configure nothing.
pub(super) fn read<'a>(
    schema: &'static Schema,
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<Variable>, ConfigError> {
    let mut read: Vec<Variable> = Vec::new();
    for (name, text) in variables {
        let Some(known) = known(schema, name)? else {
            continue;
        };
        let raw = RawSetting { key: known.key.clone(), value: value(known, text), place: name.to_owned() };
        let setting = document::check(schema, raw)?;
        if let Some((other, earlier)) = read.iter().find(|(_, earlier)| earlier.key == setting.key)
            && earlier.value != setting.value
        {
            let (first, second) = (DATABASE_URL.to_owned(), if name == DATABASE_URL { other.as_str() } else { name });
            return Err(ConfigError::Contradiction { first, second: second.to_owned(), key: known.key.clone() });
        }
        read.push((name.to_owned(), setting));
    }
    Ok(read)
}

/// The key that a variable sets; none if it is not about configuration.
fn known(schema: &'static Schema, name: &str) -> Result<Option<&'static KnownKey>, ConfigError> {
    if name == DATABASE_URL {
        return Ok(schema.keys.find("store.url"));
    }
    if !name.strip_prefix(PREFIX).is_some_and(|rest| rest.contains("__")) {
        return Ok(None);
    }
    if name.starts_with(AGENTS) {
        return Err(ConfigError::AgentVariable { variable: name.to_owned() });
    }
    let found = schema.keys.iter().find(|known| variable(&known.key) == name);
    found.map(Some).ok_or_else(|| {
        let names: Vec<_> = schema.keys.iter().map(|known| variable(&known.key)).collect();
        let suggestion = match Suggestion::new(name, names.iter().map(String::as_str)) {
            nearest @ Suggestion::Nearest(_) => nearest,
            Suggestion::Known(_) => {
                Suggestion::Known(schema.keys.children("").map(|name| variable(name) + "__…").collect())
            }
        };
        ConfigError::UnknownVariable { variable: name.to_owned(), suggestion }
    })
}

fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

/// Reads a text as the type that the key has. A list is a TOML array or separated by commas.
fn value(known: &KnownKey, text: &str) -> Result<toml::Value, &'static str> {
    let other = "other text";
    match &known.default {
        toml::Value::Boolean(_) => text.trim().parse::<bool>().map(Into::into).map_err(|_| other),
        toml::Value::Integer(_) => text.trim().parse::<i64>().map(Into::into).map_err(|_| other),
        toml::Value::Array(_) if text.trim_start().starts_with('[') => array(text).ok_or("a broken TOML array"),
        toml::Value::Array(_) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Ok(parts.map(toml::Value::from).collect::<Vec<_>>().into())
        }
        _ => Ok(text.into()),
    }
}

fn array(text: &str) -> Option<toml::Value> {
    let table: toml::Table = format!("value = {}", text.trim()).parse().ok()?;
    let value = table.get("value").filter(|_| table.len() == 1)?;
    value.as_array()?.iter().all(toml::Value::is_str).then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::super::defaults;
    use super::*;
    use crate::Advice;

    fn read_one(name: &str, text: &str) -> Result<Vec<Variable>, ConfigError> {
        read(Schema::own(), [(name, text)].into_iter())
    }

    #[test]
    fn every_key_has_a_variable() {
        for known in defaults::keys().iter() {
            let text = match &known.default {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let (_, setting) = read_one(&variable(&known.key), &text).unwrap().remove(0);
            assert_eq!((setting.key.to_string(), &setting.value), (known.key.clone(), &known.default));
        }
    }

    #[test]
    fn lists_are_arrays_or_separated_by_commas() {
        for text in ["web,db", " web , db ,", "['web', 'db']", "[\n\"web\", \"db\"]"] {
            let (_, setting) = read_one("SPINNEY_WORKSPACE__PORTS", text).unwrap().remove(0);
            assert_eq!(setting.value, vec!["web", "db"].into(), "{text}");
        }
        let (_, setting) = read_one("SPINNEY_WORKSPACE__PORTS", "").unwrap().remove(0);
        assert_eq!(setting.value, Vec::<String>::new().into());
        for text in ["['web'", "[1]", "['a']\nx = 1", "[] ]"] {
            assert!(read_one("SPINNEY_WORKSPACE__PORTS", text).is_err(), "{text}");
        }
    }

    #[test]
    fn variables_of_other_meaning_are_left_alone() {
        for name in ["PATH", "SPINNEY_HOME", "SPINNEY_CONFIG", "SPINNEY_JOB_ID", "SPINNEY_PORT_DB_2", "X__Y", "x"] {
            assert!(read_one(name, "x").unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn unknown_variables_name_the_nearest() {
        let error = read_one("SPINNEY_LIMITS__MAX_WORKSPACE", "3").unwrap_err();
        assert_eq!(error.to_string(), "unknown variable `SPINNEY_LIMITS__MAX_WORKSPACE`");
        let nearest = "did you mean `SPINNEY_LIMITS__MAX_WORKSPACES`?";
        assert_eq!(error.advice(), Advice::Configuration(nearest.to_owned()));
        assert!(read_one("SPINNEY_limits__max_workspaces", "3").is_err());
        let Advice::Configuration(hint) = read_one("SPINNEY_X__Y", "3").unwrap_err().advice() else { panic!() };
        assert!(
            hint.starts_with("use one of `SPINNEY_WORKSPACE__…`, `SPINNEY_POOL__…`, `SPINNEY_LIMITS__…`"),
            "{hint}"
        );
    }

    #[test]
    fn agents_have_no_variables_and_that_is_said() {
        for name in ["SPINNEY_AGENTS__CODER__MODEL", "SPINNEY_AGENTS__X", "SPINNEY_AGENTS__"] {
            let error = read_one(name, "x").unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`{name}` has no effect: agents can't be configured by environment variables")
            );
            assert_eq!(error.advice(), Advice::SetAgentInFile);
        }
    }

    #[test]
    fn wrong_values_name_the_variable() {
        let error = read_one("SPINNEY_LIMITS__MAX_WORKSPACES", "many").unwrap_err();
        let message = "SPINNEY_LIMITS__MAX_WORKSPACES: `limits.max_workspaces` must be a whole number, not other text";
        assert_eq!(error.to_string(), message);
        let error = read_one("SPINNEY_LIMITS__MAX_WORKSPACES", "0").unwrap_err();
        assert!(error.to_string().starts_with("SPINNEY_LIMITS__MAX_WORKSPACES: wrong value"), "{error}");
    }

    #[test]
    fn two_names_of_the_store_must_agree() {
        let urls = ["postgres://a/b", "postgres://a/c"];
        for (a, b) in [(DATABASE_URL, "SPINNEY_STORE__URL"), ("SPINNEY_STORE__URL", DATABASE_URL)] {
            assert!(read(Schema::own(), [(a, urls[0]), (b, urls[0])].into_iter()).is_ok());
            let error = read(Schema::own(), [(a, urls[0]), (b, urls[1])].into_iter()).unwrap_err();
            let message = "`SPINNEY_DATABASE_URL` and `SPINNEY_STORE__URL` set `store.url` to different values";
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_wrong_store_is_not_repeated() {
        let error = read_one(DATABASE_URL, "mysql://me:s3cret@host").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
}
