//! Locks of refs that a killed git left behind. Git never removes them, and refuses to change the ref for ever after.
//!
//! A lock is stale when it is older than any change of a ref takes, and no git runs that is old enough to have made it.
//! Where that can't be asked (no `/proc`), none is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::command::{Command, Output};
use crate::repository::Repository;
use crate::{Error, Result};

/// A lock that is younger may belong to a program that is no git.
const MIN_AGE: Duration = Duration::from_secs(1);
/// How long a change of a ref waits for others' locks.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);
/// When the system started is known to the second only.
const SLACK: Duration = Duration::from_secs(2);

impl Repository {
    /// Runs a call that changes refs, under the repository's lock; waits for a ref that somebody else has locked, and
    /// clears a stale lock away.
    pub(crate) async fn change_refs(&self, build: impl Fn() -> Command + Send + Sync) -> Result<Output> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let result = build().run().await;
            match &result {
                Err(Error::LockContention { what }) if tokio::time::Instant::now() < deadline => {
                    if !self.clear_if_stale(Path::new(what)) {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
                _ => return result,
            }
        }
    }

    /// Lists the stale locks of this repository's refs.
    #[must_use]
    pub fn stale_locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.common_dir().join("packed-refs.lock")];
        collect(&self.common_dir().join("refs"), &mut locks);
        locks.retain(|lock| is_stale(lock));
        locks
    }

    /// Removes a lock of a ref, if it is stale.
    pub fn clear_if_stale(&self, lock: &Path) -> bool {
        let ours = lock.starts_with(self.common_dir()) && lock.extension().is_some_and(|extension| extension == "lock");
        ours && is_stale(lock) && fs::remove_file(lock).is_ok()
    }
}

fn collect(directory: &Path, locks: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, locks);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            locks.push(path);
        }
    }
}

fn is_stale(lock: &Path) -> bool {
    let made = fs::symlink_metadata(lock).and_then(|metadata| metadata.modified());
    let Ok(made) = made else { return false };
    let old = SystemTime::now().duration_since(made).is_ok_and(|age| age >= MIN_AGE);
    old && gits_since_boot().is_some_and(|mut starts| starts.all(|start| start > made + SLACK))
}

/// When each git that runs was started; none where the system does not tell.
fn gits_since_boot() -> Option<impl Iterator<Item = SystemTime>> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let booted = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let booted = SystemTime::UNIX_EPOCH + Duration::from_secs(booted);
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        fs::read_to_string(entry.path().join("stat")).ok()
    });
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    Some(processes.filter_map(move |stat| Some(booted + Duration::from_secs(parse_start(&stat)? / ticks))))
}

/// When a process was started, in ticks since the system was, from its `stat`; none for what is no git or has ended.
fn parse_start(stat: &str) -> Option<u64> {
    // The name is in parentheses and may hold anything.
    let (name, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let alive = !matches!(fields.next()?, "Z" | "X");
    let is_git = name.split_once('(')?.1.starts_with("git");
    (alive && is_git).then(|| fields.nth(18)?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_git_that_runs_may_have_made_a_lock() {
        let stat = |name: &str, state: &str| {
            format!("7 ({name}) {state} 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 2 3")
        };
        assert_eq!(parse_start(&stat("git", "S")), Some(4242));
        assert_eq!(parse_start(&stat("git-remote-http", "R")), Some(4242));
        assert_eq!(parse_start(&stat("git", "Z")), None);
        assert_eq!(parse_start(&stat("a) b (git", "S")), None);
        assert_eq!(parse_start("nonsense"), None);
    }

    #[test]
    fn a_young_lock_is_not_stale() {
        let directory = tempfile::tempdir().unwrap();
        let lock = directory.path().join("x.lock");
        fs::write(&lock, "").unwrap();
        assert!(!is_stale(&lock) && !is_stale(&directory.path().join("none.lock")));
    }
}
