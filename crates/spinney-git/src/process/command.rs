//! One git process: how it is built, run, bounded and ended.
//!
//! Invariants: the environment is cleared and set anew, without the caller's secrets unless they are asked for; stdin is empty unless bytes are given; the process leads its
//! own group, and the whole group is killed when the time is up or the caller goes away; a process that holds a
//! repository's lock inherits its descriptor, so that the lock outlives us for as long as the process does. A process in the
//! jail has nothing of the caller's environment, and its failures are not classified: what it says is not to be trusted.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use command_fds::CommandFdExt;
use tokio::process::Child;
use tokio::time::Instant;

use crate::git::Git;
use crate::jail::confinement::Confinement;
use crate::process::classify::classify;
use crate::process::environment;
use crate::process::memory::limit_memory;
use crate::process::running::{Running, Wanted, collect};
use crate::process::silence::fall_silent;
use crate::process::threads::expect_patience;
use crate::repository::lock::RepositoryLock;
use crate::settings::executing::Runs;
use crate::settings::guard::Guarded;
use crate::{Error, Result, redact_url};

/// A git process to be.
#[derive(Debug)]
#[must_use]
pub struct Command {
    git: Git,
    directory: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    config: Vec<(String, String)>,
    secrets: bool,
    stdin: Option<Vec<u8>>,
    timeout: Duration,
    /// How long it may get nothing from its remote.
    silence: Option<Duration>,
    accepted: Vec<i32>,
    /// How much of stdout is wanted.
    wanted: Wanted,
    held: Option<OwnedFd>,
    /// The ends of a pipe to or from another process.
    source: Option<OwnedFd>,
    sink: Option<OwnedFd>,
    confinement: Option<Confinement>,
    guarded: Option<Guarded>,
    runs: Runs,
}

/// What a process that ended well left.
#[derive(Debug, Clone)]
pub struct Output {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Output {
    /// Stdout as text without the line end; bytes that are no UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches(['\n', '\r']).to_owned()
    }
}

impl Command {
    pub(crate) fn new(git: &Git, directory: &Path) -> Self {
        Self {
            git: git.clone(),
            directory: directory.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            config: Vec::new(),
            secrets: false,
            stdin: None,
            timeout: git.options().command_timeout,
            silence: None,
            accepted: vec![0],
            wanted: Wanted::default(),
            held: None,
            source: None,
            sink: None,
            confinement: None,
            guarded: None,
            runs: Runs::NOTHING,
        }
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets configuration for this process only, through the environment: it may be secret.
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.push((key.into(), value.into()));
        self
    }

    /// Runs nothing that the repository's own configuration names, unless a person agreed to it.
    pub(crate) fn guarded(mut self, guarded: Option<Guarded>) -> Self {
        self.guarded = guarded;
        self
    }

    /// Says what the call makes git run, if the configuration names programs for it.
    pub(crate) fn running(mut self, runs: Runs) -> Self {
        self.runs = self.runs.and(runs);
        self
    }

    /// Leaves the caller's secrets in the environment: for what crosses the network, and runs nothing that the
    /// repository names.
    pub(crate) fn with_secrets(mut self) -> Self {
        self.secrets = true;
        self
    }

