//! One filler per pool: whoever holds this lock makes, refreshes and retires members. Claims need it not.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use spinney_core::RepositoryId;

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
    pub(super) fn try_lock_pool(&self, repository: &RepositoryId) -> Result<Option<PoolLock>> {
        let path = self.pool_place(repository, "lock");
        let directory = self.home.root().join("pools");
        home::make_private_directory(&directory).map_err(Error::files(&directory, "made"))?;
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(Error::files(&path, "opened"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(PoolLock { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Error::files(&path, "locked")(error.into())),
        }
    }

    /// Waits for the lock, however long somebody else fills.
    pub(super) async fn lock_pool(&self, repository: &RepositoryId) -> Result<PoolLock> {
        loop {
            if let Some(lock) = self.try_lock_pool(repository)? {
                return Ok(lock);
            }
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }
}
