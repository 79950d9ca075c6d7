//! The lock of a repository: who changes refs or worktrees holds it, for as short a time as possible.
//!
//! It is `<common dir>/spinney/lock`, so that everybody who works on the repository meets at one place, whatever home
//! or user they come from.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Pid, test_kill_process};
use spinney_core::Timestamp;

use crate::Result;
use crate::disk::file_lock::{FileLock, Wait};
use crate::disk::regular::{POINTER_BYTES, read_regular_text};
use crate::repository::opened::Repository;

/// Proof that the repository is ours to change. Dropped, it is free again, unless a git process still runs with it.
#[derive(Debug)]
pub struct RepositoryLock {
    common_dir: PathBuf,
    file: FileLock,
}

impl RepositoryLock {
    /// The repository it belongs to.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub(crate) fn descriptor(&self) -> Option<OwnedFd> {
        self.file.descriptor()
    }
}

impl Repository {
    /// Waits for the repository's lock; `purpose` is what others are told while it is held.
    pub async fn lock(&self, purpose: &str) -> Result<RepositoryLock> {
        let path = self.require_state_dir()?.join("lock");
        let file = FileLock::acquire(&path, purpose, &Wait::for_moment(self.git().options())).await?;
        Ok(RepositoryLock { common_dir: self.common_dir().to_owned(), file })
    }
}

/// Is told, once for each lock that is waited for longer than a moment, who holds it.
#[derive(Clone)]
pub struct OnWait(Arc<dyn Fn(&Holder) + Send + Sync>);

impl OnWait {
    pub fn new(tell: impl Fn(&Holder) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, holder: &Holder) {
        (self.0)(holder);
    }
}

impl fmt::Debug for OnWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnWait")
    }
}

/// Who holds a lock, as they said themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    pub purpose: String,
    pub since: Timestamp,
}

impl Holder {
    /// Whether the process is there. A lock held by one that is gone is held by a git process it left behind.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        // Without permission to signal it, it is there.
        !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    }

    /// Whether the process was stopped (`SIGSTOP`, Ctrl-Z), and so ends nothing; false where that can't be told.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with(['T', 't']))
    }

    pub(crate) fn load(path: &Path) -> Option<Self> {
        Self::from_line(&read_regular_text(path, POINTER_BYTES).ok()?)
    }

    pub(crate) fn to_line(&self) -> String {
        format!("{} {} {}\n", self.pid, self.since.as_millisecond(), self.purpose.replace(char::is_control, " "))
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.trim_end_matches('\n').splitn(3, ' ');
        Some(Self {
            pid: parts.next()?.parse().ok()?,
            since: Timestamp::from_millisecond(parts.next()?.parse().ok()?),
            purpose: parts.next()?.to_owned(),
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, purpose, since } = self;
        if self.is_stopped() {
            write!(f, "process {pid}, which is stopped, for `{purpose}` since {since}")
        } else if self.is_alive() {
            write!(f, "process {pid} for `{purpose}` since {since}")
        } else {
            write!(
                f,
                "a git process that still runs, left by process {pid}, which ended; it was for `{purpose}` since {since}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_holder_reads_back(pid in 0u32..=u32::MAX, since in 0i64..4_000_000_000_000, purpose in "[^\\p{Cc}]{0,40}") {
            let holder = Holder { pid, purpose, since: Timestamp::from_millisecond(since) };
            prop_assert_eq!(Holder::from_line(&holder.to_line()), Some(holder));
        }

        #[test]
        fn no_content_makes_it_panic(text in "(?s).{0,60}") {
            let _ = Holder::from_line(&text);
        }
    }
}
