//! Starts this very program again: as a job's process, in a session of its own, with the job's lock as its standard
//! input; or beside a job, for what is to go on when the job is over.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use process_wrap::tokio::{CommandWrap, ProcessSession};
use spinney_core::JobId;
use spinney_engine::Engine;
use tokio::process::Command;

use crate::lock::JobLock;
use crate::{Error, Result, family};

/// The hidden command that a job's process runs.
pub const COMMAND: &str = "job-run";

/// How this program is started again.
#[derive(Debug, Clone)]
pub struct Launcher {
    pub program: PathBuf,
    /// What comes before the command: the home, and the configuration that holds.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// Starts the process of a job, which keeps the lock from here on. What it says before it can write its log, or when
    /// it breaks, goes to the file of its last words. It has the environment that the engine has,
    /// but for what another job may have told there.
    pub(crate) fn start(&self, engine: &Engine, last_words: &Path, job: &JobId, lock: &JobLock) -> Result<()> {
        let mut options = File::options();
        let opened = options.create(true).write(true).truncate(true).mode(0o600).open(last_words);
        let last_words = opened.map_err(|source| Error::files(last_words, "opened", source))?;
        #[expect(clippy::disallowed_methods, reason = "this very program, as the process of one job")]
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(COMMAND).arg(job.as_str()).current_dir(engine.home().root());
        command.env_clear().envs(environment(engine));
        command.stdin(lock.carrier()?).stdout(Stdio::null()).stderr(last_words);
        // In a session of its own from its first moment: neither in the group of an agent, which is ended as a whole, nor
        // at a terminal, where a person types what is not meant for it.
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        // It outlives whoever started it; while that one lives, it is waited for in the background.
        command.spawn().map(drop).map_err(|source| Error::Start { source })
    }
    /// Starts another command of this program, which does its work and leaves: not with the job, but when it is done.
    pub(crate) fn start_beside(&self, engine: &Engine, arguments: &[&str]) -> Result<()> {
        #[expect(clippy::disallowed_methods, reason = "this very program, which does its work and leaves")]
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments).args(arguments).args(["--account", engine.account()]);
        command.current_dir(engine.home().root()).env_clear().envs(environment(engine));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        family::spare(command.spawn().map_err(|source| Error::Start { source })?);
        Ok(())
    }
}

fn environment(engine: &Engine) -> impl Iterator<Item = (OsString, OsString)> {
    engine.environment().iter().filter(|(name, _)| !is_of_a_job(name)).cloned()
}

fn is_of_a_job(name: &OsStr) -> bool {
    name.to_str().is_some_and(spinney_core::variables::is_told)
}
