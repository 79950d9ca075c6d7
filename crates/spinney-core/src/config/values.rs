//! What a single value must be like. Messages are fragments that follow a key's name: "… is not …".

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::BranchName;
use crate::names::for_message;

/// Longest name of a directory on the file systems in use.
const MAX_NAME_BYTES: usize = 255;

/// A value that may be left empty: none then.
pub mod optional {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(D::Error::custom) }
    }

    pub fn serialize<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }
}

/// The name of a remote. It follows the rules of a ref, so it can be neither an option, nor a URL, nor a path upwards.
pub(super) mod remote {
    use super::{BranchName, Deserialize, Deserializer, Error, for_message};

    pub use super::optional::serialize;

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse::<BranchName>() {
            Ok(_) => Ok(Some(text)),
            Err(error) => {
                let text = for_message(&text);
                Err(D::Error::custom(format!("`{text}` is not the name of a remote: {}", error.reason)))
            }
        }
    }
}

/// An absolute path: nobody knows in which directory a daemon is started.
pub mod path {
    use std::path::PathBuf;

    use super::{Deserialize, Deserializer, Error, for_message};

    pub use super::optional::serialize;

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "" => Ok(None),
            path if path.starts_with('/') && !path.contains('\0') => Ok(Some(text.into())),
            other => Err(D::Error::custom(format!("`{}` is not an absolute path", for_message(other)))),
        }
    }
}

/// One word of a list of them.
pub fn word<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

pub(super) fn words<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    Vec::<String>::deserialize(deserializer)?.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

pub(super) fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(deserializer)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number >= 1)
        .ok_or_else(|| D::Error::custom(format!("`{number}` is not a number from `1` to `{}`", u32::MAX)))
}

pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(deserializer)?;
    u32::try_from(number)
        .map_err(|_| D::Error::custom(format!("`{number}` is not a number from `0` to `{}`", u32::MAX)))
}

/// More than any machine has use for; each is a whole tree on disk.
const MAX_POOL: u32 = 1000;

pub(super) fn pool_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = i64::deserialize(deserializer)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= MAX_POOL)
        .ok_or_else(|| D::Error::custom(format!("`{number}` is not a number from `0` to `{MAX_POOL}`")))
}

pub(super) fn artifacts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, artifact_fault)
}

pub(super) fn copy_patterns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, copy_pattern_fault)
}

pub(super) fn shell_lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, shell_line_fault)
}

pub(super) fn directory_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    texts(deserializer, directory_name_fault)
}

pub(super) fn port_names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = texts(deserializer, port_name_fault)?;
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(D::Error::custom(format!("`{}` is named twice", for_message(name)))),
        None => Ok(names),
    }
}

/// Ids of people, written as numbers or as texts.
pub fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(u64),
        Text(String),
    }
    let ids = Vec::<Id>::deserialize(deserializer).map_err(|_| D::Error::custom("it is not a list of user ids"))?;
    let text = |id| match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => text,
    };
    Ok(ids.into_iter().map(text).collect())
}

/// Ids of people that are numbers: names can be given to somebody else.
pub fn numeric_ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let is_number = |text: &str| text.parse::<u64>().is_ok_and(|number| number.to_string() == text);
    let fault = "is not a user's numeric id; names are not accepted, because another person can take over a name";
    without(ids(deserializer)?, |text| (!is_number(text)).then_some(fault))
}

/// Reads a list of texts, each without the fault that `fault` looks for.
pub(super) fn texts<'de, D: Deserializer<'de>>(
    deserializer: D,
    fault: impl Fn(&str) -> Option<&'static str>,
) -> Result<Vec<String>, D::Error> {
    without(Vec::<String>::deserialize(deserializer)?, fault)
}

/// The texts, if none of them has the fault that `fault` looks for.
pub fn without<E: Error>(texts: Vec<String>, fault: impl Fn(&str) -> Option<&'static str>) -> Result<Vec<String>, E> {
    match texts.iter().find_map(|text| Some((text, fault(text)?))) {
        Some((text, fault)) => Err(E::custom(format!("`{}` {fault}", for_message(text)))),
        None => Ok(texts),
    }
}

fn copy_pattern_fault(pattern: &str) -> Option<&'static str> {
    let mut parts = pattern.trim_start_matches('!').split('/');
    if pattern.trim().is_empty() {
        Some("is an empty pattern")
    } else if pattern.trim_start_matches('!').starts_with(['/', '~']) {
        Some("is absolute: patterns are relative to the repository")
    } else if pattern.contains(char::is_control) {
        Some("contains a control character")
    } else if parts.clone().any(|part| part == "..") {
        Some("leads out of the repository")
    } else if parts.any(|part| part.eq_ignore_ascii_case(".git")) {
        Some("leads into git's own directory")
    } else {
        None
    }
}

/// Directories whose contents name the place they were made at: a copy would lead back to the original.
const TIED_TO_THEIR_PLACE: [&str; 7] = ["target", ".venv", "venv", "env", "virtualenv", ".tox", ".nox"];

fn artifact_fault(directory: &str) -> Option<&'static str> {
    let mut parts = directory.split('/');
    let last = directory.rsplit('/').next().unwrap_or_default();
    if directory.is_empty() || directory.starts_with(['/', '~']) {
        Some("is not a directory relative to the repository")
    } else if directory.contains(['*', '?', '[', '\\']) || directory.contains(char::is_control) {
        Some("is a pattern, not a directory")
    } else if parts.clone().any(|part| part.is_empty() || part == "." || part == "..") {
        Some("leads out of the repository")
    } else if parts.any(|part| part.eq_ignore_ascii_case(".git")) {
        Some("leads into git's own directory")
    } else if TIED_TO_THEIR_PLACE.contains(&last) {
        Some("holds absolute paths: have `setup` build it in place")
    } else {
        None
    }
}

