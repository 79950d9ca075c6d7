//! A whole directory that git does not track, such as installed dependencies, carried into another tree.
//!
//! Its files share their blocks with the originals where the file system can do that. Where it can't, they are copied if
//! all of them together are small enough.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::CopyError;
use super::reflink::{open_beneath, times_of};
use crate::create::prepare::leaves_tree;

type Result<T> = std::result::Result<T, CopyError>;

/// Each level keeps two directories open.
const MAX_DEPTH: usize = 200;

/// What was carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) links: u64,
    /// Links that lead out of the tree; they were not carried.
    pub(crate) links_left_out: u64,
    /// Sockets, pipes, devices and what is mounted inside; they were not carried.
    pub(crate) special_left_out: u64,
    /// Whether the files share their blocks with the originals.
    pub(crate) shared: bool,
}

/// Carries a directory to a place where nothing is. Files are for their new owner: mode and time stay, a hard link
/// becomes a file of its own. `inside` is where it lies in its tree, which its links may not leave. `limit` is how many bytes may be copied where nothing can be shared.
///
/// What was made before a failure is the caller's to delete.
pub(crate) fn clone_directory(from: &Path, to: &Path, inside: &Path, limit: u64) -> Result<Carried> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty()).map_err(CopyError::files(path, "opened"));
    let source = open(from)?;
    rustix::fs::mkdir(to, Mode::from_raw_mode(0o700)).map_err(CopyError::files(to, "made"))?;
    let target = open(to)?;
    let mut carrier = Carrier { from, to, inside, limit, done: Carried { shared: true, ..Carried::default() } };
    carrier.carry(&source, &target, Path::new(""), 0)?;
    Ok(carrier.done)
}

struct Carrier<'a> {
    from: &'a Path,
    to: &'a Path,
    inside: &'a Path,
    limit: u64,
    done: Carried,
}

impl Carrier<'_> {
    /// Carries what is in one directory, whose path is relative to the whole.
    fn carry(&mut self, from: &OwnedFd, to: &OwnedFd, path: &Path, depth: usize) -> Result<()> {
        let place = self.from.join(path);
        if depth > MAX_DEPTH {
            return Err(CopyError::files(&place, "carried: it is too deep")(Errno::NAMETOOLONG));
        }
        let unreadable = || CopyError::files(&place, "read");
        for entry in rustix::fs::Dir::read_from(from).map_err(unreadable())? {
            let entry = entry.map_err(unreadable())?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let inner = path.join(OsStr::from_bytes(name.to_bytes()));
            let found = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable())?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => self.carry_directory(from, to, name, &inner, depth)?,
                FileType::RegularFile => self.carry_file(from, to, name, &inner)?,
                FileType::Symlink => self.carry_link(from, to, name, &inner, &found)?,
                _ => self.done.special_left_out += 1,
            }
        }
        // Last, since it may say that nothing can be made in the directory, and making something changes the time.
        let found = rustix::fs::fstat(from).map_err(unreadable())?;
        let place = self.to;
        let failed = |doing| move |errno| CopyError::of(&place.join(path), doing, errno);
        rustix::fs::fchmod(to, permissions(&found)).map_err(failed("given its mode"))?;
        rustix::fs::futimens(to, &times_of(&found)).map_err(failed("given its time"))
    }

    fn carry_directory(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, path: &Path, depth: usize) -> Result<()> {
        let source = match open_beneath(from, OsStr::from_bytes(name.to_bytes())) {
            Err(Errno::XDEV) => {
                self.done.special_left_out += 1;
                return Ok(());
            }
            opened => opened.map_err(CopyError::files(&self.from.join(path), "opened"))?,
        };
        let place = self.to;
        let failed = |doing| move |errno| CopyError::of(&place.join(path), doing, errno);
        rustix::fs::mkdirat(to, name, Mode::from_raw_mode(0o700)).map_err(failed("made"))?;
        let target = open_beneath(to, OsStr::from_bytes(name.to_bytes())).map_err(failed("opened"))?;
        self.carry(&source, &target, path, depth + 1)
    }

    fn carry_file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, path: &Path) -> Result<()> {
        let (original, copied) = (self.from.join(path), self.to.join(path));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source =
            rustix::fs::openat(from, name, flags, Mode::empty()).map_err(CopyError::files(&original, "opened"))?;
        let found = rustix::fs::fstat(&source).map_err(CopyError::files(&original, "read"))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |doing| CopyError::files(&copied, doing);
        let copy = rustix::fs::openat(to, name, flags, Mode::from_raw_mode(0o600)).map_err(failed("made"))?;
        if self.done.shared
            && let Err(errno) = rustix::fs::ioctl_ficlone(&copy, &source)
        {
            match CopyError::clone_of(&copied, errno) {
                CopyError::NotShareable { .. } if self.done.bytes == 0 => self.require_small()?,
                error => return Err(error),
            }
        }
        let (source, mut copy) = (File::from(source), File::from(copy));
        if !self.done.shared {
            self.copy_within_limit(&source, &mut copy, &copied)?;
        }
        rustix::fs::fchmod(&copy, permissions(&found)).map_err(failed("given its mode"))?;
        rustix::fs::futimens(&copy, &times_of(&found)).map_err(failed("given its time"))?;
        self.done.files += 1;
        self.done.bytes += u64::try_from(found.st_size).unwrap_or_default();
        Ok(())
    }

    /// What was small when it was measured may have grown since.
    fn copy_within_limit(&self, mut source: &File, copy: &mut File, path: &Path) -> Result<()> {
        let room = self.limit.saturating_sub(self.done.bytes);
        let copied = io::copy(&mut io::Read::take(&mut source, room.saturating_add(1)), copy);
        let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let bytes = copied.map_err(|error| CopyError::files(path, "written")(errno(error)))?;
        if bytes > room { Err(CopyError::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn carry_link(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, path: &Path, found: &Stat) -> Result<()> {
        let aimed = rustix::fs::readlinkat(from, name, Vec::new());
        let aimed = aimed.map_err(CopyError::files(&self.from.join(path), "read"))?;
        if leaves_tree(&self.inside.join(path), Path::new(OsStr::from_bytes(aimed.to_bytes()))) {
            self.done.links_left_out += 1;
            return Ok(());
        }
        let place = self.to;
        let failed = |doing| move |errno| CopyError::of(&place.join(path), doing, errno);
        rustix::fs::symlinkat(&aimed, to, name).map_err(failed("made"))?;
        let times = times_of(found);
        rustix::fs::utimensat(to, name, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(failed("given its time"))?;
        self.done.links += 1;
        Ok(())
    }

    /// From here on files are copied, if all of them together are small enough.
    fn require_small(&mut self) -> Result<()> {
        self.done.shared = false;
        let mut left = self.limit;
        let mut waiting: Vec<PathBuf> = vec![self.from.to_owned()];
        while let Some(directory) = waiting.pop() {
            let unreadable = |source| CopyError::Files { path: directory.clone(), doing: "read", source };
            for entry in std::fs::read_dir(&directory).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let metadata = entry.metadata().map_err(unreadable)?;
                if metadata.is_dir() {
                    waiting.push(entry.path());
                } else if metadata.is_file() {
                    let rest = left.checked_sub(metadata.len());
                    left = rest.ok_or(CopyError::TooLarge { limit: self.limit })?;
                }
            }
        }
        Ok(())
    }
}

/// Who may read, write and run it; not as whom it runs.
fn permissions(found: &Stat) -> Mode {
    Mode::from_raw_mode(found.st_mode & 0o777)
}
