//! One git process: how it is built, run, bounded and ended.
//!
//! Invariants: the environment is cleared and set anew, without the caller's secrets unless they are asked for; stdin is empty unless bytes are given; the process leads its
//! own group, and the whole group is killed when the time is up or the caller goes away; a process that holds a
//! repository's lock inherits its descriptor, so that the lock outlives us for as long as the process does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use command_fds::CommandFdExt;
use tokio::process::Child;
use tokio::time::Instant;

use crate::git::Git;
use crate::process::classify::classify;
use crate::process::environment;
use crate::process::memory::limit_memory;
use crate::process::running::{Running, collect};
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
    /// Of how much stdout more is not wanted.
    enough: Option<usize>,
    held: Option<std::os::fd::OwnedFd>,
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
            enough: None,
            held: None,
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
        self.enough = Some(bytes);
        self
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
            output = collect(child, stdin, self.enough, &shown) => output,
            () = tokio::time::sleep(timeout) => return Err(Error::Timeout { command: shown, after: timeout }),
            () = silent => return Err(Error::NoAnswer { after: silence.unwrap_or_default() }),
        };
        running.ended();
        let output = output?;
        tracing::trace!(command = %shown, status = output.status, elapsed = ?started.elapsed(), "git ended");
        let is_enough = self.enough.is_some_and(|enough| output.stdout.len() > enough);
        if is_enough || self.accepted.contains(&output.status) {
            Ok(output)
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
        let options = self.git.options();
        let environment = if self.secrets { self.git.whole_environment() } else { self.git.environment() };
        // A process that is given no bytes has the lock for its stdin. Anything else takes a fork of this whole process.
        let stdin = match (self.stdin.is_some(), self.held.take_if(|_| self.stdin.is_none())) {
            (true, _) => Stdio::piped(),
            (false, Some(descriptor)) => Stdio::from(descriptor),
            (false, None) => Stdio::null(),
        };
        #[expect(clippy::disallowed_methods, reason = "this is the one place where git is run")]
        let mut command = tokio::process::Command::new(&options.program);
        command
            .args(environment::flags())
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(environment.iter().map(|(key, value)| (key, value)))
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .env("PWD", &self.directory)
            .env("GIT_CONFIG_COUNT", self.config.len().to_string())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        for (index, (key, value)) in self.config.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        if let Some(descriptor) = self.held.take() {
            command.preserved_fds(vec![descriptor]);
        }
        let spawned = command.spawn().inspect(limit_memory);
        spawned.map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound if self.directory.is_dir() => {
                Error::GitMissing { program: options.program.clone() }
            }
            std::io::ErrorKind::NotFound => Error::io("enter", &self.directory, source),
            std::io::ErrorKind::ArgumentListTooLong => {
                Error::Unexpected { command: shown.to_owned(), detail: "too many arguments".to_owned() }
            }
            _ => Error::io("run", &options.program, source),
        })
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
