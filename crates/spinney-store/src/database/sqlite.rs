//! The file of a SQLite database: how it comes into being, and how its upgrades are kept apart.
//!
//! SQLite's locks belong to the process and are lost when *any* descriptor of the file is closed, so nothing here ever
//! opens a database file that SQLite may have open: it is looked at by name only.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use tokio::time::{Instant, sleep};

use crate::Error;

/// How long somebody else's upgrade is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(120);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// The first version whose write-ahead log can't lose a commit when it is reset.
pub(crate) const REQUIRED: &str = "3.51.3";

/// Whether a version is recent enough.
pub(crate) fn is_recent_enough(version: &str) -> bool {
    let numbers = |text: &str| text.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    numbers(version) >= numbers(REQUIRED)
}

/// Whether there is a file to open; an empty one counts as a database without any tables.
pub(crate) fn exists(path: &Path) -> Result<bool, Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(true),
        Ok(_) => Err(Error::Corrupt { path: path.to_owned(), source: None }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// What SQLite keeps beside a database: the changes that are not in it yet, and their index.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Refuses to make a database where another one's companions lie: that was moved away or deleted without them. SQLite would
/// take them for the new one's. Under the lock nobody makes one at the same time.
pub(crate) fn refuse_left_over(path: &Path) -> Result<(), Error> {
    let mut files = Vec::new();
    for companion in COMPANIONS.map(|suffix| beside(path, suffix)) {
        match fs::symlink_metadata(&companion) {
            Ok(_) => files.push(companion),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&companion, error)),
        }
    }
    if files.is_empty() { Ok(()) } else { Err(Error::LeftOver { path: path.to_owned(), files }) }
}

/// The same for an empty file in the place of a database: one with changes beside it was never empty.
pub(crate) fn refuse_emptied(path: &Path) -> Result<(), Error> {
    let length = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    if length(path) == 0 && length(&beside(path, "-wal")) > 0 { refuse_left_over(path) } else { Ok(()) }
}

/// Takes the lock under which a database is made and upgraded; it is free again when the file is dropped.
pub(crate) async fn lock(path: &Path) -> Result<File, Error> {
    let lock = beside(path, ".lock");
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| Error::io(directory, error))?;
    }
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&lock)
        .map_err(|error| Error::io(&lock, error))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < deadline => {
                sleep(LOCK_POLL).await;
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::Busy { place: path.display().to_string(), source: None });
            }
            Err(error) => return Err(Error::io(&lock, error.into())),
        }
    }
}

/// The file in which a new database is made; the caller holds the lock, so what lies there is a dead process's.
pub(crate) fn start_new(path: &Path) -> Result<PathBuf, Error> {
    let new = beside(path, ".new");
    for leftover in [new.clone(), beside(&new, "-wal"), beside(&new, "-shm"), beside(&new, "-journal")] {
        match fs::remove_file(&leftover) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io(&leftover, error)),
            _ => {}
        }
    }
    let options = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new);
    options.map_err(|error| Error::io(&new, error))?;
    Ok(new)
}

/// Gives a new database, complete and closed, its name.
pub(crate) fn finish_new(new: &Path, path: &Path) -> Result<(), Error> {
    File::open(new).and_then(|file| file.sync_all()).map_err(|error| Error::io(new, error))?;
    fs::rename(new, path).map_err(|error| Error::io(path, error))?;
    sync_directory(path)
}

/// Makes a rename durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(|error| Error::io(directory, error))
}

/// A file beside another: its name with something behind it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        assert!(is_recent_enough("3.51.3") && is_recent_enough("3.100.0") && is_recent_enough("4.0"));
        assert!(!is_recent_enough("3.51.2") && !is_recent_enough("3.9.9") && !is_recent_enough(""));
    }
}
