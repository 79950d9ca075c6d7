//! Locks of refs and indexes that a killed git left behind. Git never removes them, and refuses to change what they lock
//! for ever after.
//!
//! A lock is stale when it is older than any change of a ref takes, and no git runs that may have made it: one that is
//! old enough, and works on this repository or won't say on which. Where that can't be asked (no `/proc`), none is.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::process::command::{Command, Output};
use crate::repository::opened::Repository;
use crate::worktree::linked::read_pointer;
use crate::{Error, Result};

/// A lock that is younger may belong to a program that is no git.
const MIN_AGE: Duration = Duration::from_secs(1);
/// How long a change waits for others' locks.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);
/// When the system started is known to the second only.
const SLACK: Duration = Duration::from_secs(2);

/// Refs that a worktree has beside those below `refs`; `git switch` changes or drops each of them.
const PSEUDO_REFS: [&str; 6] = ["HEAD", "ORIG_HEAD", "AUTO_MERGE", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

impl Repository {
    /// Runs a call that changes refs, under the repository's lock, or a worktree's index; waits for what somebody else has
    /// locked, and clears a stale lock away.
    pub(crate) async fn run_patiently(&self, build: impl Fn() -> Command + Send + Sync) -> Result<Output> {
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

    /// Lists the stale locks of this repository's refs, those of its worktrees among them, and of what was moved to the trash
    /// with a lock in it: it would come back locked.
    #[must_use]
    pub fn stale_locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.common_dir().join("packed-refs.lock")];
        collect(&self.common_dir().join("refs"), &mut locks);
        let live = fs::read_dir(self.common_dir().join("worktrees"));
        let trashed = fs::read_dir(self.state_dir());
        for git_dir in live.into_iter().chain(trashed).flatten().flatten() {
            locks.extend(locks_of_pseudo_refs(&git_dir.path()));
            // Of one that is whole by itself.
            locks.push(git_dir.path().join("packed-refs.lock"));
            collect(&git_dir.path().join("refs"), &mut locks);
        }
        locks.retain(|lock| self.is_stale(lock));
        locks
    }

    /// The stale locks of what is beside the refs in a git dir, as HEAD.
    #[must_use]
    pub fn stale_locks_of_pseudo_refs(&self, git_dir: &Path) -> Vec<PathBuf> {
        locks_of_pseudo_refs(git_dir).filter(|lock| self.is_stale(lock)).collect()
    }

    /// Removes a lock of a ref or an index, if it is stale.
    pub fn clear_if_stale(&self, lock: &Path) -> bool {
        let ours = lock.starts_with(self.common_dir()) && lock.extension().is_some_and(|extension| extension == "lock");
        ours && self.is_stale(lock) && fs::remove_file(lock).is_ok()
    }

    /// Whether a lock is old, and no git runs that can have made it.
    #[must_use]
    pub fn is_stale(&self, lock: &Path) -> bool {
        let made = fs::symlink_metadata(lock).and_then(|metadata| metadata.modified());
        let Ok(made) = made else { return false };
        let old = SystemTime::now().duration_since(made).is_ok_and(|age| age >= MIN_AGE);
        old && load_gits().is_some_and(|gits| {
            let places = self.places();
            !gits.iter().any(|git| git.started <= made + SLACK && may_work_in(&git.process, &places))
        })
    }

    /// Where a git that works on this repository is: its git dir, its main checkout, its worktrees.
    fn places(&self) -> Vec<PathBuf> {
        let admin_dirs = fs::read_dir(self.common_dir().join("worktrees")).into_iter().flatten().flatten();
        let trees = admin_dirs.filter_map(|admin_dir| read_pointer(&admin_dir.path().join("gitdir")));
        let trees = trees.filter_map(|pointer| Some(Path::new(&pointer).parent()?.to_owned()));
        let own = [Some(self.common_dir()), self.root()].into_iter().flatten().map(Path::to_owned);
        own.chain(trees).collect()
    }
}

fn locks_of_pseudo_refs(git_dir: &Path) -> impl Iterator<Item = PathBuf> {
    PSEUDO_REFS.iter().map(|name| git_dir.join(format!("{name}.lock")))
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

/// A git that runs.
struct RunningGit {
    process: PathBuf,
    started: SystemTime,
}

/// Whether a git may work on the repository at these places. Without a git dir of its own choice it is where it works.
fn may_work_in(process: &Path, places: &[PathBuf]) -> bool {
    let told = || {
        io::Result::Ok((
            fs::read_link(process.join("cwd"))?,
            fs::read(process.join("environ"))?,
            fs::read(process.join("cmdline"))?,
        ))
    };
    let (directory, environment, words) = match told() {
        Ok(told) => told,
        // One that has ended meanwhile works nowhere; one that won't say may work anywhere.
        Err(error) => return !has_ended(&error),
    };
    let named = environment.split(|byte| *byte == 0).filter(|variable| variable.starts_with(b"GIT_"));
    let elsewhere = |path: &Path| !places.iter().any(|place| path.starts_with(place));
    let chooses = words.split(|byte| *byte == 0).any(|word| word.starts_with(b"--git-dir"));
    let names_ours = named.into_iter().any(|variable| {
        places.iter().any(|place| {
            let place = place.as_os_str().as_bytes();
            variable.windows(place.len()).any(|window| window == place)
        })
    });
    chooses || names_ours || !elsewhere(&directory)
}

/// Whether `/proc` says so that there is no such process any more.
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

/// The gits that run; none where the system does not tell.
fn load_gits() -> Option<Vec<RunningGit>> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let booted = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let booted = SystemTime::UNIX_EPOCH + Duration::from_secs(booted);
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let git = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let process = entry.path();
        let start = parse_start(&fs::read_to_string(process.join("stat")).ok()?)?;
        Some(RunningGit { process, started: booted + Duration::from_secs(start / ticks) })
    };
    Some(fs::read_dir("/proc").ok()?.flatten().filter_map(git).collect())
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
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

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
    fn a_process_works_where_it_is_or_where_its_environment_says() {
        let directory = tempfile::tempdir().unwrap();
        let own = Path::new("/proc/self");
        let here = std::env::current_dir().unwrap();
        assert!(may_work_in(own, &[here]));
        assert!(!may_work_in(own, &[directory.path().to_owned()]));
        let unreadable = directory.path().join("unreadable");
        fs::write(&unreadable, "").unwrap();
        assert!(may_work_in(&unreadable, &[]));
        assert!(!may_work_in(&directory.path().join("ended"), &[]));
    }

    proptest! {
        #[test]
        fn no_process_makes_it_panic(stat in hostile::output(&["7 (", ") ", "git", "S ", "4242 "])) {
            let _ = parse_start(&String::from_utf8_lossy(&stat));
        }

        #[test]
        fn a_name_tells_nothing_of_the_start(rest in "[a-z() ]{0,12}", start in any::<u64>()) {
            let stat = format!("7 (git{rest}) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 {start} 1000 2 3");
            prop_assert_eq!(parse_start(&stat), Some(start));
        }
    }
}
