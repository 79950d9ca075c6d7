//! A part of the tests that runs once more: with every git, or with its stores on PostgreSQL.
//!
//! Cargo starts each test program by this chore, and one that has no part in it is left out. Cargo itself is asked for all
//! packages, as the first time: others would have other features, and everything would be built anew.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

/// The name of the hidden chore.
pub const CHORE: &str = "part";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Git,
    Postgres,
}

/// The crates whose tests depend on what git does.
const OF_GIT: [&str; 3] = ["spinney-git", "spinney-engine", "spinney"];
/// Their test programs that hardly do: real agents, what people configure, the queue, the log, shells.
const NOT_OF_GIT: [&str; 5] = ["agents", "configuration", "jobs_floods", "jobs_queue", "shell"];
/// Test programs of the daemon that reach each of its queries, and no more: pages and security ask nothing else of the
/// store, and whatever is about git or processes does not see which one it is.
const OF_POSTGRES: [&str; 7] = ["api", "audit", "daemon", "platforms", "routes", "schedules", "tokens"];

impl Part {
    const ALL: [Self; 2] = [Self::Git, Self::Postgres];

    fn name(self) -> &'static str {
        match self {
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

    /// Whether a test program of a package takes part; cargo has a hash behind its name.
    fn has(self, package: &str, program: &str) -> bool {
        let file = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
        match self {
            Self::Git => OF_GIT.contains(&package) && !NOT_OF_GIT.contains(&name),
            Self::Postgres => package == "spinney" && OF_POSTGRES.contains(&name),
        }
    }
}

/// Becomes the test program, if that takes part.
pub fn run(part: &str, program: &str, arguments: &[&str]) -> Result<ExitCode> {
    let Some(part) = Part::ALL.into_iter().find(|known| known.name() == part) else {
        bail!("there is no part `{part}`")
    };
    let package = env::var("CARGO_PKG_NAME").context("cargo tells no package")?;
    if !part.has(&package, program) {
        println!("\nleft out of this part");
        return Ok(ExitCode::SUCCESS);
    }
    Err(Command::new(program).args(arguments).exec()).with_context(|| format!("can't start `{program}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_git_takes_part() {
        assert!(Part::Git.has("spinney-git", "/target/debug/deps/clean-0123456789abcdef"));
        assert!(Part::Git.has("spinney", "/target/debug/deps/spinney-0123456789abcdef"));
        assert!(!Part::Git.has("spinney", "/target/debug/deps/agents-0123456789abcdef"));
        assert!(!Part::Git.has("spinney-store", "/target/debug/deps/suite-0123456789abcdef"));
    }

    #[test]
    fn the_daemon_takes_part_on_postgresql() {
        assert!(Part::Postgres.has("spinney", "/target/debug/deps/routes-0123456789abcdef"));
        assert!(!Part::Postgres.has("spinney", "/target/debug/deps/verdict-0123456789abcdef"));
        assert!(!Part::Postgres.has("spinney-jobs", "/target/debug/deps/schedules-0123456789abcdef"));
    }

    #[test]
    fn what_is_named_is_there() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/spinney/tests");
        for name in NOT_OF_GIT.iter().chain(&OF_POSTGRES) {
            assert!(tests.join(name).is_dir() || tests.join(format!("{name}.rs")).is_file(), "{name}");
        }
    }
}
