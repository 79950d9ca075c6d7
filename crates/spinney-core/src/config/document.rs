//! Reads a TOML text into settings, each with its line.

use toml::de::{DeTable, DeValue};

use super::defaults::{self, KnownKey};
use super::error::{ConfigError, one_line};
use super::nearest::Suggestion;
use super::schema;

/// One `section.key = value` as it was written.
#[derive(Debug)]
pub(super) struct RawSetting {
    pub key: String,
    /// The value, or what it is when it is of no type that any key has.
    pub value: Result<toml::Value, &'static str>,
    /// The file and the line.
    pub place: String,
}

/// A setting that was checked.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub key: &'static str,
    pub value: toml::Value,
    pub place: String,
}

/// What [`RawSetting::value`] says of a table.
const TABLE: &str = "a table";

/// Reads a configuration file: every key known, every value right.
pub(super) fn read(place: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let is_empty_section =
        |setting: &RawSetting| setting.value == Err(TABLE) && defaults::sections().any(|name| name == setting.key);
    parse(place, text)?.into_iter().filter(|setting| !is_empty_section(setting)).map(check).collect()
}

/// Reads the text alone, in the order of its lines. What stands outside any section, and a section with nothing in it,
/// is given back as a key without a dot.
pub(super) fn parse(place: &str, text: &str) -> Result<Vec<RawSetting>, ConfigError> {
    let at = |offset: usize| {
        let line = text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}", one_line(place))
    };
    let document = DeTable::parse(text).map_err(|error| {
        let place = error.span().map_or_else(|| one_line(place), |span| at(span.start));
        ConfigError::Syntax { place, message: error.message().to_owned() }
    })?;
    let mut found = Vec::new();
    for (section, value) in document.get_ref() {
        match value.get_ref() {
            DeValue::Table(table) if !table.is_empty() => {
                for (key, value) in table {
                    found.push((key.span().start, format!("{}.{}", section.get_ref(), key.get_ref()), value.get_ref()));
                }
            }
            other => found.push((section.span().start, section.get_ref().to_string(), other)),
        }
    }
    found.sort_by_key(|(offset, ..)| *offset);
    let setting = |(offset, key, value)| RawSetting { key, value: plain(value), place: at(offset) };
    Ok(found.into_iter().map(setting).collect())
}

/// The value, if it is of a type that keys have; else what it is.
fn plain(value: &DeValue<'_>) -> Result<toml::Value, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string().into()),
        DeValue::Boolean(value) => Ok((*value).into()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map(Into::into).map_err(|_| "a number that large")
        }
        DeValue::Array(values) => {
            let texts = values.iter().map(|value| match value.get_ref() {
                DeValue::String(text) => Ok(toml::Value::from(text.to_string())),
                _ => Err("a list of something else"),
            });
            texts.collect::<Result<Vec<_>, _>>().map(Into::into)
        }
        DeValue::Float(_) => Err("a number with a fraction"),
        DeValue::Datetime(_) => Err("a date or time"),
        DeValue::Table(_) => Err(TABLE),
    }
}

/// Checks that the key exists and that its value is right, alone.
pub(super) fn check(setting: RawSetting) -> Result<Setting, ConfigError> {
    let RawSetting { key, value, place } = setting;
    let Some(known) = defaults::find(&key) else {
        return Err(unknown(place, key));
    };
    let expected = described(&known.default);
    let found = match value {
        Ok(value) if value.same_type(&known.default) => return check_value(known, value, place),
        Ok(value) => described(&value),
        Err(found) => found,
    };
    Err(ConfigError::WrongType { place, key, expected, found })
}

fn check_value(known: &'static KnownKey, value: toml::Value, place: String) -> Result<Setting, ConfigError> {
    match schema::fault(&known.key, &value) {
        None => Ok(Setting { key: &known.key, value, place }),
        Some(message) => Err(ConfigError::WrongValue { place, key: known.key.clone(), message }),
    }
}

/// A type, as it is called in a message.
pub(super) fn described(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text in quotes",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Boolean(_) => "`true` or `false`",
        toml::Value::Array(_) => "a list of texts",
        toml::Value::Float(_) => "a number with a fraction",
        toml::Value::Datetime(_) => "a date or time",
        toml::Value::Table(_) => TABLE,
    }
}

fn unknown(place: String, key: String) -> ConfigError {
    if defaults::sections().any(|section| section == key) {
        return ConfigError::WrongType { place, key, expected: TABLE, found: "a value" };
    }
    let suggestion = suggest(&key);
    ConfigError::UnknownKey { place, key, suggestion }
}

/// Looks in the key's own section first, then for the same name elsewhere.
fn suggest(key: &str) -> Suggestion {
    let names = || defaults::keys().iter().map(|known| known.key.as_str());
    let last = |key: &'static str| key.split_once('.').map_or(key, |(_, name)| name);
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let in_section = Suggestion::new(name, names().filter(|key| defaults::section_of(key) == section).map(last));
    if let Suggestion::Nearest(_) = in_section {
        return in_section;
    }
    if let Suggestion::Nearest(nearest) = Suggestion::new(name, names().map(last)) {
        let full = names().find(|key| last(key) == nearest).unwrap_or_default();
        return Suggestion::Nearest(full.to_owned());
    }
    match in_section {
        Suggestion::Known(known) if !known.is_empty() => Suggestion::Known(known),
        _ => Suggestion::new(defaults::section_of(key), defaults::sections()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> (String, String) {
        let error = read("config.toml", text).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default())
    }

    #[test]
    fn settings_come_in_the_order_of_their_lines() {
        let settings = read("c", "limits.max_workspaces = 3\n[workspace]\nremote = 'a'\nbase = 'b'\n[store]").unwrap();
        let places: Vec<_> = settings.iter().map(|setting| (setting.key, setting.place.as_str())).collect();
        assert_eq!(places, [("limits.max_workspaces", "c:1"), ("workspace.remote", "c:3"), ("workspace.base", "c:4")]);
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
                "there are `workspace`, `pool`, `limits`, `cleanup`, `store`",
            ),
            (
                "[limits]\nqqq = 1",
                "config.toml:2: unknown key `limits.qqq`",
                "there are `max_workspaces`, `min_free_disk`",
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
                "2: `limits.max_workspaces` must be a whole number, not a number that large",
            ),
            (
                "[workspace]\nsubmodules = 'yes'",
                "2: `workspace.submodules` must be `true` or `false`, not a text in quotes",
            ),
            ("[workspace]\ncopy = [1]", "2: `workspace.copy` must be a list of texts, not a list of something else"),
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
