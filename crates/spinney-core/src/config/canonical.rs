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

use super::defaults::SCHEDULES;
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
                Key::OfAgent(of, key) if *of == agent => Some(((*key).to_owned(), &setting.value)),
                Key::Schedule(of, name) if *of == agent => Some((format!("{SCHEDULES}.{name}"), &setting.value)),
                Key::OfSchedule(of, name, key) if *of == agent => {
                    Some((format!("{SCHEDULES}.{name}.{key}"), &setting.value))
                }
                _ => None,
            })
            .collect();
        keys.sort_by(|(one, _), (other, _)| one.cmp(other));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sections::tests::trial;
    use super::super::{document, needs_trust};
    use super::*;

    #[test]
    fn what_would_hide_is_shown() {
        for (text, shown) in [
            ("größe 👍", "\"größe 👍\""),
            ("a\"b\\c\n\td", "\"a\\\"b\\\\c\\n\\td\""),
            ("a\u{1b}[2K\u{7f}\u{9b}", "\"a\\u001b[2K\\U0000007f\\U0000009b\""),
            ("a\u{202e}b\u{200b}c\u{e0041}", "\"a\\U0000202eb\\U0000200bc\\U000e0041\""),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }

    #[test]
    fn every_type_of_value_is_written() {
        let text = "[agents.a]\ncommand = []\nhandoff_at = 1\nmax_attempts = 3\nrequires_isolation = false\n\
            working_directory = { root = 'x', clone_depth = 1 }\n";
        let written = "[agents.a]\ncommand = [\n]\nhandoff_at = 1.0\nmax_attempts = 3\nrequires_isolation = false\n\
            working_directory = { \"clone_depth\" = 1, \"root\" = \"x\" }\n";
        assert_eq!(agents(&document::read(trial(), "x", text).unwrap()), written);
    }

    #[test]
    fn schedules_are_written_key_by_key() {
        let text = "[agents.a]\nmodel = 'x'\n[agents.a.schedules.s]\nprompt = 'y'\n[agents.a.schedules.empty]\n\
            [agents.a.schedules.r]\nwork_source = { type = 'github', labels = { ready = 'x' }, exclude_labels = ['z'] }\n";
        let written = "[agents.a]\nmodel = \"x\"\nschedules.empty = {  }\nschedules.r.work_source = { \
            \"exclude_labels\" = [\n  \"z\",\n], \"labels\" = { \"ready\" = \"x\" }, \"type\" = \"github\" }\n\
            schedules.s.prompt = \"y\"\n";
        let settings = document::read(trial(), "x", text).unwrap();
        assert_eq!(agents(&settings), written);
        assert_eq!(agents(&document::read(trial(), "x", written).unwrap()), written, "it says the same");
    }

    proptest! {
        #[test]
        fn the_canonical_text_says_the_same_as_the_file(prompt in "(?s).{0,60}", value in "(?s).{0,30}", line in "[ -~]{0,30}") {
            let quoted = |text: &str| toml::Value::from(text).to_string();
            let text = format!(
                "[agents.a]\nsystem_prompt = {}\nenv = {{ X = {} }}\nhooks.on_error = [{}]\n",
                quoted(&prompt.replace('\0', "")), quoted(&format!("x{}", value.replace('\0', ""))), quoted(&line),
            );
            let request = needs_trust(trial(), "x", &text).unwrap().unwrap();
            let again = needs_trust(trial(), "y", &request.content).unwrap().unwrap();
            prop_assert_eq!(&again, &request);
            prop_assert!(!request.content.contains(|c: char| c != '\n' && hides(c)));
            let values = |text: &str| document::read(trial(), "x", text).unwrap().into_iter().map(|setting| {
                (setting.key.to_string(), setting.value.to_string())
            }).collect::<std::collections::BTreeMap<_, _>>();
            prop_assert_eq!(values(&request.content), values(&text));
        }
    }
}
