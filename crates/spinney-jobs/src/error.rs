//! Everything that can go wrong with jobs, what kind of failure it is, and what helps.

use std::io;
use std::path::{Path, PathBuf};

use spinney_core::config::ConfigError;
use spinney_core::names::for_message;
use spinney_core::{Advice, ForgeError, JobId, JobStatus};
use spinney_engine::ErrorKind;
use spinney_git::without_credentials;
use spinney_store::OwnershipError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(#[from] spinney_engine::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("`{}` can't be {doing}", .path.display())]
    Files { path: PathBuf, doing: &'static str, source: io::Error },
    #[error("no agent is called `{}`; {}", for_message(.name), listed(.known))]
    UnknownAgent { name: String, known: Vec<String> },
    #[error("no agent is named; {}", listed(.known))]
    NoAgent { known: Vec<String> },
    #[error("agent `{name}` is the repository's own, and nobody trusted it yet")]
    UntrustedAgent { name: String },
    #[error("agent `{agent}` works on {place}, by its `working_directory`, and not on `{repository}`")]
    WorksElsewhere { agent: String, repository: String, place: String },
    #[error("{what} is being worked on by job {job} (`{agent}`, {status})")]
    Held { what: String, job: JobId, agent: String, status: JobStatus },
    #[error("no job is called `{}`", for_message(.name))]
    UnknownJob { name: String },
    #[error("`{}` could be any of {}", for_message(.name), .candidates.join(", "))]
    AmbiguousJob { name: String, candidates: Vec<String> },
    #[error("job {id} is {status}, and there is nothing to cancel")]
    NotRunning { id: JobId, status: JobStatus },
    #[error("job {id} is {status}: it can be tried again once it has ended")]
    NotEnded { id: JobId, status: JobStatus },
    #[error("job {id} runs on another machine")]
    OtherNode { id: JobId },
    #[error("no schedule of agent `{}` is called `{}`", for_message(.agent), for_message(.name))]
    UnknownSchedule { agent: String, name: String },
    #[error("schedule `{name}` of agent `{agent}` is one of each of {}", .repositories.join(", "))]
    AmbiguousSchedule { agent: String, name: String, repositories: Vec<String> },
    #[error("`{}`, which agent `{agent}` works on, is not cloned yet", without_credentials(.url))]
    NotClonedYet { agent: String, url: String },
    #[error("its work source can't be used: {message}")]
    Source { message: String },
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("the job's process could not be started")]
    Start { source: io::Error },
    #[error("{message}")]
    Refused { message: String, advice: Advice },
}

impl From<OwnershipError> for Error {
    fn from(OwnershipError { path, doing, source }: OwnershipError) -> Self {
        Self::Files { path, doing, source }
    }
}

impl Error {
    pub(crate) fn files(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Files { path: path.to_owned(), doing, source }
    }

    /// What the failure means to whoever asked.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Config(_) | Self::NoAgent { .. } | Self::WorksElsewhere { .. } | Self::Refused { .. } => {
                ErrorKind::Usage
            }
            Self::UntrustedAgent { .. } => ErrorKind::Blocked,
            Self::UnknownAgent { .. }
            | Self::UnknownJob { .. }
            | Self::AmbiguousJob { .. }
            | Self::UnknownSchedule { .. }
            | Self::AmbiguousSchedule { .. } => ErrorKind::NotFound,
            Self::Held { .. } => ErrorKind::Held,
            Self::NotEnded { .. } => ErrorKind::Held,
            Self::NotRunning { .. } | Self::OtherNode { .. } | Self::NotClonedYet { .. } => ErrorKind::Blocked,
            Self::Files { .. } | Self::Start { .. } | Self::Source { .. } | Self::Forge(_) => ErrorKind::Failed,
        }
    }

    /// What helps.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Config(error) => vec![error.advice()],
            Self::Refused { advice, .. } => vec![advice.clone()],
            Self::WorksElsewhere { repository, .. } => {
                vec![Advice::ChooseAgentOf { repository: repository.clone() }, Advice::NameRepositoryOfAgent]
            }
            Self::UntrustedAgent { .. } => vec![Advice::TrustAgent],
            Self::UnknownAgent { known, .. } | Self::NoAgent { known } if known.is_empty() => {
                vec![Advice::ConfigureAgent]
            }
            Self::NoAgent { .. } => vec![Advice::NameAgent],
            Self::Held { job, .. } => {
                vec![Advice::WaitBehind { job: job.clone() }, Advice::Cancel { job: job.clone() }]
            }
            Self::NotClonedYet { .. } => vec![Advice::DaemonClones],
            Self::AmbiguousSchedule { .. } => vec![Advice::NameRepositoryOfSchedule],
            Self::UnknownJob { .. } => vec![Advice::ListJobs],
            Self::NotEnded { id, .. } => vec![Advice::Cancel { job: id.clone() }],
            Self::NotRunning { id, .. } => vec![Advice::Retry { job: id.clone() }],
            _ => Vec::new(),
        }
    }
}

impl From<spinney_store::Error> for Error {
    fn from(error: spinney_store::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<spinney_git::Error> for Error {
    fn from(error: spinney_git::Error) -> Self {
        Self::Engine(error.into())
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none is configured".to_owned(),
        names => format!("there is {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}
