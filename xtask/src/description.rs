//! GitHub's published description of its API, from the npm registry, kept among what cargo builds.

use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::chore;
use crate::packages;

const PACKAGE: &str = "@octokit/openapi";
const VERSION: &str = "23.0.2";
/// The only file of the package that is needed, and a small part of it.
const FILE: &str = "package/generated/api.github.com.json";

/// Whether it was fetched before.
pub fn is_there() -> bool {
    place().is_ok_and(|file| file.is_file())
}

fn place() -> Result<PathBuf> {
    let file = chore::target_dir().join("descriptions").join(format!("github-{VERSION}.json"));
    path::absolute(file).context("the target directory is odd")
}

/// Names the file to the tests.
const VARIABLE: &str = "SPINNEY_TEST_GITHUB_DESCRIPTION";

/// The variable that names the description to the tests; fetched where it is missing.
pub fn provide() -> Result<(&'static str, PathBuf)> {
    let file = place()?;
    let directory = file.parent().context("it has a directory")?;
    if !file.is_file() {
        println!("== fetching GitHub's API description");
        let start = Instant::now();
        fs::create_dir_all(directory).with_context(|| format!("can't make `{}`", directory.display()))?;
        fetch(directory, &file)?;
        println!("== fetching GitHub's API description: done in {:.1} s\n", start.elapsed().as_secs_f64());
    }
    Ok((VARIABLE, file))
}

fn fetch(directory: &Path, file: &Path) -> Result<()> {
    if !packages::is_there("npm") {
        packages::install("npm", &["npm"])?;
    }
    // On the same file system, so that the file appears whole or not at all.
    let temporary = tempfile::tempdir_in(directory).context("no temporary directory")?;
    let package = format!("{PACKAGE}@{VERSION}");
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--pack-destination", ".", &package]).current_dir(temporary.path());
    let packed = npm.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("can't start npm")?;
    ensure!(packed.status.success(), "`npm pack {package}` failed");
    let archive = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    let mut tar = Command::new("tar");
    tar.args(["-xzf", &archive, FILE]).current_dir(temporary.path());
    let status = tar.stdin(Stdio::null()).status().context("can't start tar")?;
    ensure!(status.success(), "`{archive}` has no `{FILE}`");
    fs::rename(temporary.path().join(FILE), file).context("can't keep the description")
}
