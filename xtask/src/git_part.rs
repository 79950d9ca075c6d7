//! The part of the tests that runs with every git.
//!
//! Cargo starts each test program by this chore, and one that has no part in it is left out. Cargo itself is asked for all
//! packages, as with the first git: others would have other features, and everything would be built anew.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

/// The name of the hidden chore.
pub const CHORE: &str = "git-part";

/// The crates whose tests depend on what git does.
const CRATES: [&str; 3] = ["spinney-git", "spinney-engine", "spinney"];
/// Their test programs that hardly do: real agents, what people configure, the queue, the log, shells.
const LEFT_OUT: [&str; 5] = ["agents", "configuration", "jobs_floods", "jobs_queue", "shell"];

/// The setting by which cargo starts test programs so.
pub fn runner() -> Result<String> {
    let chores = env::current_exe().context("this program's own path is not known")?;
    Ok(format!("target.'cfg(all())'.runner = [{:?}, {CHORE:?}]", chores.to_str().context("its path is no text")?))
}

/// Becomes the test program, if that takes part.
pub fn run(program: &str, arguments: &[&str]) -> Result<ExitCode> {
    let package = env::var("CARGO_PKG_NAME").context("cargo tells no package")?;
    if !takes_part(&package, program) {
        println!("\nleft out with this git");
        return Ok(ExitCode::SUCCESS);
    }
    Err(Command::new(program).args(arguments).exec()).with_context(|| format!("can't start `{program}`"))
}

/// Whether a test program of a package takes part; cargo has a hash behind its name.
fn takes_part(package: &str, program: &str) -> bool {
    let file = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    CRATES.contains(&package) && !LEFT_OUT.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_git_takes_part() {
        assert!(takes_part("spinney-git", "/target/debug/deps/clean-0123456789abcdef"));
        assert!(takes_part("spinney", "/target/debug/deps/spinney-0123456789abcdef"));
        assert!(!takes_part("spinney", "/target/debug/deps/agents-0123456789abcdef"));
        assert!(!takes_part("spinney-store", "/target/debug/deps/suite-0123456789abcdef"));
    }

    #[test]
    fn what_is_left_out_is_there() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/spinney/tests");
        for name in LEFT_OUT {
            assert!(tests.join(name).is_dir() || tests.join(format!("{name}.rs")).is_file(), "{name}");
        }
    }
}
