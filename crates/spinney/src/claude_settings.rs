//! Claude Code's settings file: our two hooks go in; every other value stays as it was written, in its order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use spinney_core::names::for_message;

/// The file, below the main checkout.
pub const PLACE: &str = ".claude/settings.json";

/// Each event, and the command of ours that serves it. Without the second, Claude Code would remove the tree itself.
const HOOKS: [(&str, &str); 2] =
    [("WorktreeCreate", "hook worktree-create"), ("WorktreeRemove", "hook worktree-remove")];

/// Long enough for a fetch and for `setup` up to its own limit.
const TIMEOUT_S: u32 = 900;

#[derive(Debug)]
pub enum SettingsError {
    NotJson(serde_json::Error),
    /// A part of it is not of the kind that it must be.
    Shape(&'static str),
    /// Somebody else's hook: Claude Code would run both.
    Taken {
        event: &'static str,
        command: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "it is no JSON object: {error}"),
            Self::Shape(part) => write!(f, "its {part} is not what it must be"),
            Self::Taken { event, command } => {
                write!(f, "it has another {event} hook already: `{}`", for_message(command))
            }
        }
    }
}

/// The settings with our hooks, begun anew where there are none; none where they have them already.
pub fn with_hooks(settings: Option<&str>) -> Result<Option<String>, SettingsError> {
    let mut members: Members = serde_json::from_str(settings.unwrap_or("{}").trim_start_matches('\u{feff}'))
        .map_err(SettingsError::NotJson)?;
    let mut hooks = match members.get("hooks") {
        Some(hooks) => serde_json::from_str(hooks).map_err(|_| SettingsError::Shape("`hooks`"))?,
        None => Members::default(),
    };
    let mut changed = false;
    for (event, command) in HOOKS {
        if !is_served(hooks.get(event), event, command)? {
            hooks.set(event, entry(command));
            changed = true;
        }
    }
    members.set("hooks", hooks.render(2));
    Ok(changed.then(|| members.render(0) + "\n"))
}

/// Whether an event is served by us; refused when it is by somebody else.
fn is_served(entries: Option<&str>, event: &'static str, command: &str) -> Result<bool, SettingsError> {
    let Some(entries) = entries else { return Ok(false) };
    let entries: Vec<Value> = serde_json::from_str(entries).map_err(|_| SettingsError::Shape(event))?;
    let hooks = entries.iter().flat_map(|entry| entry["hooks"].as_array().into_iter().flatten());
    let told = |hook: &Value| hook["command"].as_str().map_or_else(|| hook.to_string(), str::to_owned);
    let commands: Vec<String> = hooks.map(told).collect();
    match commands.iter().find(|given| !given.contains(command)) {
        Some(other) => Err(SettingsError::Taken { event, command: other.clone() }),
        None => Ok(!commands.is_empty()),
    }
}

/// The shell becomes the program: it would else stand in the very tree that is to be removed, and keep it in use.
fn entry(command: &str) -> String {
    format!(
        r#"[
      {{
        "hooks": [
          {{
            "type": "command",
            "command": "exec spinney {command}",
            "timeout": {TIMEOUT_S}
          }}
        ]
      }}
    ]"#
    )
}

/// The members of an object, in their order, each as it was written.
#[derive(Debug, Default)]
struct Members(Vec<(String, String)>);

impl Members {
    fn get(&self, key: &str) -> Option<&str> {
        // Of a key that is there twice, the last counts.
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, key: &str, value: String) {
        match self.0.iter_mut().rev().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    fn render(&self, indent: usize) -> String {
        let margin = " ".repeat(indent);
        let member = |(key, value): &(String, String)| format!("{margin}  {}: {value}", Value::from(key.as_str()));
        let members = self.0.iter().map(member).collect::<Vec<_>>().join(",\n");
        format!("{{\n{members}\n{margin}}}")
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    members.push((key, value.get().to_owned()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(settings: &str) -> String {
        with_hooks(Some(settings)).unwrap().expect("something was to do")
    }

    #[test]
    fn our_hooks_are_written_once() {
        let made = with_hooks(None).unwrap().unwrap();
        let value: Value = serde_json::from_str(&made).unwrap();
        for (event, command) in HOOKS {
            let hook = &value["hooks"][event][0]["hooks"][0];
            assert_eq!(
                (hook["type"].as_str(), hook["command"].as_str()),
                (Some("command"), Some(&*format!("exec spinney {command}")))
            );
        }
        assert_eq!(with_hooks(Some(&made)).unwrap(), None);
        // As a person may have it.
        assert_eq!(with_hooks(Some(&made.replace("\"exec spinney ", "\"/opt/bin/spinney --home /x "))).unwrap(), None);
    }

    #[test]
    fn all_else_stays_in_its_order_and_as_written() {
        let own = "{\"z\": 1.50, \"hooks\": {\"Stop\": [ {\"hooks\": []} ], \"WorktreeCreate\": []}, \"a\": {\"y\":1,\n \"b\":2}}";
        let made = changed(own);
        for kept in ["\"z\": 1.50", "\"Stop\": [ {\"hooks\": []} ]", "\"a\": {\"y\":1,\n \"b\":2}"] {
            assert!(made.contains(kept), "{kept} is not in {made}");
        }
        let places = ["\"z\"", "\"hooks\"", "\"Stop\"", "\"WorktreeCreate\"", "\"WorktreeRemove\"", "\"a\""];
        let places: Vec<_> = places.iter().map(|key| made.find(key).unwrap()).collect();
        assert!(places.is_sorted(), "{made}");
    }

    #[test]
    fn what_is_not_understood_or_somebody_elses_is_refused() {
        for text in ["", "[]", "{", "// a comment\n{}", "{} {}"] {
            assert!(matches!(with_hooks(Some(text)), Err(SettingsError::NotJson(_))), "{text}");
        }
        assert!(matches!(with_hooks(Some("{\"hooks\": 1}")), Err(SettingsError::Shape("`hooks`"))));
        let other =
            "{\"hooks\": {\"WorktreeRemove\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"rm -rf\"}]}]}}";
        let refused = with_hooks(Some(other)).unwrap_err().to_string();
        assert_eq!(refused, "it has another WorktreeRemove hook already: `rm -rf`");
    }
}
