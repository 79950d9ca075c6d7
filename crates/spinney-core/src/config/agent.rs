//! An agent as typed values. Its keys are those of `agent.toml` and, under `workspace`, those of `[workspace]`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::branch_pattern::BranchPattern;
use super::forge::VariableName;
use super::mcp_server::McpServers;
use super::schedule::ScheduleConfig;
use super::schema::WorkspaceConfig;
use super::template::{CommitPlaceholder, PullRequestPlaceholder, Template};
use super::working_directory::WorkingDirectory;
use super::{agent_values, values};
use crate::names::for_message;
use crate::quantity::{Share, Span};
use crate::workspace::words;
use crate::{RuntimeName, ScheduleName};

/// A worker: a runtime, a prompt, a workspace policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    pub runtime: RuntimeName,
    /// The program and its arguments; empty: the runtime's own.
    #[serde(deserialize_with = "agent_values::command")]
    pub command: Vec<String>,
    /// None: the runtime's own choice.
    #[serde(with = "agent_values::model")]
    pub model: Option<String>,
    #[serde(deserialize_with = "agent_values::prompt")]
    pub system_prompt: String,
    /// One of the runtime's own words; none: the runtime's own choice.
    #[serde(with = "agent_values::permission_mode")]
    pub permission_mode: Option<String>,
    #[serde(deserialize_with = "agent_values::tools")]
    pub allowed_tools: Vec<String>,
    #[serde(deserialize_with = "agent_values::tools")]
    pub disallowed_tools: Vec<String>,
    pub env: Variables,
    /// What it gets of Spinney's own environment, beside what everything gets.
    pub pass: Vec<VariableName>,
    pub mcp_servers: McpServers,
    /// False: it only reads, in a shared checkout of base.
    pub requires_isolation: bool,
    pub working_directory: WorkingDirectory,
    /// Zero: bounded by `limits.max_workers` alone.
    #[serde(deserialize_with = "values::number")]
    pub max_concurrent: u32,
    #[serde(deserialize_with = "values::at_least_one")]
    pub max_attempts: u32,
    /// Zero: no limit.
    pub timeout: Span,
    /// Of the context window; zero: never.
    pub handoff_at: Share,
    pub workspace: AgentWorkspace,
    pub hooks: AgentHooks,
    /// Not a part of the default file: each is read by itself, upon the defaults of `schedule.toml`.
    #[serde(skip)]
    pub schedules: BTreeMap<ScheduleName, ScheduleConfig>,
}

/// What becomes of the workspaces of an agent's jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWorkspace {
    /// `[workspace]`, with what this agent overrides.
    #[serde(flatten)]
    pub settings: WorkspaceConfig,
    pub branch_pattern: BranchPattern,
    pub fetch_before_setup: bool,
    #[serde(deserialize_with = "agent_values::message")]
    pub commit_message: Template<CommitPlaceholder>,
    pub push_on_success: bool,
    #[serde(deserialize_with = "values::word")]
    pub on_push_failure: OnPushFailure,
    pub create_pr: bool,
    #[serde(deserialize_with = "agent_values::title")]
    pub pr_title: Template<PullRequestPlaceholder>,
    pub pr_body: Template<PullRequestPlaceholder>,
    pub keep: Keep,
    #[serde(deserialize_with = "values::word")]
    pub on_dirty: OnDirty,
    /// Whether a failed job's workspace goes to the trash.
    pub cleanup_on_failure: bool,
}

/// Shell lines around a job, with no character that would hide from a person what they do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentHooks {
    #[serde(deserialize_with = "values::shell_lines")]
    pub before_run: Vec<String>,
    #[serde(deserialize_with = "values::shell_lines")]
    pub after_run: Vec<String>,
    #[serde(deserialize_with = "values::shell_lines")]
    pub on_error: Vec<String>,
}

words!(
    /// What to do when a branch can't be pushed.
    OnPushFailure {
        /// Again a few times, then fail.
        Retry = "retry",
        Fail = "fail",
        /// The job is completed, not pushed.
        Warn = "warn",
    }
);

words!(
    /// What to do with uncommitted work that was there before a job.
    OnDirty {
        /// It stays as it is, and out of the agent's commit.
        Keep = "keep",
        /// The job does not start.
        Refuse = "refuse",
        /// It is committed with what the agent left. What Spinney copied is not.
        Commit = "commit",
    }
);

/// How long a workspace stays after its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Keep {
    /// A workspace of kind `job` until it is delivered, every other until its work closes.
    Auto,
    UntilDelivered,
    UntilClosed,
    For(Span),
}

/// A text that says nothing about how long to keep a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is none of `auto`, `until_delivered`, `until_closed`, nor a span of time such as `24h`", for_message(.0))]
pub struct InvalidKeep(pub String);

impl FromStr for Keep {
    type Err = InvalidKeep;

    fn from_str(text: &str) -> Result<Self, InvalidKeep> {
        match text {
            "auto" => Ok(Self::Auto),
            "until_delivered" => Ok(Self::UntilDelivered),
            "until_closed" => Ok(Self::UntilClosed),
            span => span.parse().map(Self::For).map_err(|_| InvalidKeep(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Keep {
    type Error = InvalidKeep;

    fn try_from(text: String) -> Result<Self, InvalidKeep> {
        text.parse()
    }
}

impl From<Keep> for String {
    fn from(keep: Keep) -> Self {
        keep.to_string()
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::UntilDelivered => f.write_str("until_delivered"),
            Self::UntilClosed => f.write_str("until_closed"),
            Self::For(span) => span.fmt(f),
        }
    }
}

/// Environment variables with their values, which are not shown: people put keys there.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Variables(#[serde(deserialize_with = "agent_values::variables")] BTreeMap<VariableName, String>);

impl Variables {
    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_reads_and_prints() {
        for text in ["auto", "until_delivered", "until_closed", "6h", "0"] {
            assert_eq!(text.parse::<Keep>().unwrap().to_string(), text);
        }
        for text in ["", "Auto", "24", "until_merged"] {
            assert!(text.parse::<Keep>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_values_of_variables_are_not_shown() {
        let variables: Variables = toml::from_str("KEY = 's3cret'\nA = 'b'").unwrap();
        assert_eq!(variables.iter().collect::<Vec<_>>(), [("A", "b"), ("KEY", "s3cret")]);
        assert!(!variables.is_empty() && !format!("{variables:?}").contains("s3cret"));
    }
}
