//! A tree's tracked files, made file by file from another tree's by sharing their blocks.
//!
//! 1. Every directory is made.
//! 2. Each file is opened in the template without following a link, compared with the index, shared, given the
//!    template's time, and compared once more: what was changed meanwhile is noticed.
//! 3. A handful of the new files is read and compared with the template's.
//! 4. The index of the new tree is the template's with what the file system says of the new files.
//!
//! A file keeps the template's time, so that it is older than the new index and git need not read it, and so that a
//! change within the same second is seen.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Timespec, Timestamps};
use rustix::io::Errno;
use spinney_git::{FileStat, Index, IndexDirectory, IndexEntry, IndexMode};

use super::CopyError;

type Result<T> = std::result::Result<T, CopyError>;

/// How many files are read again.
const SAMPLES: usize = 8;
/// How much of each.
const SAMPLE_BYTES: u64 = 1 << 20;

/// A tree that was made.
#[derive(Debug)]
pub(crate) struct Cloned {
    /// The bytes of its index, to be written when the files are to count as known.
    pub(crate) index: Vec<u8>,
}

/// Makes the template's tracked files in a directory that is empty but for its `.git`.
pub(crate) fn clone_tree(template: &Path, template_index: &Index, target: &Path) -> Result<Cloned> {
    if let Some(entry) = template_index.entries().iter().find(|entry| !entry.is_plain()) {
        return Err(CopyError::TemplateUnsuitable { path: entry.path().to_owned() });
    }
    let directories = template_index.directories();
    let trees = Trees { template: open_root(template)?, target: open_root(target)?, names: [template, target] };
    for directory in directories.iter().filter(|directory| !directory.path.is_empty()) {
        let path = OsStr::from_bytes(directory.path);
        // Every parent was made by us a moment ago.
        rustix::fs::mkdirat(&trees.target, path, Mode::from_raw_mode(0o777))
            .map_err(CopyError::files(&target.join(path), "made"))?;
    }
    let stopped = AtomicBool::new(false);
    let (first, second) = IndexDirectory::halves(&directories);
    let (ours, theirs) = std::thread::scope(|scope| {
        let other = scope.spawn(|| trees.clone_directories(second, &stopped));
        let ours = trees.clone_directories(first, &stopped);
        (ours, other.join())
    });
    let theirs = match theirs {
        Ok(theirs) => theirs,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    // A half that was stopped has no error of its own.
    let made = match (ours, theirs) {
        (Err(error), _) | (_, Err(error)) => return Err(error),
        (Ok(ours), Ok(theirs)) => ours.into_iter().chain(theirs),
    };
    let mut made: Vec<_> = made.collect();
    made.sort_unstable_by_key(|(entry, _)| entry.stat_offset);
    trees.compare_samples(template_index.entries())?;
    let stats: Vec<FileStat> = made.into_iter().map(|(_, stat)| stat).collect();
    Ok(Cloned { index: template_index.patch_stat(&stats)? })
}

struct Trees<'a> {
    template: OwnedFd,
    target: OwnedFd,
    /// What both are called, for messages.
    names: [&'a Path; 2],
}

impl Trees<'_> {
    /// Clones the files of some directories; stops where another thread failed.
    fn clone_directories<'b>(
        &self,
        directories: &[IndexDirectory<'b>],
        stopped: &AtomicBool,
    ) -> Result<Vec<(&'b IndexEntry, FileStat)>> {
        let mut made = Vec::with_capacity(directories.iter().map(|directory| directory.files.len()).sum());
        for directory in directories {
            let path = if directory.path.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(directory.path) };
            let changed = |_| CopyError::TemplateChanged { path: self.names[0].join(path) };
            let opened = open_beneath(&self.template, path).map_err(changed).and_then(|from| {
                let to = open_beneath(&self.target, path);
                Ok((from, to.map_err(CopyError::files(&self.names[1].join(path), "opened"))?))
            });
            let cloned = opened.and_then(|(from, to)| {
                for entry in &directory.files {
                    if stopped.load(Ordering::Relaxed) {
                        break;
                    }
                    made.push((*entry, self.clone_one(&from, &to, entry)?));
                }
                Ok(())
            });
            if cloned.is_err() {
                stopped.store(true, Ordering::Relaxed);
            }
            cloned?;
        }
        Ok(made)
    }

    fn clone_one(&self, from: &OwnedFd, to: &OwnedFd, entry: &IndexEntry) -> Result<FileStat> {
        if entry.mode == IndexMode::Link {
            return self.clone_link(from, to, entry);
        }
        let failed = |doing| move |errno| CopyError::of(&self.names[1].join(entry.path()), doing, errno);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source = rustix::fs::openat(from, entry.name(), flags, Mode::empty()).map_err(|_| self.changed(entry))?;
        self.require_unchanged(entry, rustix::fs::fstat(&source))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // As git makes them: the person's mask says who else may read.
        let mode = if entry.mode == IndexMode::Executable { 0o777 } else { 0o666 };
        let copy = rustix::fs::openat(to, entry.name(), flags, Mode::from_raw_mode(mode)).map_err(failed("made"))?;
        rustix::fs::ioctl_ficlone(&copy, &source)
            .map_err(|errno| CopyError::clone_of(&self.names[1].join(entry.path()), errno))?;
        let times = times_of(&self.require_unchanged(entry, rustix::fs::fstat(&source))?);
        rustix::fs::futimens(&copy, &times).map_err(failed("given its time"))?;
        self.stat_of_copy(entry, rustix::fs::fstat(&copy))
    }

    fn clone_link(&self, from: &OwnedFd, to: &OwnedFd, entry: &IndexEntry) -> Result<FileStat> {
        let failed = |doing| move |errno| CopyError::of(&self.names[1].join(entry.path()), doing, errno);
        let aimed = rustix::fs::readlinkat(from, entry.name(), Vec::new()).map_err(|_| self.changed(entry))?;
        let found = rustix::fs::statat(from, entry.name(), AtFlags::SYMLINK_NOFOLLOW);
        let times = times_of(&self.require_unchanged(entry, found)?);
        rustix::fs::symlinkat(&aimed, to, entry.name()).map_err(failed("made"))?;
        rustix::fs::utimensat(to, entry.name(), &times, AtFlags::SYMLINK_NOFOLLOW).map_err(failed("given its time"))?;
        self.stat_of_copy(entry, rustix::fs::statat(to, entry.name(), AtFlags::SYMLINK_NOFOLLOW))
    }

    fn require_unchanged(
        &self,
        entry: &IndexEntry,
        found: std::result::Result<rustix::fs::Stat, Errno>,
    ) -> Result<rustix::fs::Stat> {
        found.ok().filter(|found| entry.matches_stat(found)).ok_or_else(|| self.changed(entry))
    }

    fn changed(&self, entry: &IndexEntry) -> CopyError {
        CopyError::TemplateChanged { path: self.names[0].join(entry.path()) }
    }

    fn stat_of_copy(
        &self,
        entry: &IndexEntry,
        found: std::result::Result<rustix::fs::Stat, Errno>,
    ) -> Result<FileStat> {
        let path = self.names[1].join(entry.path());
        let found = found.map_err(CopyError::files(&path, "looked at"))?;
        FileStat::of_stat(&found).ok_or(CopyError::TooLarge { limit: u32::MAX.into() })
    }

    /// Reads some files of both trees. A file system that shares something else than was asked for is not to be used.
    fn compare_samples(&self, entries: &[IndexEntry]) -> Result<()> {
        let step = entries.len().div_ceil(SAMPLES).max(1);
        for entry in entries.iter().filter(|entry| entry.mode != IndexMode::Link).step_by(step) {
            let [template, target] = [&self.template, &self.target].map(|root| read_sample(root, entry));
            let target = target.map_err(CopyError::files(&self.names[1].join(entry.path()), "read"))?;
            if template.map_err(|_| self.changed(entry))? != target {
                let path: PathBuf = self.names[1].join(entry.path());
                let source = std::io::Error::other("a copy differs from its original");
                return Err(CopyError::NotShareable { path, source });
            }
        }
        Ok(())
    }
}

fn read_sample(root: &OwnedFd, entry: &IndexEntry) -> std::result::Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat2(root, entry.path(), flags, Mode::empty(), inside())?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(SAMPLE_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

/// The template's time of a file, for its copy.
pub(super) fn times_of(found: &rustix::fs::Stat) -> Timestamps {
    let nanoseconds = found.st_mtime_nsec.try_into().unwrap_or_default();
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
        last_modification: Timespec { tv_sec: found.st_mtime, tv_nsec: nanoseconds },
    }
}

fn open_root(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(CopyError::files(path, "opened"))
}

/// Never through a link, never out of the tree, never onto what is mounted there.
pub(super) fn inside() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV
}

pub(super) fn open_beneath(root: &OwnedFd, path: &OsStr) -> std::result::Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(root, path, flags, Mode::empty(), inside())
}
