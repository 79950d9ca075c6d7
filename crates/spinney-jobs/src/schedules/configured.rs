//! Which schedules there are: those that repositories bring themselves, once they are trusted, and the operator's.
//!
//! An operator's agent is one for every repository, so that its `working_directory` must say which one its schedules are
//! for. What is wrong with one is told beside the others, and stops none of them.

use std::fmt;
use std::path::Path;

use spinney_core::config::{AgentConfig, ScheduleConfig};
use spinney_core::{Advice, AgentName, RepositoryName, ScheduleKey, ScheduleName, in_full};
use spinney_engine::Context;

use super::Schedules;
use crate::{Error, Result};

/// The account whose schedules the operator's are: every other brings its own.
const OPERATORS_ACCOUNT: &str = "local";

/// A schedule, and the repository that it is for.
#[derive(Debug, Clone)]
pub(super) struct Configured {
    pub key: ScheduleKey,
    pub repository: RepositoryName,
    pub config: ScheduleConfig,
}

impl Configured {
    /// The agent, which every schedule that is configured has.
    pub fn agent(&self) -> Result<&AgentName> {
        let none = || Error::UnknownSchedule { agent: String::new(), name: self.key.name.to_string() };
        self.key.agent.as_ref().ok_or_else(none)
    }
}

impl fmt::Display for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.key.agent.as_ref().map_or("", AgentName::as_str);
        write!(f, "{} {agent}/{}", self.repository, self.key.name)
    }
}

/// Something that is configured and can't run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where one repository's configuration can't be read: all of its schedules.
    pub repository: Option<RepositoryName>,
    pub agent: Option<AgentName>,
    pub schedule: Option<ScheduleName>,
    pub message: String,
    pub advice: Vec<Advice>,
    /// Whether it stays until somebody does something: a clone that is still to be made does not.
    pub lasts: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.repository.as_ref().map(ToString::to_string), self.agent.as_ref().map(ToString::to_string)];
        let words = words.into_iter().chain([self.schedule.as_ref().map(ToString::to_string)]).flatten();
        write!(f, "{}: {}", words.collect::<Vec<_>>().join("/"), self.message)
    }
}

#[derive(Debug, Default)]
pub(super) struct AllConfigured {
    pub schedules: Vec<Configured>,
    pub problems: Vec<Problem>,
}

impl Schedules<'_> {
    /// Loads what is configured. Who only asks does not wait for clones: a schedule whose clone is still to be made is a
    /// problem, until a tick has made it.
    pub(super) async fn load_configured(&self, clones: bool) -> Result<AllConfigured> {
        let mut found = AllConfigured::default();
        for repository in self.jobs.engine.repositories().await? {
            if !repository.common_dir.exists() {
                continue;
            }
            match self.context(&repository.name).await {
                Ok(context) => self.add_own(&context, &mut found),
                Err(error) => found.problems.push(problem(&error, Some(repository.name), None)),
            }
        }
        if self.jobs.engine.account() == OPERATORS_ACCOUNT {
            self.add_operators(&mut found, clones).await;
        }
        Ok(found)
    }

    pub(super) async fn context(&self, repository: &RepositoryName) -> Result<Context> {
        let engine = self.jobs.engine;
        Ok(engine.find_context(Some(&repository.to_string()), engine.home().root()).await?)
    }

    /// What a repository's own file says.
    fn add_own(&self, context: &Context, found: &mut AllConfigured) {
        for (agent, config) in &context.config().agents {
            let own = |name: &&ScheduleName| context.resolved.is_of_repository(agent, name);
            let own = config.schedules.keys().filter(own);
            found.schedules.extend(own.map(|name| self.configured(context, agent, name, &config.schedules[name])));
        }
    }

    /// What the operator's file says, each of its agents for the repository that it works on.
    async fn add_operators(&self, found: &mut AllConfigured, clones: bool) {
        let agents = self.jobs.engine.config().agents.iter().filter(|(_, config)| !config.schedules.is_empty());
        for (agent, config) in agents {
            match self.repository_of(agent, config, clones).await {
                // The repository may have a word in it too.
                Ok(context) => {
                    let merged = context.config().agents.get(agent).unwrap_or(config);
                    for name in config.schedules.keys() {
                        let Some(schedule) = merged.schedules.get(name) else { continue };
                        let configured = self.configured(&context, agent, name, schedule);
                        if found.schedules.iter().all(|known| known.key != configured.key) {
                            found.schedules.push(configured);
                        }
                    }
                }
                Err(error) => {
                    let names = config.schedules.keys();
                    found.problems.extend(names.map(|name| problem(&error, None, Some((agent, name)))));
                }
            }
        }
    }

    async fn repository_of(&self, agent: &AgentName, config: &AgentConfig, clones: bool) -> Result<Context> {
        let directory = &config.working_directory;
        if let Some(url) = &directory.url {
            if clones {
                return self.jobs.clone_of(agent, directory, url).await;
            }
            let known = self.jobs.known_clone(agent, directory, url).await?;
            return known.ok_or_else(|| Error::NotClonedYet { agent: agent.to_string(), url: url.clone() });
        }
        if !Path::new(&directory.root).is_absolute() {
            return Err(Error::AnyRepository { agent: agent.clone() });
        }
        let engine = self.jobs.engine;
        Ok(engine.find_context(Some(&directory.root), engine.home().root()).await?)
    }

    fn configured(
        &self,
        context: &Context,
        agent: &AgentName,
        name: &ScheduleName,
        config: &ScheduleConfig,
    ) -> Configured {
        let engine = self.jobs.engine;
        let key = ScheduleKey {
            account: engine.account().to_owned(),
            node: engine.home().node().clone(),
            repository_id: Some(context.repository.id.clone()),
            agent: Some(agent.clone()),
            name: name.clone(),
        };
        Configured { key, repository: context.repository.name.clone(), config: config.clone() }
    }
}

fn problem(error: &Error, repository: Option<RepositoryName>, of: Option<(&AgentName, &ScheduleName)>) -> Problem {
    Problem {
        repository,
        agent: of.map(|(agent, _)| agent.clone()),
        schedule: of.map(|(_, name)| name.clone()),
        message: in_full(error),
        advice: error.advice(),
        lasts: !matches!(error, Error::NotClonedYet { .. }),
    }
}
