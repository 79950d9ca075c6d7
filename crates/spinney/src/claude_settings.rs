//! Claude Code's settings file: our two hooks go in; every other value stays as it was written, in its order.

use std::fmt;

use serde_json::Value;
use spinney_core::names::for_message;

use crate::members::Members;

/// The file, below the main checkout.
pub const PLACE: &str = ".claude/settings.json";
/// The one that is a person's own, and in nobody's commits. Claude Code reads both.
pub const OWN_PLACE: &str = ".claude/settings.local.json";

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
            Self::NotJson(error) => write!(f, "it is not a JSON object: {error}"),
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

/// Whether settings have our hooks, whatever else they have.
pub fn has_hooks(settings: &str) -> bool {
    matches!(with_hooks(Some(settings)), Ok(None))
}

/// Whether settings say anything but hooks of ours.
pub fn has_more(settings: &str) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(settings) else { return true };
    let hooks = members.get("hooks").and_then(Value::as_object);
    let is_ours = |event: &String| HOOKS.iter().any(|(ours, _)| event == ours);
    members.keys().any(|key| key != "hooks")
        || hooks.is_some_and(|hooks| !hooks.keys().all(is_ours))
        || with_hooks(Some(settings)).is_err()
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
    fn what_a_person_said_beside_our_hooks_is_noticed() {
        let ours = with_hooks(None).unwrap().unwrap();
        assert!(has_hooks(&ours) && !has_more(&ours) && !has_more("{}") && !has_hooks("{}"));
        let permissions = with_hooks(Some("{\"permissions\": {}}")).unwrap().unwrap();
        assert!(has_hooks(&permissions) && has_more(&permissions));
        assert!(has_more("{\"hooks\": {\"Stop\": []}}") && has_more("no json") && has_more("[]"));
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