    pub fn stdin_bytes(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives the process the time that a network needs.
    pub fn network(self) -> Self {
        let timeout = self.git.options().network_timeout;
        self.timeout(timeout)
    }

    /// Ends the process when the remote sent nothing for so long; without a limit, it has the time that a network needs.
    pub(crate) fn silence(mut self, limit: Option<Duration>) -> Self {
        self.silence = limit;
        self
    }

    /// Lets the process hold the repository's lock for as long as it runs, even without us.
    pub fn holding(mut self, lock: &RepositoryLock) -> Self {
        self.held = lock.descriptor();
        self
    }

    /// Names the exit statuses that are no errors.
    pub fn accept(mut self, statuses: &[i32]) -> Self {
        self.accepted = statuses.to_vec();
        self
    }

    /// Ends the process once it wrote more than so many bytes: what it wrote until then is its answer.
    pub(crate) fn stdout_up_to(mut self, bytes: usize) -> Self {
        self.wanted = Wanted::Beginning(bytes);
        self
    }

    /// Ends the process where it writes more than so many bytes, which is an error.
    pub(crate) fn stdout_at_most(mut self, bytes: usize) -> Self {
        self.wanted = Wanted::AtMost(bytes);
        self
    }

    /// Runs the process in the jail.
    pub(crate) fn confined_to(mut self, confinement: Confinement) -> Self {
        self.timeout = confinement.limits().time;
        self.confinement = Some(confinement);
        self
    }

    /// Runs two processes at once, where one reads what the other writes. Gives the outcome of each.
    pub(crate) async fn run_into(mut self, mut reader: Self) -> Result<(Result<Output>, Result<Output>)> {
        let (source, sink) =
            std::io::pipe().map_err(|source| Error::io("make a pipe for", Path::new("git"), source))?;
        self.sink = Some(sink.into());
        reader.source = Some(source.into());
        Ok(tokio::join!(self.run(), reader.run()))
    }

    /// Runs the process to its end.
    pub async fn run(mut self) -> Result<Output> {
        if let Some(guarded) = &self.guarded {
            // To ask what is in a configuration is a call, too.
            Box::pin(guarded.require(&self.git, self.runs)).await?;
        }
        let shown = self.shown();
        let started = Instant::now();
        let timeout = self.timeout;
        let child = self.spawn(&shown)?;
        let stdin = self.stdin.take();
        let running = Running::new(&child);
        let (group, silence) = (child.id(), self.silence);
        let silent = async {
            match silence {
                Some(limit) => fall_silent(group, limit).await,
                None => std::future::pending().await,
            }
        };
        let output = tokio::select! {
            output = collect(child, stdin, self.wanted, &shown) => output,
            () = tokio::time::sleep(timeout) => return Err(Error::Timeout { command: shown, after: timeout }),
            () = silent => return Err(Error::NoAnswer { after: silence.unwrap_or_default() }),
        };
        running.ended();
        let output = output?;
        tracing::trace!(command = %shown, status = output.status, elapsed = ?started.elapsed(), "git ended");
        if self.wanted.is_exceeded_by(&output) || self.accepted.contains(&output.status) {
            Ok(output)
        } else if self.confinement.is_some() {
            Err(Error::Failed { command: shown, status: output.status, stderr: output.stderr })
        } else {
            Err(classify(&shown, &self.directory, output.status, &output.stderr))
        }
    }

    /// Runs the process and gives its stdout as trimmed text.
    pub async fn text(self) -> Result<String> {
        Ok(self.run().await?.text())
    }

    fn spawn(&mut self, shown: &str) -> Result<Child> {
        expect_patience(shown);
        let program = self.git.options().program.clone();
        // A process that is given no bytes has the lock for its stdin. Anything else takes a fork of this whole process.
        let stdin = match (self.stdin.is_some(), self.source.take()) {
            (true, _) => Stdio::piped(),
            (false, Some(source)) => Stdio::from(source),
            (false, None) => self.held.take().map_or_else(Stdio::null, Stdio::from),
        };
        let stdout = self.sink.take().map_or_else(Stdio::piped, Stdio::from);
        let mut command = match &self.confinement {
            Some(confinement) => self.jailed(confinement)?,
            None => self.plain(&program),
        };
        command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
        if let Some(descriptor) = self.held.take() {
            command.preserved_fds(vec![descriptor]);
        }
        command.spawn().inspect(limit_memory).map_err(|source| match source.kind() {
            _ if self.confinement.is_some() => Error::io("run", Path::new(command.as_std().get_program()), source),
            std::io::ErrorKind::NotFound if self.directory.is_dir() => Error::GitMissing { program: program.clone() },
            std::io::ErrorKind::NotFound => Error::io("enter", &self.directory, source),
            std::io::ErrorKind::ArgumentListTooLong => {
                Error::Unexpected { command: shown.to_owned(), detail: "too many arguments".to_owned() }
            }
            _ => Error::io("run", &program, source),
        })
    }

    fn plain(&self, program: &Path) -> tokio::process::Command {
        let environment = if self.secrets { self.git.whole_environment() } else { self.git.environment() };
        let environment = environment.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()));
        #[expect(clippy::disallowed_methods, reason = "this is the one place where git is run")]
        let mut command = tokio::process::Command::new(program);
        command
            .args(environment::flags())
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(environment)
            .envs(self.own_environment());
        command
    }

    fn jailed(&self, confinement: &Confinement) -> Result<tokio::process::Command> {
        let filter = confinement.filter()?;
        #[expect(clippy::disallowed_methods, reason = "this is the one place where the jail is entered")]
        let mut command = tokio::process::Command::new(confinement.program());
        let own = self.own_environment();
        command
            .args(confinement.arguments(&self.directory, environment::of_jail().chain(own), filter.as_raw_fd()))
            .args(environment::flags().filter(|_| confinement.runs_git()))
            .args(&self.arguments)
            .current_dir("/")
            .env_clear()
            .preserved_fds(vec![filter]);
        Ok(command)
    }

    /// What only this process is told.
    fn own_environment(&self) -> impl Iterator<Item = (OsString, OsString)> + use<> {
        let mut own = self.environment.clone();
        own.push(("PWD".into(), self.directory.clone().into()));
        own.push(("GIT_CONFIG_COUNT".into(), self.config.len().to_string().into()));
        for (index, (key, value)) in self.config.iter().enumerate() {
            own.push((format!("GIT_CONFIG_KEY_{index}").into(), key.into()));
            own.push((format!("GIT_CONFIG_VALUE_{index}").into(), value.into()));
        }
        own.into_iter()
    }

    /// The command as messages show it: without our flags, without secrets, on one line.
    fn shown(&self) -> String {
        let mut shown = String::from("git");
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "-c" {
                arguments.next();
                continue;
            }
            let text = redact_url(&argument.to_string_lossy()).replace(char::is_control, "?");
            shown.push(' ');
            shown.push_str(&text);
            if shown.len() > 300 {
                shown.truncate(shown.floor_char_boundary(300));
                shown.push('…');
                break;
            }
        }
        shown
    }
}
