//! The locks of a pool, which are files beside each other.
//!
//! One filler per pool: whoever holds its lock makes, refreshes and retires members. Claims need it not. Who only asks
//! whether somebody fills shares the lock for a moment, and keeps no filler from it.
//!
//! The one for reading is held by whoever chooses, makes or takes out checkouts to read in.
//!
//! The template's is shared by those who copy from it, and held alone by who changes it.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use spinney_core::RepositoryId;

use crate::home::layout;
use crate::notice::{Notice, Observer, Phase};
use crate::{Engine, Error, Result};

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

const FILLING: &str = "lock";
const TEMPLATE: &str = "template";
const READING: &str = "reading";

/// Given up on drop.
#[derive(Debug)]
pub(crate) struct PoolLock {
    path: PathBuf,
    file: File,
}

impl PoolLock {
    /// Changes how it is held; `false` while others are in the way.
    fn try_hold(&self, how: FlockOperation) -> Result<bool> {
        match flock(&self.file, how) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(Error::files(&self.path, "locked")(error.into())),
        }
    }
}

impl Engine {
    /// The place of a pool's own files.
    pub(super) fn pool_place(&self, repository: &RepositoryId, extension: &str) -> PathBuf {
        self.home.root().join("pools").join(format!("{repository}.{extension}"))
    }

    /// Takes the lock; none while somebody else fills.
    pub(super) async fn try_lock_pool(&self, repository: &RepositoryId) -> Result<Option<PoolLock>> {
        let lock = self.open_pool_lock(repository, FILLING)?;
        loop {
            if lock.try_hold(FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Some(lock));
            }
            if !lock.try_hold(FlockOperation::NonBlockingLockShared)? {
                return Ok(None);
            }
            // Somebody only looked.
            lock.try_hold(FlockOperation::Unlock)?;
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }

    /// Whether somebody fills now.
    pub(super) fn is_pool_locked(&self, repository: &RepositoryId) -> Result<bool> {
        let lock = self.open_pool_lock(repository, FILLING)?;
        Ok(!lock.try_hold(FlockOperation::NonBlockingLockShared)?)
    }

    /// Holds the template as it is; none while somebody changes it.
    pub(crate) fn try_share_template(&self, repository: &RepositoryId) -> Result<Option<PoolLock>> {
        let lock = self.open_pool_lock(repository, TEMPLATE)?;
        Ok(lock.try_hold(FlockOperation::NonBlockingLockShared)?.then_some(lock))
    }

    /// Takes the template alone, to change it; none while somebody copies from it.
    pub(super) fn try_own_template(&self, repository: &RepositoryId) -> Result<Option<PoolLock>> {
        let lock = self.open_pool_lock(repository, TEMPLATE)?;
        Ok(lock.try_hold(FlockOperation::NonBlockingLockExclusive)?.then_some(lock))
    }

    /// Waits until nobody else chooses, makes or takes out checkouts to read in.
    pub(super) async fn lock_reading(&self, repository: &RepositoryId) -> Result<PoolLock> {
        let lock = self.open_pool_lock(repository, READING)?;
        while !lock.try_hold(FlockOperation::NonBlockingLockExclusive)? {
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
        Ok(lock)
    }

    fn open_pool_lock(&self, repository: &RepositoryId, extension: &str) -> Result<PoolLock> {
        let path = self.pool_place(repository, extension);
        let directory = self.home.root().join("pools");
        layout::make_private_directory(&directory).map_err(Error::files(&directory, "made"))?;
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(Error::files(&path, "opened"))?;
        Ok(PoolLock { path, file })
    }

    /// Waits for the lock, however long somebody else fills.
    pub(super) async fn lock_pool(&self, repository: &RepositoryId, observer: &dyn Observer) -> Result<PoolLock> {
        loop {
            if let Some(lock) = self.try_lock_pool(repository).await? {
                return Ok(lock);
            }
            observer(Notice::Phase(Phase::WaitingForPool));
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }
}
