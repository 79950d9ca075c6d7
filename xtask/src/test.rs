//! `cargo xtask test`: installs or starts what the tests need, runs them all, and stops it again.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result};

use crate::agents;
use crate::browser;
use crate::chats;
use crate::chore;
use crate::description;
use crate::gits;
use crate::packages;
use crate::part::Part;
use crate::postgres::{Cluster, Programs};
use crate::telegram;
use crate::webhooks;

/// A test waits more than it computes: for git, for other programs, for the disk.
const THREADS_PER_CORE: usize = 2;
/// Kills at random with each git but the first.
const FEWER_ROUNDS: &str = "8";

/// Runs the suite with the first git on `PATH`, then the part of the daemon on PostgreSQL, then the part that touches git
/// with every other one. All real agents
/// take part if they are wanted; one does anyway.
pub fn run(wants_agents: bool, arguments: &[&str]) -> Result<ExitCode> {
    let path = env::var_os("PATH").context("`PATH` is not set")?;
    let gits = gits::find(&path);
    let (first, others) =
        gits.split_first().context("git is missing: install it, for example `apt-get install git`")?;
    let programs = Programs::find_or_install()?;
    packages::provide_file_systems();
    packages::provide_git_lfs();
    let description = description::find_or_fetch()?;
    let webhooks = webhooks::find_or_install()?;
    let chats = chats::find_or_install()?;
    let telegram = telegram::find_or_install()?;
    let agents = agents::provide(wants_agents)?;
    let browser = browser::provide();
    let cluster = Cluster::start(&programs)?;
    let suite = Suite {
        path,
        programs: &programs,
        url: cluster.url(),
        description,
        webhooks,
        chats,
        telegram,
        agents,
        browser,
        arguments,
    };

    let heading = format!("tests with git {}", first.version);
    if let Some(code) = chore::step(&heading, suite.command(None)?.args(arguments))? {
        return Ok(code);
    }
    let heading = "tests of the daemon on PostgreSQL";
    let mut command = suite.command(None)?;
    command.env("SPINNEY_TEST_STORE", "postgres").args(["--config", &Part::Postgres.runner()?]);
    if let Some(code) = chore::step(heading, command.args(arguments))? {
        return Ok(code);
    }
    for git in others {
        let directory = git.alone()?;
        let heading = format!("tests that touch git with git {} ({})", git.version, git.program.display());
        let mut command = suite.command(Some(directory.path().to_owned()))?;
        command.env("SPINNEY_TEST_GIT", &git.program).env("SPINNEY_CRASH_ROUNDS", FEWER_ROUNDS);
        if !chooses_packages(arguments) {
            command.args(["--config", &Part::Git.runner()?]);
        }
        if let Some(code) = chore::step(&heading, command.args(arguments))? {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Suite<'a> {
    path: OsString,
    programs: &'a Programs,
    url: String,
    /// The file of GitHub's API description.
    description: PathBuf,
    /// The directory of GitHub's recorded webhooks.
    webhooks: PathBuf,
    /// The Python that speaks with chats.
    chats: PathBuf,
    /// The directory of a Telegram for tests.
    telegram: PathBuf,
    agents: agents::Programs,
    browser: agents::Programs,
    arguments: &'a [&'a str],
}

impl Suite<'_> {
    /// `cargo test` of all packages, unless the arguments, which are still to come, name their own.
    fn command(&self, first_on_path: Option<PathBuf>) -> Result<Command> {
        let mut command = chore::cargo();
        command.arg("test");
        if !chooses_packages(self.arguments) {
            // The crash tests need them; nothing else is built otherwise with them.
            command.args(["--workspace", "--features", "spinney/fail-points"]);
        }
        if env::var_os("RUST_TEST_THREADS").is_none() {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            command.env("RUST_TEST_THREADS", (cores * THREADS_PER_CORE).to_string());
        }
        command.env("PATH", self.path_with(first_on_path)?).env("SPINNEY_TEST_POSTGRES_URL", &self.url);
        command.env("SPINNEY_TEST_GITHUB_DESCRIPTION", &self.description);
        command.env(webhooks::VARIABLE, &self.webhooks).env(chats::VARIABLE, &self.chats);
        command.env(telegram::VARIABLE, &self.telegram);
        command.envs(self.agents.iter().chain(&self.browser).map(|(variable, program)| (variable, program)));
        Ok(command)
    }

    /// PostgreSQL's programs come last, so that they hide nothing.
    fn path_with(&self, first: Option<PathBuf>) -> Result<OsString> {
        let inherited = env::split_paths(OsStr::new(&self.path));
        let paths = first.into_iter().chain(inherited).chain([self.programs.directory.clone()]);
        env::join_paths(paths).context("a directory on `PATH` has a colon in its name")
    }
}

fn chooses_packages(arguments: &[&str]) -> bool {
    let for_cargo = arguments.iter().take_while(|argument| **argument != "--");
    for_cargo.into_iter().any(|argument| {
        argument.starts_with("-p")
            || ["--package", "--workspace", "--all"].iter().any(|flag| argument.starts_with(flag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_choose_packages_are_recognised() {
        for arguments in [&["-p", "xtask"][..], &["-pxtask"], &["--package=xtask"], &["--workspace"], &["x", "-p", "y"]]
        {
            assert!(chooses_packages(arguments), "{arguments:?}");
        }
        for arguments in [&[][..], &["name"], &["--", "-p"], &["--release"]] {
            assert!(!chooses_packages(arguments), "{arguments:?}");
        }
    }
}
