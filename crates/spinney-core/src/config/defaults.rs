//! The default files, compiled in: the one list of keys, their order, types and defaults.

use std::sync::LazyLock;

use super::keys::Keys;
use super::repository;

/// The commented default file.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The commented defaults of one agent.
pub const AGENT_DEFAULTS: &str = include_str!("agent.toml");

/// The commented defaults of one schedule of an agent.
pub const SCHEDULE_DEFAULTS: &str = include_str!("schedule.toml");

/// What every agent's keys begin with.
pub(super) const AGENTS: &str = "agents";

/// What, in an agent, the keys of its schedules begin with.
pub(super) const SCHEDULES: &str = "schedules";

static KEYS: LazyLock<Keys> = LazyLock::new(own_keys);

static AGENT_KEYS: LazyLock<Keys> =
    LazyLock::new(|| Keys::read(AGENT_DEFAULTS, &[SCHEDULES]).with_overrides(&KEYS, "workspace"));

static SCHEDULE_KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::read(SCHEDULE_DEFAULTS, &[]));

/// Reads Spinney's own keys outside of agents.
pub(super) fn own_keys() -> Keys {
    Keys::read(DEFAULTS, &[AGENTS])
}

/// Spinney's own keys outside of agents.
pub(super) fn keys() -> &'static Keys {
    &KEYS
}

/// Every key of an agent, without `agents.<name>.`.
pub(super) fn agent_keys() -> &'static Keys {
    &AGENT_KEYS
}

/// Every key of a schedule, without what comes before it.
pub(super) fn schedule_keys() -> &'static Keys {
    &SCHEDULE_KEYS
}

/// All defaults as one table.
pub(super) fn table(keys: &Keys) -> toml::Table {
    let mut table = toml::Table::new();
    for known in keys.iter() {
        set(&mut table, &known.key, known.default.clone());
    }
    table
}

/// Sets a key in a table of sections.
pub(super) fn set(table: &mut toml::Table, key: &str, value: toml::Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((section, rest)) => {
            let section = table.entry(section).or_insert_with(|| toml::Table::new().into());
            set(section.as_table_mut().expect("sections are tables"), rest, value);
        }
    }
}

/// A `spinney.toml` to begin with: what a repository may set, each key commented out.
#[must_use]
pub fn repository_template() -> String {
    let mut template = "# How Spinney makes workspaces of this repository.\n".to_owned();
    for block in blocks(DEFAULTS) {
        match block {
            Block::Section { name, .. } => {
                if keys().children(name).any(|key| repository::may_set(&format!("{name}.{key}"))) {
                    template.push_str(&format!("\n[{name}]\n"));
                }
            }
            Block::Key { section, comment, line } => {
                if repository::may_set(&format!("{section}.{}", key_of(line))) {
                    template.push_str(&format!("{comment}# {line}\n\n"));
                }
            }
        }
    }
    template.push_str("# An agent of this repository, with every default. Agents count only after `spinney trust`.\n");
    template.push_str("# [agents.coder]\n");
    for block in blocks(AGENT_DEFAULTS) {
        match block {
            Block::Section { comment, name } => template.push_str(&format!("{comment}# [agents.coder.{name}]\n")),
            Block::Key { comment, line, .. } => {
                if repository::may_set_of_agent(key_of(line)) {
                    template.push_str(&format!("{comment}# {line}\n\n"));
                }
            }
        }
    }
    template.truncate(template.trim_end().len());
    template + "\n"
}

/// A part of a default file, with the comment before it.
enum Block<'a> {
    Section { comment: String, name: &'a str },
    Key { section: &'a str, comment: String, line: &'a str },
}

/// The sections and keys of a default file. A list over several lines is known by its first.
fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut section = "";
    let mut comment = String::new();
    text.lines().filter_map(move |line| {
        if line.starts_with('#') {
            comment.push_str(line);
            comment.push('\n');
            return None;
        }
        let comment = std::mem::take(&mut comment);
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
            return Some(Block::Section { comment, name });
        }
        line.contains(" = ").then_some(Block::Key { section, comment, line })
    })
}

fn key_of(line: &str) -> &str {
    line.split_once(" = ").map_or(line, |(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::super::Layers;
    use super::*;

    #[test]
    fn sections_come_in_order_once_each() {
        let sections: Vec<_> = keys().children("").collect();
        assert_eq!(sections, ["workspace", "pool", "limits", "cleanup", "store", "server"]);
        let of_agent: Vec<_> = agent_keys().children("").collect();
        assert_eq!((of_agent[0], &of_agent[of_agent.len() - 2..]), ("runtime", &["workspace", "hooks"][..]));
        let workspace: Vec<_> = agent_keys().children("workspace").collect();
        assert!(
            workspace.starts_with(&["strategy"]) && workspace.ends_with(&["keep", "on_dirty", "cleanup_on_failure"])
        );
    }

    #[test]
    fn every_key_is_explained() {
        for text in [DEFAULTS, AGENT_DEFAULTS, SCHEDULE_DEFAULTS] {
            for block in blocks(text) {
                if let Block::Key { comment, line, .. } = block {
                    assert!(!comment.is_empty(), "`{line}` has no comment");
                }
            }
        }
    }

    #[test]
    fn the_default_files_can_be_ones_own_file() {
        Layers::new().file("config.toml".as_ref(), DEFAULTS).unwrap();
        let agent = AGENT_DEFAULTS.replace("\n[", "\n[agents.coder.");
        let mut layers = Layers::new();
        layers.file("config.toml".as_ref(), &format!("[agents.coder]\n{agent}")).unwrap();
        let mut empty = Layers::new();
        empty.file("config.toml".as_ref(), "[agents.coder]").unwrap();
        assert_eq!(layers.resolve().unwrap().config, empty.resolve().unwrap().config);
    }

    #[test]
    fn the_repository_template_is_a_valid_repository_file_with_and_without_its_comment_signs() {
        let template = repository_template();
        let part = Layers::new().repository("spinney.toml", &template, false).unwrap();
        assert!(part.withheld_agents.is_empty(), "{template}");
        let is_key = |line: &str| line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        let uncommented = |line: &'_ str| {
            line.strip_prefix("# ").filter(|line| is_key(line) || line.starts_with('[')).map(str::to_owned)
        };
        let written = template.lines().map(|line| uncommented(line).unwrap_or_else(|| line.to_owned()));
        let written = written.collect::<Vec<_>>().join("\n");
        let keys = written.lines().filter(|line| !line.starts_with('#') && is_key(line)).count();
        let may = super::keys().iter().filter(|known| repository::may_set(&known.key)).count();
        let of_agent = agent_keys().iter().filter(|known| !known.overrides);
        let of_agent = of_agent.filter(|known| repository::may_set_of_agent(&known.key)).count();
        assert_eq!(keys, may + of_agent, "{written}");
        let part = Layers::new().repository("spinney.toml", &written, false).unwrap();
        assert_eq!(part.withheld_agents, ["coder".parse().unwrap()]);
        assert!(template.contains("# setup = []") && !template.contains("stale_after"), "{template}");
    }
}
