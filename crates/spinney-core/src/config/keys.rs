//! The keys of a default file: what exists, and what somebody probably meant.

use super::document;
use super::nearest::Suggestion;

/// How the keys end whose value is the name of a variable.
pub(super) const VARIABLE: &str = "_env";

/// A key that exists.
#[derive(Debug, Clone)]
pub(super) struct KnownKey {
    /// `section.key`, or `key` outside of any section.
    pub key: String,
    /// Its type is the type of every value the key can have, except [`KnownKey::also_a_table`].
    pub default: toml::Value,
    /// Whether the entries of a list can be written as numbers too.
    pub also_numbers: bool,
    /// Whether it is one of `[workspace]` that an agent can set for itself: without a default of its own.
    pub overrides: bool,
}

impl KnownKey {
    /// Whether the key can be written as a table too.
    pub fn also_a_table(&self) -> bool {
        self.key == "working_directory"
    }

    /// Whether its value is the name of a variable of the environment, which holds a secret.
    pub fn names_a_variable(&self) -> bool {
        self.key.ends_with(VARIABLE)
    }

    /// What a value must be, in a message.
    pub fn expected(&self) -> &'static str {
        match &self.default {
            _ if self.also_a_table() => "a text in quotes or a table",
            toml::Value::Float(_) => "a number",
            default => document::described(default),
        }
    }
}

/// The keys of one file, in its order.
#[derive(Debug)]
pub(super) struct Keys {
    known: Vec<KnownKey>,
    /// Sections whose keys are not in the file.
    others: &'static [&'static str],
}

impl Keys {
    /// Reads a default file that is compiled in.
    pub fn read(text: &str, others: &'static [&'static str]) -> Self {
        let mut keys = Self { known: Vec::new(), others };
        keys.extend(text, false);
        keys
    }

    /// Adds the keys of another default file behind those that are there.
    pub fn extend(&mut self, text: &str, also_numbers: bool) {
        let settings = document::parse_default(text).expect("the built-in defaults are valid TOML");
        let known = |(key, value): (String, document::Plain)| KnownKey {
            key,
            default: value.expect("the built-in defaults have only plain types"),
            also_numbers,
            overrides: false,
        };
        self.known.extend(settings.into_iter().map(known));
    }

    /// Takes in the keys of another file's section, before its own keys of that section.
    pub fn with_overrides(mut self, others: &Self, section: &str) -> Self {
        let at = self.iter().position(|known| parent(&known.key) == section).unwrap_or(self.known.len());
        let others = others.iter().filter(|known| parent(&known.key) == section);
        let overriding: Vec<_> = others.map(|known| KnownKey { overrides: true, ..known.clone() }).collect();
        self.known.splice(at..at, overriding);
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &KnownKey> {
        self.known.iter()
    }

    pub fn find(&self, key: &str) -> Option<&KnownKey> {
        self.iter().find(|known| known.key == key)
    }

    pub fn is_section(&self, path: &str) -> bool {
        self.children(path).next().is_some()
    }

    /// What stands right below a section, keys and sections, each once; an empty path is the file itself.
    pub fn children<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let mut last = "";
        self.iter().filter_map(move |known| {
            let rest = if path.is_empty() { &known.key } else { known.key.strip_prefix(path)?.strip_prefix('.')? };
            let child = rest.split_once('.').map_or(rest, |(child, _)| child);
            (std::mem::replace(&mut last, child) != child).then_some(child)
        })
    }

    /// What someone probably meant: looks in the key's own section first, then for the same name elsewhere, where
    /// `prefix` tells how to get there.
    pub fn suggest(&self, prefix: &str, key: &str) -> Suggestion {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        let others = || self.others.iter().copied();
        let in_section = match section {
            "" => Suggestion::new(name, self.children("").chain(others())),
            _ => Suggestion::new(name, self.children(section)),
        };
        if let Suggestion::Nearest(_) = in_section {
            return in_section;
        }
        if let Suggestion::Nearest(nearest) = Suggestion::new(name, self.iter().map(|known| last(&known.key))) {
            let full = self.iter().find(|known| last(&known.key) == nearest);
            return Suggestion::Nearest(full.map(|known| format!("{prefix}{}", known.key)).unwrap_or_default());
        }
        match in_section {
            Suggestion::Known(known) if !known.is_empty() => Suggestion::Known(known),
            _ => Suggestion::new(section, self.children("").chain(others())),
        }
    }
}

fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(parent, _)| parent)
}

fn last(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, last)| last)
}
