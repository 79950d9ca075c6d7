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
use crate::mcp;
use crate::needs::{self, Missing};
use crate::part::Part;
use crate::postgres::{Cluster, Programs};
use crate::telegram;
use crate::webhooks;

/// A test waits more than it computes: for git, for other programs, for the disk.
const THREADS_PER_CORE: usize = 2;
/// Names the server to the tests.
const POSTGRES: &str = "SPINNEY_TEST_POSTGRES_URL";
/// Kills at random with each git but the first.
const FEWER_ROUNDS: &str = "8";

/// Runs the suite with the first git on `PATH`, then the part of the daemon on PostgreSQL, then the part that touches git
/// with every other one. All real agents
/// take part if they are wanted; one does anyway. What is missing is told, and the tests that need it are left out; the run ends
/// red for what failed, behind all others.
pub fn run(wants_agents: bool, arguments: &[&str]) -> Result<ExitCode> {
    let path = env::var_os("PATH").context("`PATH` is not set")?;
    let gits = gits::find(&path);
    let (first, others) =
        gits.split_first().context("git is missing: install it, for example `apt-get install git`")?;
    let mut missing = Missing::after_installing(&needs::of_tests(wants_agents));
    let suite = Suite::provide(path, wants_agents, &mut missing, arguments)?;
    missing.tell(env::var_os("CI").is_some())?;

    let mut outcome = Outcome::default();
    let mut command = suite.command(None)?;
    command.args(["--config", &Part::All.runner()?]);
    outcome.add(chore::step(&format!("tests with git {}", first.version), command.args(arguments))?);
    if suite.server.is_some() {
        let mut command = suite.command(None)?;
        command.env("SPINNEY_TEST_STORE", "postgres").args(["--config", &Part::Postgres.runner()?]);
        outcome.add(chore::step("tests of the daemon on PostgreSQL", command.args(arguments))?);
    }
    for git in others {
        let directory = git.alone()?;
        let heading = format!("tests that touch git with git {} ({})", git.version, git.program.display());
        let mut command = suite.command(Some(directory.path().to_owned()))?;
        command.env("SPINNEY_TEST_GIT", &git.program).env("SPINNEY_CRASH_ROUNDS", FEWER_ROUNDS);
        let part = if chooses_packages(arguments) { Part::All } else { Part::Git };
        command.args(["--config", &part.runner()?]);
        outcome.add(chore::step(&heading, command.args(arguments))?);
    }
    if !missing.is_empty() {
        println!("{}", missing.told());
    }
    Ok(outcome.0.unwrap_or(ExitCode::SUCCESS))
}

/// The first failure of several steps, all of which are run.
#[derive(Default)]
struct Outcome(Option<ExitCode>);

impl Outcome {
    fn add(&mut self, failure: Option<ExitCode>) {
        self.0 = self.0.or(failure);
    }
}

struct Suite<'a> {
    path: OsString,
    server: Option<(Programs, Cluster)>,
    /// Each variable that names something to the tests, and where that is.
    named: Vec<(&'static str, PathBuf)>,
    arguments: &'a [&'a str],
}

impl<'a> Suite<'a> {
    /// Finds, fetches and starts what the tests need, and notes what can't be had. An agent that was asked for must be there.
    fn provide(path: OsString, wants_agents: bool, missing: &mut Missing, arguments: &'a [&'a str]) -> Result<Self> {
        let mut named = Vec::new();
        named.extend(missing.note("GitHub's description of its API", description::provide()));
        named.extend(missing.note("webhooks that GitHub recorded", webhooks::provide()));
        named.extend(missing.note("Slack's and Discord's libraries", chats::provide()));
        named.extend(missing.note("a Telegram for tests", telegram::provide()));
        named.extend(missing.note("npm's clients of MCP", mcp::provide_npm()));
        named.extend(missing.note("PyPI's client of MCP", mcp::provide_python()));
        for (agent, provided) in agents::provide(wants_agents) {
            match wants_agents {
                true => named.push(provided?),
                false => named.extend(missing.note(agent, provided)),
            }
        }
        named.extend(browser::find());
        let server = Programs::find().and_then(|programs| {
            let cluster = missing.note("a server of PostgreSQL", Cluster::start(&programs))?;
            Some((programs, cluster))
        });
        Ok(Self { path, server, named, arguments })
    }

    /// `cargo test` of all packages, unless the arguments, which are still to come, name their own.
    fn command(&self, first_on_path: Option<PathBuf>) -> Result<Command> {
        let mut command = chore::cargo();
        // One crate whose tests fail keeps no other from being tested.
        command.args(["test", "--no-fail-fast"]);
        if !chooses_packages(self.arguments) {
            // The crash tests need them; nothing else is built otherwise with them.
            command.args(["--workspace", "--features", "spinney/fail-points"]);
        }
        if env::var_os("RUST_TEST_THREADS").is_none() {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            command.env("RUST_TEST_THREADS", (cores * THREADS_PER_CORE).to_string());
        }
        command.env("PATH", self.path_with(first_on_path)?);
        match &self.server {
            Some((_, cluster)) => command.env(POSTGRES, cluster.url()),
            None => command.env_remove(POSTGRES),
        };
        command.envs(self.named.iter().map(|(variable, place)| (variable, place)));
        Ok(command)
    }

    /// PostgreSQL's programs come last, so that they hide nothing.
    fn path_with(&self, first: Option<PathBuf>) -> Result<OsString> {
        let inherited = env::split_paths(OsStr::new(&self.path));
        let programs = self.server.iter().map(|(programs, _)| programs.directory.clone());
        let paths = first.into_iter().chain(inherited).chain(programs);
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
    fn a_failure_is_kept_to_the_end() {
        let mut outcome = Outcome::default();
        outcome.add(None);
        outcome.add(Some(ExitCode::from(101)));
        outcome.add(None);
        outcome.add(Some(ExitCode::from(7)));
        assert_eq!(outcome.0, Some(ExitCode::from(101)));
    }

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
