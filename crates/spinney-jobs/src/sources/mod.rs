//! Where schedules take their work from: places with items, each of which one job takes, does, and gives back or ends.
//!
//! The store knows who holds an item among those who share it; a source's own claim is what keeps everybody else away.
//! Every step can be taken again: what was done is found done, so that a claim whose holder died is settled by whoever
//! looks next.

mod board;
mod fault;
mod file;
mod github;
mod issues;
mod linear;
mod marker;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use spinney_core::config::WorkSourceConfig;
use spinney_core::{AgentName, Job, JobId, ScheduleName, Work};
use spinney_engine::{Context, Engine};

use crate::Result;
use crate::told::{GivenBack, Words};

pub use fault::SourceFault;
pub use file::FileSource;
pub use issues::IssueSource;

/// Something that is being done at a source.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A place with items of work.
pub trait WorkSource: fmt::Debug + Send + Sync {
    /// The place: the same text for all who mean the same one.
    fn name(&self) -> &str;

    /// The items that somebody may take, in the order in which they are to be taken.
    fn load_ready(&self) -> Doing<'_, Vec<Item>>;

    /// Takes an item for a job, and tells at the item where the job is; `false` when somebody else has it.
    fn claim<'a>(&'a self, item: &'a Item, ticket: &'a Ticket) -> Doing<'a, bool>;

    /// Gives an item back, if it is the job's, so that somebody may take it again.
    fn release<'a>(&'a self, item: &'a str, ticket: &'a Ticket, why: GivenBack) -> Doing<'a, ()>;

    /// Ends an item, if it is the job's: the job is done.
    fn finish<'a>(&'a self, item: &'a str, ticket: &'a Ticket, job: &'a Job) -> Doing<'a, ()>;
}

/// Something to be done. What it says was written by anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name at the source.
    pub key: String,
    pub title: String,
    pub text: String,
    /// None where the source has no word for it: a job is its own work then.
    pub work: Option<Work>,
}

impl Item {
    /// What an agent is asked.
    #[must_use]
    pub fn prompt(&self) -> String {
        format!("{}\n\n{}", self.title, self.text.trim()).trim().to_owned()
    }
}

/// Who takes an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Known before the job is recorded.
    pub job: JobId,
    pub agent: AgentName,
    pub schedule: ScheduleName,
    /// Where people can look at the job.
    pub link: Option<String>,
}

/// Opens the source that a schedule names, for the repository that its agent works on.
pub async fn open(
    engine: &Engine,
    context: &Context,
    config: &WorkSourceConfig,
    words: &Arc<dyn Words>,
) -> Result<Box<dyn WorkSource>> {
    Ok(match config {
        WorkSourceConfig::Github(config) => Box::new(github::open(engine, context, config, words.clone()).await?),
        WorkSourceConfig::Linear(config) => Box::new(linear::open(engine, config, words.clone())?),
        WorkSourceConfig::File(config) => Box::new(FileSource::open(engine, context, config).await?),
    })
}
