//! `cargo xtask test --api`: the daemon's description of its API against the daemon, by schemathesis from PyPI.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::chore;
use crate::packages;

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
    command.args(["test", "--package", "spinney", "--features", "fail-points", "--test", "openapi"]);
    command.args(["--", "--nocapture"]).env(VARIABLE, program).env("SPINNEY_TEST_API_EXAMPLES", examples.to_string());
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
        install(&directory).with_context(|| format!("can't install `{PACKAGE}`"))?;
    }
    path::absolute(program).context("the target directory has no path")
}

fn install(directory: &Path) -> Result<()> {
    if !packages::quiet(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        packages::install("Python's venv", &["python3", "python3-venv"])?;
    }
    println!("== installing {PACKAGE} {VERSION}");
    let start = Instant::now();
    // Whole or not at all.
    let parent = directory.parent().context("the directory has a parent")?;
    fs::create_dir_all(parent).context("the target directory can't be written")?;
    let partial = tempfile::Builder::new().prefix(".partial-").tempdir_in(parent).context("no directory")?;
    start_and_wait(Command::new("python3").args(["-m", "venv"]).arg(partial.path()))?;
    let mut pip = Command::new(partial.path().join("bin/python"));
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install"]);
    start_and_wait(pip.arg(format!("{PACKAGE}=={VERSION}")))?;
    let program = partial.path().join(PACKAGE);
    fs::write(&program, LAUNCHER).context("the directory can't be written")?;
    fs::set_permissions(&program, Permissions::from_mode(0o755)).context("the directory can't be written")?;
    ensure!(packages::quiet(Command::new(program).arg("--version")), "`{PACKAGE} --version` failed");
    if let Err(error) = fs::rename(partial.path(), directory) {
        // Another run of this chore was faster.
        ensure!(directory.join(PACKAGE).exists(), "can't move `{}`: {error}", directory.display());
    }
    println!("== installing {PACKAGE} {VERSION}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(())
}

fn start_and_wait(command: &mut Command) -> Result<()> {
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("can't start {:?}", command.get_program()))?;
    ensure!(status.success(), "{command:?} failed");
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
