//! Processes that jobs ask for: one for each job, and those for work that goes on beside it.
//!
//! How a process is started, and how one is recognised, is the affair of whoever opens the jobs: a [`Launcher`].

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Child;

use spinney_core::{JobId, RepositoryName};
use spinney_engine::Engine;
use spinney_engine::executor::spare;
use spinney_store::Owned;

use crate::{Error, Jobs, Result};

/// An environment: names and values.
pub type Variables = Vec<(OsString, OsString)>;

/// Starts processes that do what jobs ask for, and recognises them.
pub trait Launcher: Debug + Send + Sync {
    /// Starts the process that calls [`Jobs::run`] for a job, in a session of its own: neither in the group of an agent,
    /// which is ended as a whole, nor at a terminal. It outlives the process that started it.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    fn start_job(&self, engine: &Engine, start: JobStart<'_>) -> io::Result<()>;

    /// Starts the process that calls [`Jobs::supervise`], like that of a job: in a session of its own, with the lock of the
    /// queue as its standard input. It outlives the process that started it.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    fn start_supervisor(&self, engine: &Engine, lock: File) -> io::Result<()>;

    /// The environment that the process of a job gets which is started from here.
    fn environment(&self, engine: &Engine) -> Variables;

    /// Starts a process that does a chore and leaves: not with a job, but when it is done.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    fn start_chore(&self, engine: &Engine, chore: Chore<'_>) -> io::Result<Child>;

    /// Which job a process was started for, judged by its command line; none for any other process.
    fn job_of(&self, command_line: &[&[u8]]) -> Option<StartedJob>;

    /// The home whose queue a process was started for, judged by its command line; none for any other process.
    fn queue_of(&self, _command_line: &[&[u8]]) -> Option<PathBuf> {
        None
    }
}

/// What the process of a job is started with.
#[derive(Debug)]
pub struct JobStart<'a> {
    pub id: &'a JobId,
    /// The job's lock: the process has it as its standard input, and keeps it from then on.
    pub lock: File,
    /// Where the process writes its standard error: what it says before it can write its log, or when it breaks.
    pub last_words: File,
    /// The environment of whoever asked for the job, as [`Launcher::environment`] told it there; none: that of the engine.
    pub environment: Option<&'a Variables>,
}

/// A job that a process was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedJob {
    pub home: PathBuf,
    pub id: JobId,
}

/// Work that goes on beside a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore<'a> {
    /// Fill the pool of a repository.
    FillPool { repository: &'a RepositoryName },
    /// Purge what is due in the trash.
    PurgeTrash,
}

impl Jobs<'_> {
    /// Starts the process of a job, which keeps the lock from here on.
    pub(crate) fn launch(&self, job: &JobId, owned: &Owned) -> Result<()> {
        self.launch_in(job, owned, None)
    }

    /// The same, in the environment of whoever asked for the job.
    pub(crate) fn launch_in(&self, job: &JobId, owned: &Owned, environment: Option<&Variables>) -> Result<()> {
        spinney_engine::expect_patience("a job's process is started");
        let place = self.places.last_words(job);
        let mut options = File::options();
        let opened = options.create(true).write(true).truncate(true).mode(0o600).open(&place);
        let last_words = opened.map_err(|source| Error::files(&place, "opened", source))?;
        let start = JobStart { id: job, lock: owned.carrier()?, last_words, environment };
        self.launcher.start_job(self.engine, start).map_err(|source| Error::Start { source })
    }

    /// Starts a chore that goes on when the job of this process is over.
    pub(crate) fn launch_beside(&self, chore: Chore<'_>) -> Result<()> {
        spare(self.launcher.start_chore(self.engine, chore).map_err(|source| Error::Start { source })?);
        Ok(())
    }
}
