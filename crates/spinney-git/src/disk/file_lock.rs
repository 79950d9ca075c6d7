//! A lock that one task of one process holds: a mutex within the process, `flock` on a file across processes.
//!
//! The kernel drops the file's lock when the last descriptor of it is closed: a process that dies leaves none behind,
//! and a child that inherited the descriptor keeps it. It is therefore never unlocked, only closed. The file says who
//! holds it, for the message of whoever waits in vain.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use spinney_core::Timestamp;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::time::Instant;

use crate::git::GitOptions;
use crate::process::threads::expect_patience;
use crate::repository::lock::{Holder, OnWait};
use crate::{Error, Result};

/// One mutex for each lock file, so that tasks of this process queue in order instead of polling.
static QUEUES: LazyLock<Mutex<HashMap<PathBuf, Arc<AsyncMutex<()>>>>> = LazyLock::new(Mutex::default);

const FIRST_POLL: Duration = Duration::from_millis(1);
const LONGEST_POLL: Duration = Duration::from_millis(20);

/// A lock that is not free after this long is worth telling.
const TELL_AFTER: Duration = Duration::from_secs(1);

/// How a lock is waited for.
#[derive(Debug)]
pub(crate) struct Wait {
    at_most: Duration,
    /// The same where whoever holds it is stopped.
    for_stopped: Duration,
    tell: Option<OnWait>,
}

impl Wait {
    /// For one that is held for as long as files and refs are changed.
    pub(crate) fn for_moment(options: &GitOptions) -> Self {
        Self { at_most: options.lock_timeout, for_stopped: options.lock_timeout, tell: options.on_wait.clone() }
    }

    /// For one that is held for as long as a remote takes.
    pub(crate) fn for_network(options: &GitOptions, silence: Option<Duration>) -> Self {
        let at_most = options.network_timeout + options.lock_timeout;
        let for_stopped = silence.unwrap_or(options.lock_timeout);
        Self { at_most, for_stopped, tell: options.on_wait.clone() }
    }
}

#[derive(Debug)]
pub(crate) struct FileLock {
    path: PathBuf,
    // Closed before the queue moves on, so that the next in this process finds the file free.
    file: File,
    _turn: OwnedMutexGuard<()>,
}

impl FileLock {
    /// Waits for the lock, at most as long as said.
    pub(crate) async fn acquire(path: &Path, purpose: &str, wait: &Wait) -> Result<Self> {
        expect_patience(purpose);
        let acquiring = Self::acquire_in_turn(path, purpose, wait);
        tokio::pin!(acquiring);
        match tokio::time::timeout(TELL_AFTER, &mut acquiring).await {
            Ok(acquired) => acquired,
            Err(_) => {
                if let (Some(tell), Some(holder)) = (&wait.tell, Holder::load(path)) {
                    tell.tell(&holder);
                }
                acquiring.await
            }
        }
    }

    async fn acquire_in_turn(path: &Path, purpose: &str, wait: &Wait) -> Result<Self> {
        let started = Instant::now();
        let deadline = started + wait.at_most;
        let queue = {
            let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
            queues.entry(path.to_owned()).or_default().clone()
        };
        let waited_in_vain = || Error::LockTimeout { holder: Holder::load(path), waited: started.elapsed() };
        let turn = tokio::time::timeout_at(deadline, queue.lock_owned()).await.map_err(|_| waited_in_vain())?;
        let mut poll = FIRST_POLL;
        loop {
            if let Some(file) = try_lock(path)? {
                let mut lock = Self { path: path.to_owned(), file, _turn: turn };
                lock.sign(purpose);
                return Ok(lock);
            }
            let in_vain =
                || started.elapsed() >= wait.for_stopped && Holder::load(path).is_some_and(|it| it.is_stopped());
            if Instant::now() >= deadline || in_vain() {
                return Err(waited_in_vain());
            }
            tokio::time::sleep(poll.mul_f64(0.5 + jitter())).await;
            poll = (poll * 2).min(LONGEST_POLL);
        }
    }

    /// A descriptor of the same lock, for a child to keep.
    pub(crate) fn descriptor(&self) -> Option<OwnedFd> {
        self.file.try_clone().ok().map(OwnedFd::from)
    }

    /// Removes the file while it is held, for a lock that nobody will need again.
    pub(crate) fn remove(self) {
        // Who waits for it finds that the name no longer leads to the file it locked, and starts over.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Writes who holds it. Only a message depends on that, so a full disk must not stop the work.
    fn sign(&mut self, purpose: &str) {
        let holder = Holder { pid: std::process::id(), purpose: purpose.to_owned(), since: Timestamp::now() };
        let _ = self.file.set_len(0);
        let _ = self.file.rewind();
        let _ = self.file.write_all(holder.to_line().as_bytes());
    }
}

/// Takes the lock if it is free.
fn try_lock(path: &Path) -> Result<Option<File>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| Error::io("open the lock", path, source))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => return Err(Error::io("lock", path, source)),
    }
    // The file may have been removed between opening and locking it.
    let same = match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.ino() == named.ino() && held.dev() == named.dev(),
        _ => false,
    };
    Ok(same.then_some(file))
}

fn jitter() -> f64 {
    let mut byte = [0u8; 1];
    let _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 256.0
}
