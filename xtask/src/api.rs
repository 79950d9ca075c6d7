//! `cargo xtask test --api`: the daemon's description of its API against the daemon, by schemathesis from PyPI.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::chore;
use crate::packages;
use crate::venv;

const PACKAGE: &str = "schemathesis";
const VERSION: &str = "4.32.5";
/// Names the program to the test.
const VARIABLE: &str = "SPINNEY_TEST_SCHEMATHESIS";
/// Requests made up for each operation of the API.
const EXAMPLES: u32 = 50;

/// Finds its own directory, so that the directory can be moved.
const LAUNCHER: &str = "#!/bin/sh
exec \"$(dirname \"$(readlink -f \"$0\")\")/bin/python\" -m schemathesis.cli \"$@\"
";

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let examples = parse(arguments)?;
    let program = provide()?;
    let mut command = chore::cargo();
    command.args(["test", "--package", "spinney", "--features", "fail-points", "--test", "suite"]);
    command
        .args(["daemon::openapi::", "--", "--nocapture"])
        .env(VARIABLE, program)
        .env("SPINNEY_TEST_API_EXAMPLES", examples.to_string());
    let heading = format!("the API against its description, {examples} requests an operation");
    Ok(chore::step(&heading, &mut command)?.unwrap_or(ExitCode::SUCCESS))
}

fn parse(arguments: &[&str]) -> Result<u32> {
    match arguments {
        [] => Ok(EXAMPLES),
        ["--examples", number] => number.parse().with_context(|| format!("`{number}` is no number")),
        _ => bail!("`test --api` takes `--examples N` only"),
    }
}

/// The program that the caller's environment names, or else our own, installed if it is not there yet.
fn provide() -> Result<PathBuf> {
    if let Some(program) = env::var_os(VARIABLE) {
        return Ok(program.into());
    }
    let directory = chore::target_dir().join("api").join(format!("{PACKAGE}-{VERSION}"));
    let program = directory.join(PACKAGE);
    if !program.exists() {
        let requirements = [format!("{PACKAGE}=={VERSION}")];
        venv::install(&requirements, &directory, finish).with_context(|| format!("can't install `{PACKAGE}`"))?;
    }
    path::absolute(program).context("the target directory has no path")
}

/// Puts its launcher beside it, and tries it.
fn finish(directory: &Path) -> Result<()> {
    let program = directory.join(PACKAGE);
    fs::write(&program, LAUNCHER).context("the directory can't be written")?;
    fs::set_permissions(&program, Permissions::from_mode(0o755)).context("the directory can't be written")?;
    ensure!(packages::quiet(Command::new(program).arg("--version")), "`{PACKAGE} --version` failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_examples_can_be_given() {
        assert_eq!(parse(&[]).unwrap(), EXAMPLES);
        assert_eq!(parse(&["--examples", "3"]).unwrap(), 3);
        for wrong in [&["--examples"][..], &["--examples", "many"], &["--agents"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
