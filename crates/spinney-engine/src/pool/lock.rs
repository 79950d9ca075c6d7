//! One filler per pool: whoever holds this lock makes, refreshes and retires members. Claims need it not.
//!
//! Who only asks whether somebody fills shares the lock for a moment, and keeps no filler from it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use spinney_core::RepositoryId;

use crate::notice::{Notice, Observer, Phase};
use crate::{Engine, Error, Result, home};

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Given up on drop.
#[derive(Debug)]
pub(super) struct PoolLock {
    _file: File,
}

impl Engine {
    /// The place of a pool's own files.
    pub(super) fn pool_place(&self, repository: &RepositoryId, extension: &str) -> PathBuf {
        self.home.root().join("pools").join(format!("{repository}.{extension}"))
    }

    /// Takes the lock; none while somebody else fills.
    pub(super) async fn try_lock_pool(&self, repository: &RepositoryId) -> Result<Option<PoolLock>> {
        let (path, file) = self.open_pool_lock(repository)?;
        loop {
            if try_flock(&path, &file, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(PoolLock { _file: file }));
            }
            if !try_flock(&path, &file, FlockOperation::NonBlockingLockShared)? {
                return Ok(None);
            }
            // Somebody only looked.
            try_flock(&path, &file, FlockOperation::Unlock)?;
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }

    /// Whether somebody fills now.
    pub(super) fn is_pool_locked(&self, repository: &RepositoryId) -> Result<bool> {
        let (path, file) = self.open_pool_lock(repository)?;
        Ok(!try_flock(&path, &file, FlockOperation::NonBlockingLockShared)?)
    }

    fn open_pool_lock(&self, repository: &RepositoryId) -> Result<(PathBuf, File)> {
        let path = self.pool_place(repository, "lock");
        let directory = self.home.root().join("pools");
        home::make_private_directory(&directory).map_err(Error::files(&directory, "made"))?;
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(Error::files(&path, "opened"))?;
        Ok((path, file))
    }

    /// Waits for the lock, however long somebody else fills.
    pub(super) async fn lock_pool(&self, repository: &RepositoryId, observer: Observer<'_>) -> Result<PoolLock> {
        loop {
            if let Some(lock) = self.try_lock_pool(repository).await? {
                return Ok(lock);
            }
            observer(Notice::Phase(Phase::WaitingForPool));
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }
}

/// Changes a lock; `false` while others hold it.
fn try_flock(path: &Path, file: &File, operation: FlockOperation) -> Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(Error::files(path, "locked")(error.into())),
    }
}
