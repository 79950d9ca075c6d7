//! Starts this very program again: as a job's process, or for work that goes on beside a job or a command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use process_wrap::tokio::{CommandWrap, ProcessSession};
use spinney_core::JobId;
use spinney_engine::Engine;
use spinney_jobs::{Chore, JobStart, Launcher, StartedJob, Variables};

/// The hidden command that a job's process runs.
pub const JOB_COMMAND: &str = "job-run";

/// The hidden command that the supervisor of the queue runs.
pub const QUEUE_COMMAND: &str = "job-queue";

/// The option that names the home.
const HOME_OPTION: &str = "--home";
/// The option that names the configuration file, and the variable that does so too.
const CONFIG_OPTION: &str = "--config";
const CONFIG_VARIABLE: &str = "SPINNEY_CONFIG";

/// How this program is started again.
#[derive(Debug, Clone)]
pub struct OwnProgram {
    pub program: PathBuf,
    /// What comes before the command.
    pub arguments: Vec<OsString>,
}

impl OwnProgram {
    /// A program that works on a home, under a configuration file if one was named.
    #[must_use]
    pub fn on(program: PathBuf, home: &Path, config: Option<&Path>) -> Self {
        let mut arguments: Vec<OsString> = vec!["--quiet".into(), HOME_OPTION.into(), home.into()];
        // A relative path is meant from here, not from where that process runs.
        arguments.extend(config.into_iter().flat_map(|config| {
            let absolute = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
            [CONFIG_OPTION.into(), absolute.into()]
        }));
        Self { program, arguments }
    }

    /// This program with a hidden command, in a session of its own. Where an environment is given, that is used, with the
    /// configuration file that it names; else those of the engine.
    fn hidden(&self, engine: &Engine, command: &[&str], given: Option<&Variables>) -> tokio::process::Command {
        #[expect(clippy::disallowed_methods, reason = "this very program, as the process of one job or of the queue")]
        let mut process = tokio::process::Command::new(&self.program);
        match given {
            Some(given) => {
                let config = self.config().map(|(place, _)| place..place + 2).unwrap_or_default();
                let others = self.arguments.iter().enumerate().filter(|(place, _)| !config.contains(place));
                process.args(others.map(|(_, argument)| argument)).env_clear().envs(given.iter().cloned());
            }
            None => {
                process.args(&self.arguments).env_clear().envs(environment(engine));
            }
        }
        process.args(command).current_dir(engine.home().root()).stdout(Stdio::null());
        process
    }

    /// The configuration file that was named, and where among the arguments.
    fn config(&self) -> Option<(usize, &OsStr)> {
        let place = self.arguments.iter().position(|argument| argument == CONFIG_OPTION)?;
        Some((place, self.arguments.get(place + 1)?))
    }

    /// Starts another command in a process group of its own, which says nothing, does its work and leaves.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    pub fn start_command(&self, engine: &Engine, arguments: &[&str]) -> io::Result<Child> {
        #[expect(clippy::disallowed_methods, reason = "this very program, which does its work and leaves")]
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments).args(arguments).args(["--account", engine.account()]);
        command.current_dir(engine.home().root()).env_clear().envs(environment(engine));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn()
    }
}

impl Launcher for OwnProgram {
    /// The process has the environment that the engine has, but for what another job may have told there.
    fn start_job(&self, engine: &Engine, start: JobStart<'_>) -> io::Result<()> {
        let mut command = self.hidden(engine, &[JOB_COMMAND, start.id.as_str()], start.environment);
        command.stdin(start.lock).stderr(start.last_words);
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        // While whoever started it lives, it is waited for in the background.
        command.spawn().map(drop)
    }

    fn start_supervisor(&self, engine: &Engine, lock: File) -> io::Result<()> {
        let mut command = self.hidden(engine, &[QUEUE_COMMAND], None);
        command.stdin(lock).stderr(Stdio::null());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        command.spawn().map(drop)
    }

    fn environment(&self, engine: &Engine) -> Variables {
        let mut variables: Variables = environment(engine).collect();
        if let Some((_, config)) = self.config() {
            variables.retain(|(name, _)| name != CONFIG_VARIABLE);
            variables.push((CONFIG_VARIABLE.into(), config.to_owned()));
        }
        variables
    }

    fn start_chore(&self, engine: &Engine, chore: Chore<'_>) -> io::Result<Child> {
        match chore {
            Chore::FillPool { repository } => {
                self.start_command(engine, &["--repo", &repository.to_string(), "pool", "fill", "--background"])
            }
            Chore::PurgeTrash => self.start_command(engine, &["trash", "purge", "--background"]),
        }
    }

    fn job_of(&self, command_line: &[&[u8]]) -> Option<StartedJob> {
        let [.., command, id] = command_line else { return None };
        if *command != JOB_COMMAND.as_bytes() {
            return None;
        }
        let id: JobId = std::str::from_utf8(id).ok()?.parse().ok()?;
        Some(StartedJob { home: home_of(command_line)?, id })
    }

    fn queue_of(&self, command_line: &[&[u8]]) -> Option<PathBuf> {
        let is_it = command_line.last().is_some_and(|command| *command == QUEUE_COMMAND.as_bytes());
        is_it.then(|| home_of(command_line)).flatten()
    }
}

/// The home that a command line names.
fn home_of(command_line: &[&[u8]]) -> Option<PathBuf> {
    let home = command_line.windows(2).find(|pair| pair[0] == HOME_OPTION.as_bytes())?[1];
    Some(OsStr::from_bytes(home).into())
}

fn environment(engine: &Engine) -> impl Iterator<Item = (OsString, OsString)> {
    engine.environment().iter().filter(|(name, _)| !is_of_a_job(name)).cloned()
}

fn is_of_a_job(name: &OsStr) -> bool {
    name.to_str().is_some_and(spinney_core::variables::is_told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_a_job_is_known_by_its_command_line() {
        let own = OwnProgram::on("/bin/spinney".into(), Path::new("/home"), Some(Path::new("/c.toml")));
        let id = JobId::generate();
        let mut line: Vec<&[u8]> = vec![b"/bin/spinney"];
        line.extend(own.arguments.iter().map(|argument| argument.as_bytes()));
        line.extend([JOB_COMMAND.as_bytes(), id.as_str().as_bytes()]);
        assert_eq!(own.job_of(&line), Some(StartedJob { home: "/home".into(), id: id.clone() }));
        for other in [&line[..line.len() - 1], &[b"job-run", b"x"], &[b"sh"], &[]] {
            assert_eq!(own.job_of(other), None);
        }
        let before = line.len() - 2;
        line.truncate(before);
        line.push(QUEUE_COMMAND.as_bytes());
        assert_eq!((own.job_of(&line), own.queue_of(&line)), (None, Some("/home".into())));
        assert_eq!(own.queue_of(&line[..before]), None);
    }
}
