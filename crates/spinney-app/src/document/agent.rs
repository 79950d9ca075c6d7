//! An agent, as it is configured.

use serde::Serialize;
use spinney_core::AgentName;
use spinney_core::config::AgentConfig;
use spinney_engine::Context;
use utoipa::ToSchema;

use super::Error;

/// An agent of a repository's configuration.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Agent {
    pub name: String,
    /// None while nobody trusted it.
    #[schema(required)]
    pub runtime: Option<String>,
    /// None: the runtime's own choice.
    #[schema(required)]
    pub model: Option<String>,
    #[schema(required)]
    pub limits: Option<AgentLimits>,
    /// The file and line, or the variable, that sets its runtime.
    #[schema(required)]
    pub place: Option<String>,
    /// Why it can't be used.
    #[schema(required)]
    pub problem: Option<String>,
}

/// How many jobs of an agent may run, how often and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct AgentLimits {
    /// Zero: no limit of its own.
    pub max_concurrent: u32,
    pub max_attempts: u32,
    /// Zero: no limit.
    pub timeout_ms: u64,
}

impl AgentLimits {
    fn of(config: &AgentConfig) -> Self {
        let timeout_ms = u64::try_from(config.timeout.0.as_millis()).unwrap_or(u64::MAX);
        Self { max_concurrent: config.max_concurrent, max_attempts: config.max_attempts, timeout_ms }
    }
}

impl Agent {
    /// Tells of every agent of a repository, by name: also of those that can't be used, and why.
    #[must_use]
    pub fn all(context: &Context) -> Vec<Self> {
        let configured = &context.config().agents;
        let untrusted = context.untrusted.iter().flat_map(|untrusted| &untrusted.agents);
        let withheld = untrusted.filter(|name| !configured.contains_key(*name));
        let mut names: Vec<_> = configured.keys().chain(withheld).collect();
        names.sort();
        names.into_iter().map(|name| Self::of(context, name)).collect()
    }

    /// The same without those that work on another repository: a form for this one does not offer them.
    #[must_use]
    pub fn offered(context: &Context) -> Vec<Self> {
        let works_here = |agent: &Self| {
            let found = agent.name.parse().ok().and_then(|name| spinney_jobs::Agent::find(context, &name).ok());
            found.is_none_or(|found| found.elsewhere(context).is_none())
        };
        Self::all(context).into_iter().filter(works_here).collect()
    }

    fn of(context: &Context, name: &AgentName) -> Self {
        let config = context.config().agents.get(name);
        let problem = spinney_jobs::Agent::find(context, name).and_then(|agent| agent.check_repository(context)).err();
        Self {
            name: name.to_string(),
            runtime: config.map(|config| config.runtime.to_string()),
            model: config.and_then(|config| config.model.clone()),
            limits: config.map(AgentLimits::of),
            place: context.resolved.agent_place(name, "runtime").map(str::to_owned),
            problem: problem.as_ref().map(|error| Error::message_of(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::assert_described;

    #[test]
    fn an_agent_is_what_its_schema_says() {
        let limits = AgentLimits { max_concurrent: 0, max_attempts: 2, timeout_ms: 1000 };
        let full = Agent {
            name: "coder".to_owned(),
            runtime: Some("claude".to_owned()),
            model: Some("opus".to_owned()),
            limits: Some(limits),
            place: Some("config.toml:3".to_owned()),
            problem: None,
        };
        let bare = Agent {
            runtime: None,
            model: None,
            limits: None,
            place: None,
            problem: Some("nobody trusted it yet".to_owned()),
            ..full.clone()
        };
        assert_described(&full, &bare);
        assert_described(&limits, &limits);
    }
}
