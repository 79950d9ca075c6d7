//! Runs the program under test as a person would.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Sandbox;
use crate::programs::process::{self, Ran, Started};

/// A binary, a directory to run it in, and variables beside the sandbox's own.
#[derive(Debug, Clone)]
pub struct Cli {
    sandbox: Sandbox,
    binary: PathBuf,
    directory: PathBuf,
    variables: Vec<(OsString, Option<OsString>)>,
}

impl Cli {
    pub(crate) fn new(sandbox: Sandbox, binary: PathBuf) -> Self {
        let directory = sandbox.path().to_owned();
        Self { sandbox, binary, directory, variables: Vec::new() }
    }

    /// The same, run in another directory.
    #[must_use]
    pub fn in_directory(&self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..self.clone() }
    }

    /// The same with a variable more.
    #[must_use]
    pub fn with_variable(&self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let mut cli = self.clone();
        cli.variables.push((name.into(), Some(value.into())));
        cli
    }

    /// The same with a variable less.
    #[must_use]
    pub fn without_variable(&self, name: impl Into<OsString>) -> Self {
        let mut cli = self.clone();
        cli.variables.push((name.into(), None));
        cli
    }

    /// The same with a directory first on `PATH`.
    #[must_use]
    pub fn with_path_first(&self, directory: &Path) -> Self {
        let outer = env::var_os("PATH").expect("PATH is set");
        let paths = std::iter::once(directory.to_owned()).chain(env::split_paths(&outer));
        self.with_variable("PATH", env::join_paths(paths).expect("no path holds a colon"))
    }

    /// The command itself, for what the other methods don't do.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = self.sandbox.command(&self.binary);
        command.args(arguments).current_dir(&self.directory).env("PWD", &self.directory);
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        process::start(&mut self.command(arguments)).wait()
    }

    /// Starts it and comes back at once.
    #[track_caller]
    pub fn spawn<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Running {
        Running::start(&mut self.command(arguments))
    }
}

/// A program that runs. Dropped, it is killed.
#[derive(Debug)]
pub struct Running(Option<Started>);

impl Running {
    /// Starts any program.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(process::start(command)))
    }

    fn started(&self) -> &Started {
        self.0.as_ref().expect("it was not waited for")
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.started().child.id()
    }

    /// What it has printed by now.
    #[must_use]
    pub fn stdout_so_far(&self) -> String {
        self.started().stdout_so_far()
    }

    /// What it has said by now.
    #[must_use]
    pub fn stderr_so_far(&self) -> String {
        self.started().stderr_so_far()
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        let started = self.0.as_mut().expect("it was not waited for");
        started.child.try_wait().expect("the child can be waited for").is_none()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self) -> Ran {
        self.0.take().expect("it was not waited for").wait()
    }

    /// Asks it to end, as `kill` does, and waits for its end.
    #[track_caller]
    pub fn terminate(self) -> Ran {
        process::start(Command::new("kill").args(["-TERM", "--", &self.id().to_string()])).wait().ok();
        self.wait()
    }

    /// Kills it, as `kill -9` does, and waits for its end.
    #[track_caller]
    pub fn kill(mut self) -> Ran {
        let mut started = self.0.take().expect("it was not waited for");
        started.child.kill().ok();
        started.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut started) = self.0.take() {
            started.child.kill().ok();
            started.child.wait().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::wait_until;

    const DEADLINE: Duration = Duration::from_secs(30);

    #[test]
    fn runs_in_its_directory_with_its_variables() {
        let sandbox = Sandbox::new();
        let cli = sandbox.cli("/bin/sh").in_directory(sandbox.home()).with_variable("A", "1").without_variable("TERM");
        let ran = cli.run(&["-c", "pwd; echo $A $TERM $SPINNEY_HOME"]).ok();
        let expected = format!("{}\n1 {}\n", sandbox.home().display(), sandbox.spinney_home().display());
        assert_eq!(ran.stdout, expected);
    }

    #[test]
    fn a_directory_can_come_first_on_the_path() {
        let sandbox = Sandbox::new();
        let repository = sandbox.empty_repository("bin");
        repository.write_executable("git", "#!/bin/sh\necho mine\n");
        let cli = sandbox.cli("/bin/sh").with_path_first(repository.path());
        assert_eq!(cli.run(&["-c", "git"]).stdout, "mine\n");
    }

    #[test]
    fn what_runs_can_be_killed() {
        let mut running = Sandbox::new().cli("/bin/sh").spawn(&["-c", "exec sleep 100"]);
        assert!(running.is_running() && running.id() > 1);
        running.kill().exits(137);
        assert_eq!(Sandbox::new().cli("/bin/echo").spawn(&["x"]).wait().ok().stdout, "x\n");
    }

    #[test]
    fn what_runs_is_heard_and_can_be_asked_to_end() {
        let script = "trap 'echo asked; exit 3' TERM; echo ready; echo talk >&2; while :; do sleep 0.01; done";
        let running = Sandbox::new().cli("/bin/sh").spawn(&["-c", script]);
        wait_until(|| running.stdout_so_far() == "ready\n" && running.stderr_so_far() == "talk\n", DEADLINE);
        assert_eq!(running.terminate().exits(3).stdout, "ready\nasked\n");
    }

    #[test]
    fn what_runs_ends_with_its_test() {
        let running = Sandbox::new().cli("/bin/sh").spawn(&["-c", "exec sleep 100"]);
        let process = PathBuf::from(format!("/proc/{}", running.id()));
        assert!(process.exists());
        drop(running);
        assert!(!process.exists());
    }
}
