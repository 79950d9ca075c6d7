//! The parts of the tests: all of them, and what runs once more with another git, or with its stores on PostgreSQL.
//!
//! Cargo starts each test program by this chore, which skips the tests that have no part in it, and runs those that measure
//! time behind all others, one at a time. Cargo itself is always asked for all packages: others would have other features, and
//! everything would be built anew.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::left_out::LeftOut;

/// The name of the hidden chore.
pub const CHORE: &str = "part";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    Git,
    Postgres,
}

/// The crates whose tests depend on what git does.
const OF_GIT: [&str; 3] = ["spinney-git", "spinney-engine", "spinney"];
/// The folders and files of their suites that hardly do: real agents, what people configure, the queue, the log, shells.
const NOT_OF_GIT: [&str; 5] =
    ["real_agents::", "commands::configuration::", "jobs::floods::", "jobs::queue::", "commands::shell::"];
/// Tests of the daemon that reach each of its queries, and no more: pages and security ask nothing else of the store, and
/// whatever is about git or processes does not see which one it is.
const OF_POSTGRES: [&str; 8] = [
    "daemon::api::",
    "daemon::audit::",
    "daemon::routes::",
    "daemon::schedules::",
    "daemon::stories::",
    "daemon::tokens::",
    "measured::flood::",
    "platforms::",
];

/// Tests that measure time while much happens.
const MEASURED: &str = "measured::";

impl Part {
    const KNOWN: [Self; 3] = [Self::All, Self::Git, Self::Postgres];

    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Git => "git",
            Self::Postgres => "postgres",
        }
    }

    /// The setting by which cargo starts test programs so.
    pub fn runner(self) -> Result<String> {
        let chores = env::current_exe().context("this program's own path is not known")?;
        let chores = chores.to_str().context("its path is no text")?;
        Ok(format!("target.'cfg(all())'.runner = [{chores:?}, {CHORE:?}, {:?}]", self.name()))
    }

    /// Whether a test of a package takes part.
    fn has(self, package: &str, test: &str) -> bool {
        let is_below = |places: &[&str]| places.iter().any(|place| test.starts_with(place));
        match self {
            Self::All => true,
            Self::Git => OF_GIT.contains(&package) && !(package == "spinney" && is_below(&NOT_OF_GIT)),
            Self::Postgres => package == "spinney" && is_below(&OF_POSTGRES),
        }
    }
}

/// Runs the tests of a program that take part.
pub fn run(part: &str, program: &str, arguments: &[&str]) -> Result<ExitCode> {
    let Some(part) = Part::KNOWN.into_iter().find(|known| known.name() == part) else {
        bail!("there is no part `{part}`")
    };
    let package = env::var("CARGO_PKG_NAME").context("cargo tells no package")?;
    if !lists_its_tests(program) {
        return run_example(part, &package, program, arguments);
    }
    let listed = Command::new(program).args(arguments).args(["--list", "--format", "terse"]).output();
    let listed = listed.with_context(|| format!("can't start `{program}`"))?;
    let listed = String::from_utf8(listed.stdout).context("the names of tests are no text")?;
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let is_measured = |test: &str| test.starts_with(MEASURED);
    let mut code = ExitCode::SUCCESS;
    for (measured, further) in [(false, &[][..]), (true, &["--test-threads=1"][..])] {
        let takes_part = |test: &&str| part.has(&package, test) && is_measured(test) == measured;
        if !tests.iter().any(&takes_part) {
            continue;
        }
        let elsewhere: BTreeSet<&str> =
            tests.iter().filter(|test| !takes_part(test)).map(|test| file_of(test)).collect();
        let skips = elsewhere.into_iter().flat_map(|place| ["--skip", place]);
        if !LeftOut::new()?.run(Command::new(program).args(arguments).args(skips).args(further))? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Whether a program is one of cargo's own, and not one that rustdoc made of an example: that has a directory of its own.
fn lists_its_tests(program: &str) -> bool {
    Path::new(program).parent().is_some_and(|directory| directory.ends_with("deps"))
}

fn run_example(part: Part, package: &str, program: &str, arguments: &[&str]) -> Result<ExitCode> {
    if !part.has(package, "") {
        return Ok(ExitCode::SUCCESS);
    }
    let status = Command::new(program).args(arguments).status();
    let is_success = status.with_context(|| format!("can't start `{program}`"))?.success();
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder and file of a test.
fn file_of(test: &str) -> &str {
    match test.match_indices("::").nth(1) {
        Some((at, separator)) => &test[..at + separator.len()],
        None => test,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_git_takes_part() {
        assert!(Part::Git.has("spinney-git", "clean::x"));
        assert!(Part::Git.has("spinney", "jobs::agents::x"));
        assert!(!Part::Git.has("spinney", "real_agents::claude::x"));
        assert!(!Part::Git.has("spinney-store", "rows::x"));
    }

    #[test]
    fn the_daemon_takes_part_on_postgresql() {
        assert!(Part::Postgres.has("spinney", "daemon::routes::x"));
        assert!(!Part::Postgres.has("spinney", "removal::verdict::x"));
        assert!(!Part::Postgres.has("spinney-jobs", "schedules::times::x"));
    }

    #[test]
    fn what_is_left_out_is_a_file_or_one_test() {
        assert_eq!(file_of("jobs::queue::a::b"), "jobs::queue::");
        assert_eq!(file_of("jobs::x"), "jobs::x");
    }

    #[test]
    fn an_examples_program_is_no_list_of_tests() {
        assert!(lists_its_tests("/work/target/debug/deps/suite-0123456789abcdef"));
        assert!(!lists_its_tests("/tmp/rustdoctestAbc/rust_out"));
    }

    #[test]
    fn what_is_named_is_there() {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/spinney/tests/suite");
        for place in NOT_OF_GIT.iter().chain(&OF_POSTGRES) {
            let path = suite.join(place.trim_end_matches("::").replace("::", "/"));
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{place}");
        }
    }
}
