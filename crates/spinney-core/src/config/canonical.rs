//! What a repository's file wants to run, as one text whatever the file's layout: it is shown to a person, and its hash
//! is remembered.
//!
//! The form never changes, or everyone would have to trust everything again; so it is written here and not by a library,
//! and new kinds of content come behind the old ones. It is TOML that says the same as the file:
//!
//! ```toml
//! [workspace]
//! setup = [
//!   "npm ci",
//! ]
//! [agents.coder]
//! env = { "A" = "1" }
//! hooks.before_run = [
//!   "make",
//! ]
//! runtime = "claude"
//! ```
//!
//! Without `setup` lines the first section is left out. Agents and their keys are sorted by name, and only what the file
//! sets is there.

use super::document::{Key, Setting};

/// The part about `workspace.setup`; empty where it has no lines. What would hide in a line is refused when it is read.
pub(super) fn setup(lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| serde_json::Value::from(line.as_str()).to_string()).collect();
    if lines.is_empty() { String::new() } else { format!("[workspace]\nsetup = {}\n", list(&lines)) }
}

/// The part about agents; empty where there are none.
pub(super) fn agents(settings: &[Setting]) -> String {
    let mut agents = super::repository::agents_of(settings);
    let section = |agent| {
        let mut keys: Vec<_> = settings
            .iter()
            .filter_map(|setting| match &setting.key {
                Key::OfAgent(of, key) if *of == agent => Some((*key, &setting.value)),
                _ => None,
            })
            .collect();
        keys.sort_by_key(|(key, _)| *key);
        let keys: String = keys.into_iter().map(|(key, value)| format!("{key} = {}\n", written(value))).collect();
        format!("[agents.{agent}]\n{keys}")
    };
    agents.drain(..).map(section).collect()
}

fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => quoted(text),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => format!("{number:?}"),
        toml::Value::Boolean(value) => value.to_string(),
        toml::Value::Datetime(time) => time.to_string(),
        toml::Value::Array(values) => list(&values.iter().map(written).collect::<Vec<_>>()),
        toml::Value::Table(table) => {
            let mut entries: Vec<_> =
                table.iter().map(|(key, value)| format!("{} = {}", quoted(key), written(value))).collect();
            entries.sort();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

fn list(values: &[String]) -> String {
    let lines: String = values.iter().map(|value| format!("  {value},\n")).collect();
    format!("[\n{lines}]")
}

/// A text in quotes. What would not be seen, or would change how the rest is seen, is escaped.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let escaped = |c: char| if hides(c) { format!("\\U{:08x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}

/// Controls that JSON leaves as they are, marks of direction, and characters without a width, tags among them.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}
