//! One process of a home attends to schedules at a time: whoever holds this file.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Error, Result};

/// Given up on drop, and with its process.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do while a child that is just being started still has the file open too.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    /// Takes the lock; none while somebody has it.
    pub fn take(path: &Path) -> Result<Option<Self>> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|source| Error::files(path, "opened", source))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Error::files(path, "locked", error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_one_holder() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("schedules.lock");
        let lock = Lock::take(&path).unwrap();
        assert!(lock.is_some() && Lock::take(&path).unwrap().is_none());
        drop(lock);
        assert!(Lock::take(&path).unwrap().is_some());
    }
}
