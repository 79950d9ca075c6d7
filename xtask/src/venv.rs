//! Programs and libraries of PyPI, each set in a directory of its own among what cargo builds.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::packages;

/// Installs packages, as `name==1.0`, into a directory, whole or not at all; `finish` gets the directory before it is
/// moved to its place.
pub fn install(requirements: &[String], directory: &Path, finish: impl Fn(&Path) -> Result<()>) -> Result<()> {
    if !packages::quiet(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        packages::install("Python's venv", &["python3", "python3-venv"])?;
    }
    let names = requirements.join(", ");
    println!("== installing {names}");
    let start = Instant::now();
    let parent = directory.parent().context("the directory has a parent")?;
    fs::create_dir_all(parent).context("the target directory can't be written")?;
    let partial = tempfile::Builder::new().prefix(".partial-").tempdir_in(parent).context("no directory")?;
    start_and_wait(Command::new("python3").args(["-m", "venv"]).arg(partial.path()))?;
    let mut pip = Command::new(partial.path().join("bin/python"));
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "install"]);
    start_and_wait(pip.args(requirements))?;
    finish(partial.path())?;
    if let Err(error) = fs::rename(partial.path(), directory) {
        // Another run of this chore was faster.
        ensure!(directory.join("bin/python").exists(), "can't move `{}`: {error}", directory.display());
    }
    println!("== installing {names}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(())
}

fn start_and_wait(command: &mut Command) -> Result<()> {
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("can't start {:?}", command.get_program()))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
