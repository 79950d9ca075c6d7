//! Everything that can go wrong with jobs, what kind of failure it is, and what helps.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use spinney_core::config::ConfigError;
use spinney_core::names::for_message;
use spinney_core::{
    Advice, AgentName, BranchName, CommitId, Dropped, ForgeError, Held, JobId, JobStatus, RepositoryName, WorkspaceName,
};
use spinney_engine::ErrorKind;
use spinney_git::without_credentials;
use spinney_store::OwnershipError;

use crate::sources::SourceFault;
use crate::told::BranchOwner;

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
    #[error("agent `{name}` comes from the repository's `spinney.toml`, which is not trusted yet")]
    UntrustedAgent { name: String },
    #[error("agent `{agent}` works on {place} (its `working_directory`), not on `{repository}`")]
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
    #[error("schedule `{name}` of agent `{agent}` exists in each of {}", .repositories.join(", "))]
    AmbiguousSchedule { agent: String, name: String, repositories: Vec<String> },
    #[error("`{}`, which agent `{agent}` works on, is not cloned yet", without_credentials(.url))]
    NotClonedYet { agent: String, url: String },
    #[error("its work source can't be used: {0}")]
    Source(SourceFault),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error("`{}`, the program of agent `{agent}`, was not found", for_message(.program))]
    ProgramMissing { agent: AgentName, program: String, install: Option<&'static str> },
    #[error(
        "agent `{agent}` gets `{name}` from the variable `{variable}` of Spinney's own environment, which is not set there"
    )]
    VariableMissing { agent: AgentName, name: String, variable: String },
    #[error("the job's process could not be started")]
    Start { source: io::Error },
    #[error("the prompt has {bytes} bytes, and {most} is the most")]
    PromptTooLong { bytes: usize, most: usize },
    #[error("agent `{agent}` works on `{url}`, which is not cloned yet")]
    NeverCloned { agent: AgentName, url: String },
    #[error("agent `{agent}` works in a directory of the home's owner")]
    OwnersDirectory { agent: AgentName },
    #[error("agent `{agent}` works on any repository, and its schedule names none")]
    AnyRepository { agent: AgentName },
    #[error("job {id} has no delivery that is held")]
    NotHeld { id: JobId },
    #[error("job {id} is {status}: only the agent of a running job asks for others")]
    ParentOver { id: JobId, status: JobStatus },
    #[error("job {id} was asked for by the agent of another job, and may ask for none itself")]
    ChildOfChild { id: JobId },
    #[error("job {id} has asked for {most} jobs already, and may ask for no more")]
    TooManyChildren { id: JobId, most: usize },
    #[error("job {id} itself works on {what}: a second job for it would wait until job {id} ends")]
    ParentsPlace { id: JobId, what: String },
    #[error("{repository} has no remote to push to")]
    NowhereToPush { repository: RepositoryName },
    #[error("the push would go to `{now}` instead of `{before}`, where it went before the last job in the workspace")]
    PushesElsewhere { now: String, before: String },
    #[error("a pull request is wanted, and the remote of {repository} is on no forge that is configured")]
    NoForge { repository: RepositoryName },
    #[error("HEAD of {workspace} is on `{branch}`, which is {owner}: nothing is committed or pushed there")]
    NotOwnBranch { workspace: WorkspaceName, branch: BranchName, owner: BranchOwner },
    #[error("HEAD of {workspace} is on no branch at {}, and lacks commits of `{branch}`", .at.short())]
    LacksCommits { workspace: WorkspaceName, at: CommitId, branch: BranchName },
    #[error("{}", held_back(.workspace, .held, .dropped.as_deref()))]
    HeldBack { workspace: WorkspaceName, held: Box<Held>, dropped: Option<Box<Dropped>> },
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
            Self::Config(_)
            | Self::NoAgent { .. }
            | Self::WorksElsewhere { .. }
            | Self::PromptTooLong { .. }
            | Self::ProgramMissing { .. }
            | Self::VariableMissing { .. }
            | Self::NeverCloned { .. }
            | Self::OwnersDirectory { .. }
            | Self::AnyRepository { .. }
            | Self::NotHeld { .. }
            | Self::NowhereToPush { .. }
            | Self::NoForge { .. } => ErrorKind::Usage,
            Self::UntrustedAgent { .. }
            | Self::ParentOver { .. }
            | Self::ChildOfChild { .. }
            | Self::TooManyChildren { .. }
            | Self::ParentsPlace { .. } => ErrorKind::Blocked,
            Self::UnknownAgent { .. }
            | Self::UnknownJob { .. }
            | Self::AmbiguousJob { .. }
            | Self::UnknownSchedule { .. }
            | Self::AmbiguousSchedule { .. } => ErrorKind::NotFound,
            Self::Held { .. } => ErrorKind::Held,
            Self::NotEnded { .. } => ErrorKind::Held,
            Self::NotRunning { .. }
            | Self::OtherNode { .. }
            | Self::NotClonedYet { .. }
            | Self::NotOwnBranch { .. }
            | Self::LacksCommits { .. }
            | Self::PushesElsewhere { .. }
            | Self::HeldBack { .. } => ErrorKind::Blocked,
            Self::Files { .. } | Self::Start { .. } | Self::Source(_) | Self::Forge(_) => ErrorKind::Failed,
        }
    }

    /// What helps.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Config(error) => vec![error.advice()],
            Self::PromptTooLong { .. } => vec![Advice::PutPromptIntoFile],
            Self::ProgramMissing { agent, install, .. } => {
                vec![Advice::InstallProgram { agent: agent.clone(), command: install.map(ToOwned::to_owned) }]
            }
            Self::VariableMissing { agent, name, variable } => vec![Advice::Configuration(format!(
                "set it where Spinney runs: `export {variable}=…`; or change `agents.{agent}.env.{name}`, where `$${variable}` \
                 is the text `${variable}`"
            ))],
            Self::NeverCloned { url, .. } => vec![Advice::CloneForAgent { url: url.clone() }],
            Self::OwnersDirectory { .. } => vec![Advice::GiveAgentOwnWorkspaces],
            Self::AnyRepository { agent } => vec![Advice::Configuration(format!(
                "set `agents.{agent}.working_directory` to the path of a repository, or write the schedule into its \
                 `spinney.toml`"
            ))],
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
            Self::NotRunning { id, .. } | Self::NotHeld { id } => vec![Advice::Retry { job: id.clone() }],
            Self::NowhereToPush { .. } => vec![Advice::AddRemote],
            Self::NoForge { .. } => vec![Advice::NameForge],
            Self::PushesElsewhere { .. } => vec![Advice::AcceptRemote],
            Self::NotOwnBranch { workspace, .. } | Self::LacksCommits { workspace, .. } => {
                vec![Advice::SeeStatusOf { workspace: workspace.clone() }]
            }
            Self::HeldBack { workspace, held, dropped } => {
                let merge_back = |dropped: &Dropped| Advice::MergeBack {
                    workspace: workspace.clone(),
                    refs: dropped.refs.join(" "),
                };
                let commit = held.commit.clone();
                let accept = Advice::DeliverHeld { workspace: workspace.clone(), commit };
                let take_out = (!held.copied.is_empty()).then_some(Advice::TakeOutCopied);
                take_out.into_iter().chain(dropped.as_deref().map(merge_back)).chain([accept]).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// How many files or commits are named.
const NAMED: usize = 5;

fn held_back(workspace: &WorkspaceName, held: &Held, dropped: Option<&Dropped>) -> String {
    let mut parts = Vec::new();
    if let Some(first) = held.copied.first() {
        let paths: BTreeSet<&str> = held.copied.iter().map(|file| file.path.as_str()).collect();
        parts.push(format!(
            "commits of {workspace} have files that Spinney copied from the main checkout: {} (first in {})",
            named(paths.iter().map(|path| format!("`{}`", for_message(path))).collect()),
            first.commit.short()
        ));
    }
    if let Some(dropped) = dropped {
        let commits = dropped.commits.iter();
        let commits = commits.map(|one| format!("{} ({})", one.commit.short(), for_message(&one.subject))).collect();
        parts.push(format!("the branch of {workspace} lost commits that no remote has: {}", named(commits)));
    }
    format!("{}; nothing is pushed", parts.join("; "))
}

fn named(mut items: Vec<String>) -> String {
    let more = items.len().saturating_sub(NAMED);
    items.truncate(NAMED);
    if more > 0 {
        items.push(format!("{more} more"));
    }
    items.join(", ")
}

impl fmt::Display for BranchOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => formatter.write_str("its base"),
            Self::CheckedOutAt(path) => write!(formatter, "checked out at `{}` too", path.display()),
            Self::Workspace(name) => write!(formatter, "the branch of {name}"),
            Self::Remote(name) => write!(formatter, "a branch that `{name}` has already"),
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
        names => format!("configured: {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}
