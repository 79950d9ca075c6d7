//! The default file, compiled in: the one list of keys, their order, types and defaults.

use std::sync::LazyLock;

use super::document::{self, RawSetting};
use super::repository;

/// The commented default file.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// A key that exists.
#[derive(Debug)]
pub(super) struct KnownKey {
    /// `section.key`.
    pub key: String,
    /// Its type is the type of every value the key can have.
    pub default: toml::Value,
}

static KEYS: LazyLock<Vec<KnownKey>> = LazyLock::new(|| {
    let settings = document::parse("defaults.toml", DEFAULTS).expect("the built-in defaults are valid TOML");
    settings.into_iter().map(known).collect()
});

fn known(setting: RawSetting) -> KnownKey {
    KnownKey { key: setting.key, default: setting.value.expect("the built-in defaults have only plain types") }
}

/// Every key, in the order of the file.
pub(super) fn keys() -> &'static [KnownKey] {
    &KEYS
}

pub(super) fn find(key: &str) -> Option<&'static KnownKey> {
    keys().iter().find(|known| known.key == key)
}

/// The sections, in the order of the file.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    keys().iter().filter_map(move |known| {
        let section = section_of(&known.key);
        (std::mem::replace(&mut last, section) != section).then_some(section)
    })
}

pub(super) fn section_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

/// All defaults as one table.
pub(super) fn table() -> toml::Table {
    let mut table = toml::Table::new();
    for known in keys() {
        set(&mut table, &known.key, known.default.clone());
    }
    table
}

/// Sets `section.key` in a table of sections.
pub(super) fn set(table: &mut toml::Table, key: &str, value: toml::Value) {
    let (section, key) = key.split_once('.').expect("every key has a section");
    let section = table.entry(section).or_insert_with(|| toml::Table::new().into());
    section.as_table_mut().expect("sections are tables").insert(key.to_owned(), value);
}

/// A `spinney.toml` to begin with: what a repository may set, each key commented out.
#[must_use]
pub fn repository_template() -> String {
    let mut template = "# How Spinney makes workspaces of this repository.\n".to_owned();
    let mut section = "";
    let mut comment = String::new();
    for line in DEFAULTS.lines() {
        if line.starts_with('#') {
            comment.push_str(line);
            comment.push('\n');
            continue;
        }
        let key = line.split_once(" = ").map(|(key, _)| format!("{section}.{key}"));
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
            let any = keys().iter().any(|known| section_of(&known.key) == name && repository::may_set(&known.key));
            if any {
                template.push_str(&format!("\n[{name}]\n"));
            }
        } else if key.is_some_and(|key| repository::may_set(&key)) {
            template.push_str(&format!("{comment}# {line}\n\n"));
        }
        comment.clear();
    }
    template.truncate(template.trim_end().len());
    template + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::Layers;
    use super::*;

    #[test]
    fn sections_come_in_order_once_each() {
        assert_eq!(sections().collect::<Vec<_>>(), ["workspace", "pool", "limits", "cleanup", "store"]);
    }

    #[test]
    fn every_key_is_explained() {
        let lines: Vec<_> = DEFAULTS.lines().collect();
        for (before, line) in lines.iter().zip(&lines[1..]) {
            if line.contains(" = ") && !line.starts_with('#') {
                assert!(before.starts_with('#'), "`{line}` has no comment");
            }
        }
    }

    #[test]
    fn the_default_file_can_be_ones_own_file() {
        Layers::new().file("config.toml".as_ref(), DEFAULTS).unwrap();
    }

    #[test]
    fn the_repository_template_is_a_valid_repository_file_with_and_without_its_comment_signs() {
        let template = repository_template();
        Layers::new().repository("spinney.toml", &template, false).unwrap();
        let keys: Vec<_> = template.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(" = ")).collect();
        let may: Vec<_> = super::keys().iter().filter(|known| repository::may_set(&known.key)).collect();
        assert_eq!(keys.len(), may.len(), "{template}");
        assert!(keys.iter().all(|(key, _)| may.iter().any(|known| known.key.ends_with(key))), "{template}");
        assert!(template.contains("# setup = []") && !template.contains("stale_after"), "{template}");
        let sections = "[workspace]\nsetup = []\n[limits]\nmax_workspaces = 25\n";
        Layers::new().repository("spinney.toml", sections, false).unwrap();
    }
}
