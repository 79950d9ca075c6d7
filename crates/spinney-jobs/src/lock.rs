//! Who runs a job: whoever holds its file lock (`jobs/<id>` in the home), never a pid.
//!
//! The lock is taken before the job's row says that it waits or runs, and is handed to the job's process as its standard
//! input: the lock belongs to the open file, so that there is no moment at which nobody holds it. A row that is not over
//! and whose lock is free belongs to a process that died.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use spinney_core::JobId;

use crate::{Error, Result};

/// How often a lock that seems to be held is tried again.
const LOOKERS: u32 = 3;

/// The right to run one job; given up on drop.
#[derive(Debug)]
pub struct JobLock {
    path: PathBuf,
    file: File,
}

impl JobLock {
    /// Takes the lock of a job; none while somebody has it.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>> {
        let mut tries = 0;
        loop {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(path).map_err(|source| Error::files(path, "opened", source))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // Somebody may only be looking whether it is held, which takes a moment.
                Err(rustix::io::Errno::WOULDBLOCK) if tries < LOOKERS => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(Error::files(path, "locked", error.into())),
            }
            // The last owner may have removed the file between our opening and locking it.
            if is_same(&file, path) {
                return Ok(Some(Self { path: path.to_owned(), file }));
            }
        }
    }

    /// The lock that this process was started with, as its standard input; else the lock, if it is free.
    ///
    /// Standard input leads nowhere from then on, so that nothing that is started later keeps the lock.
    pub(crate) fn inherit(path: &Path) -> Result<Option<Self>> {
        let failed = |source: rustix::io::Errno| Error::files(path, "taken over", source.into());
        let file = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3).map_err(failed)?);
        if !is_same(&file, path) {
            return Self::take(path);
        }
        let nowhere =
            File::open("/dev/null").map_err(|source| Error::files(Path::new("/dev/null"), "opened", source))?;
        rustix::stdio::dup2_stdin(&nowhere).map_err(failed)?;
        Ok(Some(Self { path: path.to_owned(), file }))
    }

    /// A standard input that carries the lock to another process.
    pub(crate) fn carrier(&self) -> Result<File> {
        self.file.try_clone().map_err(|source| Error::files(&self.path, "handed over", source))
    }

    /// Ends it, once the row says that the job is over.
    pub(crate) fn discard(self) {
        // A file that stays holds nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether nobody holds a job's lock.
pub(crate) fn is_free(path: &Path) -> bool {
    match spinney_git::open_regular(path) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Where a job's lock is in a home.
pub(crate) fn place(home: &Path, id: &JobId) -> PathBuf {
    home.join("jobs").join(id.as_str())
}

/// Where the files of jobs lie in a home.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: PathBuf,
}

impl Places {
    /// Makes the directories that are missing, for their owner only.
    pub(crate) fn open(home: &Path) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        for name in ["jobs", "logs"] {
            let path = home.join(name);
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|source| Error::files(&path, "made", source))?;
        }
        Ok(Self { root: home.to_owned() })
    }

    pub(crate) fn lock(&self, id: &JobId) -> PathBuf {
        place(&self.root, id)
    }

    /// The job's prompt, for programs that want it in a file.
    pub(crate) fn prompt(&self, id: &JobId) -> PathBuf {
        self.root.join("jobs").join(format!("{id}.prompt"))
    }

    pub(crate) fn log(&self, id: &JobId) -> PathBuf {
        self.root.join("logs").join(format!("{id}.jsonl"))
    }

    /// What a job's process said when it could not say it in the log.
    pub(crate) fn last_words(&self, id: &JobId) -> PathBuf {
        self.root.join("jobs").join(format!("{id}.stderr"))
    }

    /// Is written to whenever something happens that a waiting process wants to know: a look at its time costs nothing.
    pub(crate) fn bell(&self) -> PathBuf {
        self.root.join("jobs").join("bell")
    }

    pub(crate) fn ring(&self) {
        // Who waits looks by itself too, only later.
        let _ = fs::write(self.bell(), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_owner_and_ends_with_it() {
        let home = tempfile::tempdir().unwrap();
        let places = Places::open(home.path()).unwrap();
        let path = places.lock(&JobId::generate());
        assert!(is_free(&path));
        let lock = JobLock::take(&path).unwrap().unwrap();
        assert!(!is_free(&path));
        assert!(JobLock::take(&path).unwrap().is_none());
        let carrier = lock.carrier().unwrap();
        drop(lock);
        assert!(!is_free(&path), "it is carried on");
        drop(carrier);
        assert!(is_free(&path));
        JobLock::take(&path).unwrap().unwrap().discard();
        assert!(!path.exists() && is_free(&path));
    }
}
