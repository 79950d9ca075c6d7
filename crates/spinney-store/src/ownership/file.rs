//! A file that its owner has locked. The lock belongs to the open file: whoever is handed that holds it too.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use super::{OwnershipError, Result};

#[derive(Debug)]
pub(super) struct LockedFile {
    path: PathBuf,
    file: File,
}

impl LockedFile {
    /// Locks a file, which is made if it is missing; none while somebody else has it locked, for so many tries.
    pub(super) fn take(path: PathBuf, tries: u32) -> Result<Option<Self>> {
        let mut tries_left = tries;
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path).map_err(failed(&path, "opened"))?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) if tries_left > 0 => {
                    tries_left -= 1;
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(failed(&path, "locked")(error.into())),
            }
            // The last owner may have removed the file between our opening and locking it.
            if is_same(&file, &path) {
                return Ok(Some(Self { path, file }));
            }
        }
    }

    /// Makes a locked file, which gets its name once it is locked.
    pub(super) fn make(path: PathBuf) -> Result<Self> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let aside = path.with_file_name(name);
        let opened = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&aside);
        let file = opened.map_err(failed(&aside, "made"))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed(&aside, "locked")(error.into()))?;
        fs::rename(&aside, &path).map_err(failed(&path, "made"))?;
        Ok(Self { path, file })
    }

    /// The file that this process has as its standard input, if it is that one. Standard input leads nowhere from then on.
    pub(super) fn inherit(path: PathBuf) -> Result<Option<Self>> {
        let taken = |error: Errno| failed(&path, "taken over")(error.into());
        let file = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3).map_err(taken)?);
        if !is_same(&file, &path) {
            return Ok(None);
        }
        let nowhere = File::open("/dev/null").map_err(failed(Path::new("/dev/null"), "opened"))?;
        rustix::stdio::dup2_stdin(&nowhere).map_err(taken)?;
        Ok(Some(Self { path, file }))
    }

    /// The same open file once more.
    pub(super) fn carrier(&self) -> Result<File> {
        self.file.try_clone().map_err(failed(&self.path, "handed over"))
    }

    /// Whether its path still leads to it.
    pub(super) fn is_in_place(&self) -> bool {
        is_same(&self.file, &self.path)
    }

    pub(super) fn unlock(&self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }

    /// Removes the file.
    pub(super) fn forget(&self) {
        // A file that stays holds nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether somebody has a file locked. It is nobody's if it is missing.
pub(super) fn is_locked(path: &Path) -> Result<bool> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(path, "opened")(error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(error) => Err(failed(path, "locked")(error.into())),
    }
}

/// Opens a regular file to look at it; follows no link and waits for nobody.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file")),
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> OwnershipError {
    let path = path.to_owned();
    move |source| OwnershipError { path, doing, source }
}
