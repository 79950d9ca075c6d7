//! Debian packages that the tests need, installed where that is possible.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

/// Where programs of the system are, often off an ordinary user's `PATH`.
const SYSTEM_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];
/// What makes the file systems that some tests run on: each program, and the package it is in.
const FILE_SYSTEMS: [(&str, &str); 3] =
    [("mkfs.xfs", "xfsprogs"), ("mkfs.btrfs", "btrfs-progs"), ("btrfs", "btrfs-progs")];

/// Installs what the tests on other file systems need. Those tests are left out, and say so, where it can't be had.
pub fn provide_file_systems() {
    let mut missing: Vec<_> = FILE_SYSTEMS.iter().filter(|(name, _)| !is_there(name)).map(|found| found.1).collect();
    missing.dedup();
    if missing.is_empty() {
        return;
    }
    if let Err(error) = install("XFS and btrfs", &missing) {
        println!("== tests on other file systems are left out: {error:#}\n");
    }
}

/// Installs git-lfs. Tests of its files are left out, and say so, where it can't be had.
pub fn provide_git_lfs() {
    if !is_there("git-lfs")
        && let Err(error) = install("git-lfs", &["git-lfs"])
    {
        println!("== tests of git-lfs are left out: {error:#}\n");
    }
}

/// Whether a program can be started by its name, or is one of the system's.
pub fn is_there(program: &str) -> bool {
    find(program).is_some()
}

/// Where a program on `PATH`, or of the system, is.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(SYSTEM_PROGRAMS.map(Into::into));
    places.map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Installs packages of Debian.
pub fn install(what: &str, packages: &[&str]) -> Result<()> {
    let missing = || format!("{what} is missing: install it, for example `apt-get install {}`", packages.join(" "));
    ensure!(is_there("apt-get"), missing());
    let sudo: &[&str] = if is_root()? {
        &["env"]
    } else if quiet(Command::new("sudo").args(["-n", "true"])) {
        &["sudo", "-n", "env"]
    } else {
        bail!("{} (neither root nor `sudo` without a password)", missing());
    };
    println!("== installing {what}");
    let start = Instant::now();
    let install = [&["install", "--yes", "--no-install-recommends"][..], packages].concat();
    let apt_get = |arguments: &[&str]| -> Result<bool> {
        let mut command = Command::new(sudo[0]);
        command.args(&sudo[1..]).args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]).args(arguments);
        Ok(command.stdin(Stdio::null()).status().context("can't start apt-get")?.success())
    };
    // Lists that are missing or old are no reason to give up, and fresh ones none to fetch them again.
    if !apt_get(&install)? {
        ensure!(apt_get(&["update"])?, "`apt-get update` failed");
        ensure!(apt_get(&install)?, "`apt-get {}` failed", install.join(" "));
    }
    println!("== installing {what}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a command succeeds; what it prints is of no interest.
pub fn quiet(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

pub fn is_root() -> Result<bool> {
    // A directory that we just made is ours.
    let probe = tempfile::tempdir().context("no temporary directory")?;
    Ok(probe.path().metadata().context("no temporary directory")?.uid() == 0)
}