/// What a person trusts must be what they saw: no escape sequences, nothing that reorders the text on a screen.
fn shell_line_fault(line: &str) -> Option<&'static str> {
    let hides = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    line.contains(hides).then_some("contains a control or invisible character")
}

fn directory_name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', '*', '?', '[']) {
        Some("is not the plain name of a directory")
    } else if name.contains(char::is_control) || name.len() > MAX_NAME_BYTES {
        Some("can't be the name of a directory")
    } else if name.eq_ignore_ascii_case(".git") {
        Some("is git's own directory, not a cache")
    } else {
        None
    }
}

/// A double underscore would make `SPINNEY_PORT_<NAME>` look like a variable that configures Spinney.
fn port_name_fault(name: &str) -> Option<&'static str> {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.contains("__");
    (!plain || name.len() > 40).then_some("is not a name such as `web` or `db_2`")
}

#[cfg(test)]
mod tests {
    use super::super::schema::tests::plain_fault as fault;

    fn texts(values: &[&str]) -> toml::Value {
        values.iter().map(|value| toml::Value::from(*value)).collect::<Vec<_>>().into()
    }

    #[test]
    fn copy_patterns_stay_inside_the_repository() {
        for pattern in [".env", "config/*.local", "**/.env.*", "..env", "a..b", "!.env.example", ".github/x"] {
            assert_eq!(fault("workspace.copy", &texts(&[pattern])), None, "{pattern}");
        }
        for pattern in
            ["", " ", "/etc/passwd", "~/.ssh/id", "!/etc", "../x", "a/../../b", "..", ".git/config", "a/.GIT/x", "a\nb"]
        {
            assert!(fault("workspace.copy", &texts(&[".env", pattern])).is_some(), "{pattern}");
        }
    }

    #[test]
    fn artifacts_are_directories_that_can_be_carried_over() {
        for directory in ["node_modules", "web/node_modules", ".yarn/cache", "vendor"] {
            assert_eq!(fault("workspace.artifacts", &texts(&[directory])), None, "{directory}");
        }
        for directory in
            ["", "/x", "~/x", "a/../b", "..", "./a", "a//b", "*/x", ".git", "a/.Git/x", "target", "a/target", ".venv"]
        {
            assert!(fault("workspace.artifacts", &texts(&[directory])).is_some(), "{directory}");
        }
        let message = fault("workspace.artifacts", &texts(&["target"])).unwrap();
        assert_eq!(message, "`target` holds absolute paths: have `setup` build it in place");
    }

    #[test]
    fn shell_lines_show_what_they_do() {
        for line in ["npm ci", "make\n\tall", "echo größe", ""] {
            assert_eq!(fault("workspace.setup", &texts(&[line])), None, "{line}");
        }
        for line in ["a\u{1b}[2K", "a\rb", "a\0b", "a\u{202e}b", "a\u{200b}b", "a\u{2066}b"] {
            assert!(fault("workspace.setup", &texts(&[line])).is_some(), "{line:?}");
        }
    }

    #[test]
    fn caches_are_plain_directory_names() {
        let long = "x".repeat(256);
        for name in ["", ".", "..", "a/b", "a\\b", "*", "x?", "[a]", "a\nb", ".git", ".Git", &long] {
            assert!(fault("cleanup.caches", &texts(&[name])).is_some(), "{name}");
        }
        assert_eq!(fault("cleanup.caches", &texts(&["build", ".cache", "größe"])), None);
    }

    #[test]
    fn port_names_are_unique_and_fit_a_variable() {
        assert_eq!(fault("workspace.ports", &texts(&["web", "db_2", "a"])), None);
        let long = "x".repeat(41);
        for name in ["", "Web", "2db", "_a", "a-b", "a__b", "größe", "a b", &long] {
            assert!(fault("workspace.ports", &texts(&[name])).is_some(), "{name}");
        }
        let message = fault("workspace.ports", &texts(&["web", "db", "web"])).unwrap();
        assert_eq!(message, "`web` is named twice");
    }

    #[test]
    fn remotes_are_names_and_nothing_that_git_would_run_or_open() {
        for name in ["origin", "upstream", "my/fork", ""] {
            assert_eq!(fault("workspace.remote", &name.into()), None, "{name}");
        }
        for name in ["-x", "--upload-pack=x", "ext::sh -c x", "https://host/x", "/srv/x", "../x", "a b", "a\nb"] {
            assert!(fault("workspace.remote", &name.into()).is_some(), "{name}");
        }
    }

    #[test]
    fn single_values_are_checked() {
        for (key, value) in [
            ("workspace.base", toml::Value::from("a..b")),
            ("workspace.base", "--x".into()),
            ("workspace.fetch", "Auto".into()),
            ("workspace.lfs", "yes".into()),
            ("workspace.fetch_max_age", "5".into()),
            ("pool.size", (-1).into()),
            ("pool.size", 1001.into()),
            ("workspace.populate", "copy".into()),
            ("limits.max_workspaces", 0.into()),
            ("limits.max_workspaces", (-1).into()),
            ("limits.max_workspaces", i64::MAX.into()),
            ("limits.min_free_disk", "2".into()),
            ("cleanup.persistent_platforms", texts(&["irc"])),
        ] {
            assert!(fault(key, &value).is_some(), "{key} = {value}");
        }
        assert_eq!(fault("workspace.base", &"release/1.x".into()), None);
        assert_eq!(fault("limits.max_workspaces", &1.into()), None);
        assert_eq!(fault("workspace.fetch", &"x\ny".into()).unwrap(), "`x\\ny` is none of `auto`, `never`, `require`");
    }
}
