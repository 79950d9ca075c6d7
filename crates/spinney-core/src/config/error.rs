//! What can be wrong with a configuration. Each message is one line that begins with the place to mend.

use super::document::find;
use super::nearest::Suggestion;
use super::sections::Schema;
use crate::agent::InvalidAgentName;
use crate::schedule::InvalidScheduleName;
use crate::{Advice, AgentName};

/// An error in the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{place}: broken TOML: {}", one_line(.message))]
    Syntax { place: String, message: String },
    #[error("`{place}` can't be read: {}", one_line(.message))]
    Unreadable { place: String, message: String },
    #[error("{place}: unknown key `{}`", crate::names::for_message(.key))]
    UnknownKey { place: String, key: String, suggestion: Suggestion },
    #[error("unknown variable `{}`", crate::names::for_message(.variable))]
    UnknownVariable { variable: String, suggestion: Suggestion },
    #[error("`{}` has no effect: agents can't be configured by environment variables", crate::names::for_message(.variable))]
    AgentVariable { variable: String },
    #[error("{place}: {name}")]
    AgentName { place: String, name: InvalidAgentName },
    #[error("{place}: {name}")]
    ScheduleName { place: String, name: InvalidScheduleName },
    /// What only those can tell who run agents.
    #[error("{place}: agent `{agent}`: {}", one_line(.message))]
    Agent { place: String, agent: AgentName, key: String, message: String },
    /// With what the key is by default, unless it is one of Spinney's own.
    #[error("{place}: `{key}` must be {expected}, not {found}")]
    WrongType { place: String, key: String, expected: &'static str, found: &'static str, default: Option<String> },
    /// Likewise.
    #[error("{place}: wrong value for `{key}`: {}", one_line(.message))]
    WrongValue { place: String, key: String, message: String, default: Option<String> },
    #[error("{place}: `{key}` can't be set by a repository")]
    NotForRepositories { place: String, key: String },
    #[error("`{first}` and `{second}` set `{key}` to different values")]
    Contradiction { first: String, second: String, key: String },
}

impl ConfigError {
    /// What helps.
    #[must_use]
    pub fn advice(&self) -> Advice {
        Advice::Configuration(match self {
            Self::AgentVariable { .. } => return Advice::SetAgentInFile,
            Self::Syntax { .. } | Self::Unreadable { .. } => return Advice::ValidateConfiguration,
            Self::UnknownKey { suggestion, .. } | Self::UnknownVariable { suggestion, .. } => suggestion.to_string(),
            Self::NotForRepositories { key, .. } => {
                format!("set `{key}` in your own file, `$XDG_CONFIG_HOME/spinney/config.toml`")
            }
            Self::Contradiction { second, .. } => format!("unset `{second}`"),
            Self::WrongValue { key, .. } if key.ends_with("workspace.path") => {
                "for example `{home}/trees/{account}/{owner}/{repo}/{id}`".to_owned()
            }
            Self::AgentName { .. } => "for example `[agents.coder]`".to_owned(),
            Self::ScheduleName { .. } => "for example `[agents.coder.schedules.nightly]`".to_owned(),
            Self::Agent { agent, key, .. } => format!("change or remove `agents.{agent}.{key}`"),
            Self::WrongType { default: Some(default), .. } | Self::WrongValue { default: Some(default), .. } => {
                format!("by default it is `{default}`")
            }
            Self::WrongType { key, .. } | Self::WrongValue { key, .. } => match find(Schema::own(), key) {
                Some(known) if known.overrides => format!("by default it is what `{}` says", known.key),
                Some(known) => format!("by default it is `{}`", known.default),
                None => format!("a section begins with `[{key}]`"),
            },
        })
    }
}

/// Keeps a text on one line.
pub(super) fn one_line(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
