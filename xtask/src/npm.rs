//! Packages from npm's registry, in directories of our own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::packages;

/// Installs packages into a directory that is not there yet, whole or not at all. `finish` sees it before it gets its name.
pub fn install(packages: &[&str], directory: &Path, finish: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if !packages::is_there("npm") {
        packages::install("npm", &["npm"])?;
    }
    let names = packages.join(" and ");
    println!("== installing {names}");
    let start = Instant::now();
    let parent = directory.parent().context("the directory has a parent")?;
    fs::create_dir_all(parent).context("the target directory can't be written")?;
    let partial = tempfile::Builder::new().prefix(".partial-").tempdir_in(parent).context("no directory")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--prefix"]);
    npm.arg(partial.path()).args(packages);
    // Else npm takes the repository for the package to install into.
    let status = npm.current_dir(partial.path()).stdin(Stdio::null()).status().context("can't start npm")?;
    ensure!(status.success(), "`npm install` failed");
    finish(partial.path())?;
    if let Err(error) = fs::rename(partial.path(), directory) {
        // Another run of this chore was faster.
        ensure!(directory.exists(), "can't move `{}`: {error}", directory.display());
    }
    println!("== installing {names}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(())
}
