//! An agent as its jobs see it: its configuration, and the runtime that executes it.

pub(crate) mod program;

use std::path::{Path, PathBuf};

use spinney_core::AgentName;
use spinney_core::account::LOCAL;
use spinney_core::config::{AgentConfig, Config, Resolved, Strategy, WorkingDirectory};
use spinney_engine::Context;
use spinney_git::without_credentials;

use crate::runtime::{Runtime, Settings, Unsupported};
use crate::{Error, Result, runtimes};

#[derive(Debug, Clone)]
pub struct Agent {
    pub name: AgentName,
    pub config: AgentConfig,
    pub runtime: &'static dyn Runtime,
    pub(crate) settings: Settings,
}

impl Agent {
    /// Finds a configured agent that its runtime can execute as configured.
    pub fn find(context: &Context, name: &AgentName) -> Result<Self> {
        let config = context.config();
        let Some(agent) = config.agents.get(name) else {
            let withheld = context.untrusted.as_ref().is_some_and(|untrusted| untrusted.agents.contains(name));
            return Err(match withheld {
                true => Error::UntrustedAgent { name: name.to_string() },
                false => Error::UnknownAgent { name: name.to_string(), known: names(config) },
            });
        };
        let agent = Self::of(&context.resolved, name, agent)?;
        // A directory as it is belongs to the home's owner, and others' jobs have no business there.
        if agent.is_static() && context.repository.account != LOCAL {
            return Err(Error::OwnersDirectory { agent: name.clone() });
        }
        Ok(agent)
    }

    /// An agent that its runtime can execute as configured, wherever it is to work.
    pub(crate) fn of(resolved: &Resolved, name: &AgentName, config: &AgentConfig) -> Result<Self> {
        let (runtime, settings) = check(resolved, name, config)?;
        Ok(Self { name: name.clone(), config: config.clone(), runtime, settings })
    }

    /// Checks every configured agent, so that a mistake is told when it is made.
    pub fn check_all(resolved: &Resolved) -> Result<()> {
        resolved.config.agents.iter().try_for_each(|(name, agent)| check(resolved, name, agent).map(drop))
    }

    /// The agent that is meant when none is named: the only one there is.
    pub fn only(context: &Context) -> Result<AgentName> {
        let config = context.config();
        let withheld = context.untrusted.iter().flat_map(|untrusted| &untrusted.agents);
        match config.agents.keys().collect::<Vec<_>>().as_slice() {
            [only] => Ok((*only).clone()),
            [] => match withheld.into_iter().next() {
                Some(name) => Err(Error::UntrustedAgent { name: name.to_string() }),
                None => Err(Error::NoAgent { known: Vec::new() }),
            },
            _ => Err(Error::NoAgent { known: names(config) }),
        }
    }

    /// Whether its jobs run in a directory as it is.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.config.workspace.settings.strategy == Strategy::Static
    }

    /// The directory that `working_directory` means.
    #[must_use]
    pub fn directory(&self, context: &Context) -> PathBuf {
        let root = context.place();
        let directory = root.join(&self.config.working_directory.root);
        directory.canonicalize().unwrap_or(directory)
    }

    /// The part of the repository that the agent starts in, where `working_directory` is one.
    pub(crate) fn subdirectory(&self, context: &Context) -> Option<PathBuf> {
        let below = self.directory(context).strip_prefix(context.root()?).ok()?.to_owned();
        (!below.as_os_str().is_empty()).then_some(below)
    }

    /// Where it works instead of a repository: another one that its `working_directory` leads to, as far as that can be told
    /// from files alone.
    #[must_use]
    pub fn elsewhere(&self, context: &Context) -> Option<String> {
        let WorkingDirectory { url, root, .. } = &self.config.working_directory;
        let place = match url {
            Some(url) if context.repository.url.as_ref() == Some(url) => return None,
            Some(url) => without_credentials(url),
            None => {
                let place = self.directory(context);
                let is_here = context.root().map_or(Path::new(root).is_relative(), |own| place.starts_with(own));
                let other = if is_here { None } else { spinney_git::Repository::locate(&place) };
                other.filter(|other| other != context.common_dir())?;
                place.display().to_string()
            }
        };
        // Others are not told what there is on the disk of the home's owner.
        Some(if context.repository.account == LOCAL { format!("`{place}`") } else { "another repository".to_owned() })
    }

    /// Refuses a repository that somebody named and that it does not work on.
    pub fn check_repository(&self, context: &Context) -> Result<()> {
        match self.elsewhere(context) {
            None => Ok(()),
            Some(place) => Err(self.works_on(place, context)),
        }
    }

    pub(crate) fn works_on(&self, place: String, context: &Context) -> Error {
        let (agent, repository) = (self.name.to_string(), context.repository.name.to_string());
        Error::WorksElsewhere { agent, repository, place }
    }

    /// What no two of its jobs may share, where that is known before a workspace is.
    pub(crate) fn static_place(&self, context: &Context) -> Option<String> {
        self.is_static().then(|| format!("directory {}", self.directory(context).display()))
    }
}

fn names(config: &Config) -> Vec<String> {
    config.agents.keys().map(ToString::to_string).collect()
}

fn check(resolved: &Resolved, name: &AgentName, agent: &AgentConfig) -> Result<(&'static dyn Runtime, Settings)> {
    let fault = |key: &str, message: String| resolved.agent_error(name, key, message);
    let Some(runtime) = runtimes::find(agent.runtime.as_str()) else {
        let known: Vec<_> = runtimes::all().iter().map(|runtime| format!("`{}`", runtime.name())).collect();
        return Err(fault("runtime", format!("`{}` is none of {}", agent.runtime, known.join(", "))).into());
    };
    let is_set = |key: &str| resolved.agent_place(name, key).is_some();
    let permission_mode = match runtime.reading_mode() {
        _ if is_set("permission_mode") => agent.permission_mode.clone(),
        // It has no modes, and a default that it can't honour is no wish of anybody's.
        None => None,
        Some(mode) if !agent.requires_isolation => Some(mode.to_owned()),
        // What is told as the default is what it gets.
        Some(_) => agent.permission_mode.clone(),
    };
    let settings = Settings {
        command: agent.command.clone(),
        model: agent.model.clone(),
        permission_mode,
        allowed_tools: agent.allowed_tools.clone(),
        disallowed_tools: agent.disallowed_tools.clone(),
        system_prompt: Some(agent.system_prompt.clone()).filter(|text| !text.is_empty()),
        has_mcp_servers: !agent.mcp_servers.is_empty(),
        hands_off: !agent.handoff_at.is_zero() && is_set("handoff_at"),
    };
    match runtime.check(&settings) {
        Ok(()) => Ok((runtime, settings)),
        Err(Unsupported { key, message }) => Err(fault(key, message).into()),
    }
}
