//! What somebody trusts a repository with.

use serde::Serialize;
use spinney_core::{AgentName, CommitId, RepositoryName};
use spinney_git::Executing;

use super::{path_text, texts};

/// A repository's own settings count from now on, until they change.
#[derive(Debug, Clone, Serialize)]
pub struct Trusted {
    /// `owner/name`.
    pub repository: String,
    pub trusted: bool,
    /// What runs in every new workspace.
    pub setup: Vec<String>,
    /// The agents that it says something about.
    pub agents: Vec<String>,
    /// What git runs because the repository's own configuration says so.
    pub settings: Vec<TrustedSetting>,
}

impl Trusted {
    #[must_use]
    pub fn of(repository: &RepositoryName, setup: &[String], agents: &[AgentName], settings: &[Executing]) -> Self {
        Self {
            repository: repository.to_string(),
            trusted: true,
            setup: setup.to_vec(),
            agents: texts(agents),
            settings: settings.iter().map(TrustedSetting::of).collect(),
        }
    }
}

/// A setting of git that runs something.
#[derive(Debug, Clone, Serialize)]
pub struct TrustedSetting {
    pub key: String,
    pub value: String,
    /// Where it is written.
    pub file: String,
}

impl TrustedSetting {
    fn of(setting: &Executing) -> Self {
        Self { key: setting.key.clone(), value: setting.value.clone(), file: path_text(&setting.file) }
    }
}

/// One commit whose files `setup` may run with, though a stranger wrote them.
#[derive(Debug, Clone, Serialize)]
pub struct TrustedCommit {
    /// `owner/name`.
    pub repository: String,
    pub trusted: bool,
    pub commit: String,
    pub setup: Vec<String>,
}

impl TrustedCommit {
    #[must_use]
    pub fn of(repository: &RepositoryName, commit: &CommitId, setup: &[String]) -> Self {
        Self { repository: repository.to_string(), trusted: true, commit: commit.to_string(), setup: setup.to_vec() }
    }
}
