//! Debian packages that the tests need, installed where that is possible.

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Where programs of the system are, often off an ordinary user's `PATH`.
const SYSTEM_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];
/// How long another apt is waited for: a machine that was just started updates itself.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);
/// How often apt is asked again about a lock that it does not wait for itself.
const LOCK_PAUSE: Duration = Duration::from_secs(3);
/// What apt says, in English, about a lock that somebody else holds.
const LOCKED: [&str; 2] = ["Could not get lock", "Unable to lock directory"];

/// What could not be installed: it is not tried again for each thing that needs it.
static FAILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

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

/// How packages are installed here: what is put before `apt-get`, or why it can't be done.
pub fn means() -> Result<&'static [&'static str], &'static str> {
    let has_sudo = || quiet(Command::new("sudo").args(["-n", "true"]));
    decide(is_there("apt-get"), is_root().unwrap_or(false), has_sudo)
}

fn decide(
    has_apt: bool,
    is_root: bool,
    has_sudo: impl FnOnce() -> bool,
) -> Result<&'static [&'static str], &'static str> {
    match (has_apt, is_root) {
        (false, _) => Err("there is no `apt-get`"),
        (true, true) => Ok(&["env"]),
        (true, false) if has_sudo() => Ok(&["sudo", "-n", "env"]),
        (true, false) => Err("neither root nor `sudo` without a password"),
    }
}

/// Something that is not here, and can't be installed.
#[derive(Debug)]
pub struct Absent {
    pub what: String,
    packages: String,
    why: String,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, packages, why } = self;
        write!(f, "{what} is missing: install it, for example `apt-get install {packages}` ({why})")
    }
}

impl Error for Absent {}

/// Installs packages of Debian.
pub fn install(what: &str, packages: &[&str]) -> Result<()> {
    let command = packages.join(" ");
    let absent = |why: &str| Absent { what: what.to_owned(), packages: packages.join(" "), why: why.to_owned() };
    let prefix = means().map_err(absent)?;
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    ensure!(!failed.contains(&command), absent("apt-get failed before"));
    println!("== installing {what}");
    let start = Instant::now();
    if let Err(error) = run_apt(prefix, packages) {
        failed.insert(command);
        return Err(absent(&format!("{error:#}")).into());
    }
    println!("== installing {what}: done in {:.1} s\n", start.elapsed().as_secs_f64());
    Ok(())
}

fn run_apt(prefix: &[&str], packages: &[&str]) -> Result<()> {
    let install = [&["install", "--yes", "--no-install-recommends"][..], packages].concat();
    let apt_get = |arguments: &[&str]| {
        let mut command = apt_get(prefix, arguments);
        until_unlocked(LOCK_TIMEOUT, LOCK_PAUSE, || attempt(&mut command))
    };
    // Lists that are missing or old are no reason to give up, and fresh ones none to fetch them again.
    if !apt_get(&install)? {
        ensure!(apt_get(&["update"])?, "`apt-get update` failed");
        ensure!(apt_get(&install)?, "`apt-get {}` failed", install.join(" "));
    }
    Ok(())
}

/// `apt-get` in English, without questions, which waits for the lock of packages by itself.
fn apt_get(prefix: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(prefix[0]);
    command.args(&prefix[1..]).args(["DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", "--quiet"]);
    command.args(["-o", &format!("DPkg::Lock::Timeout={}", LOCK_TIMEOUT.as_secs())]).args(arguments);
    command
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Succeeded,
    Failed,
    /// Somebody else holds a lock.
    Locked,
}

/// Tries again for as long as somebody else holds a lock: `DPkg::Lock::Timeout` is not for the locks of lists and archives.
fn until_unlocked(timeout: Duration, pause: Duration, mut attempt: impl FnMut() -> Result<Attempt>) -> Result<bool> {
    let deadline = Instant::now() + timeout;
    loop {
        match attempt()? {
            Attempt::Succeeded => return Ok(true),
            Attempt::Locked if Instant::now() < deadline => thread::sleep(pause),
            Attempt::Failed | Attempt::Locked => return Ok(false),
        }
    }
}

/// Runs it once. What it complains about is passed on, and tells whether a lock is the reason.
fn attempt(command: &mut Command) -> Result<Attempt> {
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().context("can't start apt-get")?;
    let mut is_locked = false;
    for line in BufReader::new(child.stderr.take().context("it is piped")?).lines().map_while(Result::ok) {
        is_locked |= LOCKED.iter().any(|words| line.contains(words));
        eprintln!("{line}");
    }
    let status = child.wait().context("can't wait for apt-get")?;
    Ok(match (status.success(), is_locked) {
        (true, _) => Attempt::Succeeded,
        (false, true) => Attempt::Locked,
        (false, false) => Attempt::Failed,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_by_root_or_by_sudo_without_a_password() {
        let unasked = || panic!("root needs no sudo");
        assert_eq!(decide(true, true, unasked).unwrap(), ["env"]);
        assert_eq!(decide(true, false, || true).unwrap(), ["sudo", "-n", "env"]);
        assert_eq!(decide(true, false, || false), Err("neither root nor `sudo` without a password"));
        assert_eq!(decide(false, true, unasked), Err("there is no `apt-get`"));
    }

    #[test]
    fn apt_waits_for_its_lock() {
        let command = apt_get(&["sudo", "-n", "env"], &["install", "x"]);
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        assert!(words.windows(2).any(|pair| pair == ["-o", "DPkg::Lock::Timeout=600"]), "{words:?}");
        assert_eq!((command.get_program().to_str(), words.last()), (Some("sudo"), Some(&"x")));
    }

    #[test]
    fn a_lock_is_waited_for_and_another_failure_is_not() {
        let run = |outcomes: &[Attempt], timeout| {
            let mut left = outcomes.iter().copied();
            let outcome =
                until_unlocked(timeout, Duration::ZERO, || Ok(left.next().expect("no more attempts"))).unwrap();
            (outcome, left.count())
        };
        use Attempt::{Failed, Locked, Succeeded};
        assert_eq!(run(&[Locked, Locked, Succeeded], LOCK_TIMEOUT), (true, 0));
        assert_eq!(run(&[Failed, Succeeded], LOCK_TIMEOUT), (false, 1));
        assert_eq!(run(&[Locked, Succeeded], Duration::ZERO), (false, 1));
    }

    #[test]
    fn a_lock_is_told_from_other_complaints() {
        let say = |words: &str, status: u8| {
            attempt(Command::new("sh").args(["-c", &format!("echo '{words}' >&2; exit {status}")])).unwrap()
        };
        assert_eq!(
            say("E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt)", 100),
            Attempt::Locked
        );
        assert_eq!(say("E: Unable to locate package nope", 100), Attempt::Failed);
        assert_eq!(say("W: Could not get lock", 0), Attempt::Succeeded);
    }
}
