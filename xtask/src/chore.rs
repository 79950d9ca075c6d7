//! Running one step of a chore: a heading, the program, how long it took.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use anyhow::{Context, Result};

/// Runs a step and gives its exit code; none when it succeeded.
pub fn step(heading: &str, command: &mut Command) -> Result<Option<ExitCode>> {
    println!("== {heading}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("can't start {:?}", command.get_program()))?;
    let outcome = if status.success() { "done" } else { "failed" };
    println!("== {heading}: {outcome} in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok((!status.success()).then(|| code(status)))
}

/// The cargo that runs this chore, in the repository's root.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Cargo has told us about this crate; a dependency would be built anew because it was told so, too.
    let told = ["CARGO_MANIFEST", "CARGO_PKG_"];
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if told.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the repository")
}

/// The same exit status for us; a signal counts as a failure.
fn code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_passed_on() {
        let shell = |script: &str| step("a step", Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(shell("true"), None);
        assert_eq!(shell("exit 101"), Some(ExitCode::from(101)));
        assert_eq!(shell("kill -9 $$"), Some(ExitCode::FAILURE));
        assert!(step("a step", &mut Command::new("/nonexistent/program")).is_err());
    }

    #[test]
    fn the_root_has_the_workspaces_manifest() {
        assert!(root().join("Cargo.toml").is_file() && root().join("crates").is_dir());
    }
}
