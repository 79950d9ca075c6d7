//! Looking into the directories of a tree without a way out of it: no link is followed, no mount entered.

use std::io;
use std::os::unix::ffi::OsStrExt;

use crate::index::FileStat;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    File,
    Link,
    Directory,
    Pipe,
    /// Sockets and devices: nothing without who made them.
    Special,
}

/// What `lstat` tells of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathStat {
    pub kind: Kind,
    pub mode: u32,
    /// None of a file that is larger than git's numbers.
    pub stat: Option<FileStat>,
}

/// Whether an error says that no directory is there, and not that it can't be looked into.
fn is_no_directory(error: &io::Error) -> bool {
    let no_directory = [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP];
    no_directory.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A path of bytes as the system takes it.
fn os(path: &[u8]) -> &std::ffi::OsStr {
    if path.is_empty() { std::ffi::OsStr::new(".") } else { std::ffi::OsStr::from_bytes(path) }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
    use rustix::io::Errno;

    use super::{Kind, PathStat, is_no_directory, os};
    use crate::index::FileStat;

    const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// File systems of this machine, whose times come from its own clock: ext2 to ext4, XFS, btrfs, tmpfs, F2FS,
    /// overlayfs, ZFS, bcachefs.
    const LOCAL: [u32; 8] =
        [0x0000_ef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];

    /// Whether times of a file system can be compared with those of the index.
    pub(crate) fn is_local(path: &Path) -> bool {
        rustix::fs::statfs(path).is_ok_and(|stat| LOCAL.iter().any(|magic| magic.cast_signed() == stat.f_type as i32))
    }

    /// The directory that a tree is.
    #[derive(Debug)]
    pub(crate) struct Root(OwnedFd);

    /// An open directory of a tree.
    #[derive(Debug)]
    pub(crate) struct Directory(OwnedFd);

    impl Root {
        pub fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(rustix::fs::open(path, FLAGS, Mode::empty())?))
        }

        /// Opens a directory by its path in the tree; none where there is no directory.
        pub fn directory(&self, path: &[u8]) -> io::Result<Option<Directory>> {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
            let opened = match rustix::fs::openat2(&self.0, os(path), FLAGS, Mode::empty(), resolve) {
                // A kernel, or a filter of system calls, that does not know it.
                Err(Errno::NOSYS | Errno::PERM) => self.by_steps(path),
                opened => opened.map_err(io::Error::from),
            };
            match opened {
                Ok(opened) => Ok(Some(Directory(opened))),
                Err(error) if is_no_directory(&error) => Ok(None),
                Err(error) => Err(error),
            }
        }

        fn by_steps(&self, path: &[u8]) -> io::Result<OwnedFd> {
            let device = rustix::fs::fstat(&self.0)?.st_dev;
            let mut opened = rustix::fs::openat(&self.0, ".", FLAGS, Mode::empty())?;
            for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
                opened = rustix::fs::openat(&opened, os(name), FLAGS, Mode::empty())?;
            }
            if rustix::fs::fstat(&opened)?.st_dev == device { Ok(opened) } else { Err(Errno::XDEV.into()) }
        }
    }

    impl Directory {
        /// Calls back with every name but those of itself and its parent.
        pub fn each_name(&self, mut each: impl FnMut(&[u8], Kind) -> io::Result<()>) -> io::Result<()> {
            let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
            let mut names = RawDir::new(&self.0, &mut buffer);
            while let Some(name) = names.next() {
                let name = name?;
                let (bytes, kind) = (name.file_name().to_bytes(), name.file_type());
                if matches!(bytes, b"." | b"..") {
                    continue;
                }
                let kind = match kind {
                    FileType::Unknown => match self.stat(bytes)? {
                        Some(found) => found.kind,
                        None => continue,
                    },
                    kind => kind_of(kind),
                };
                each(bytes, kind)?;
            }
            Ok(())
        }

        /// Looks at a name in it; none where nothing is there.
        pub fn stat(&self, name: &[u8]) -> io::Result<Option<PathStat>> {
            match rustix::fs::statat(&self.0, os(name), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Ok(Some(PathStat {
                    kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
                    mode: stat.st_mode,
                    stat: FileStat::of_stat(&stat),
                })),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
    }

    fn kind_of(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            FileType::Directory => Kind::Directory,
            FileType::Fifo => Kind::Pipe,
            _ => Kind::Special,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::fs;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::{Path, PathBuf};

    use super::{Kind, PathStat, is_no_directory, os};
    use crate::index::FileStat;

    /// Which file systems have times that can be relied on is known on Linux alone; elsewhere files are read.
    pub(crate) fn is_local(_: &Path) -> bool {
        false
    }

    /// The directory that a tree is.
    #[derive(Debug)]
    pub(crate) struct Root {
        path: PathBuf,
        device: u64,
    }

    /// A directory of a tree.
    #[derive(Debug)]
    pub(crate) struct Directory(PathBuf);

    impl Root {
        pub fn open(path: &Path) -> io::Result<Self> {
            Ok(Self { path: path.to_owned(), device: fs::symlink_metadata(path)?.dev() })
        }

        /// Opens a directory by its path in the tree; none where there is no directory.
        pub fn directory(&self, path: &[u8]) -> io::Result<Option<Directory>> {
            let mut whole = self.path.clone();
            for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
                whole.push(os(name));
                match fs::symlink_metadata(&whole) {
                    Ok(found) if !found.is_dir() => return Ok(None),
                    Ok(found) if found.dev() != self.device => return Err(rustix::io::Errno::XDEV.into()),
                    Ok(_) => {}
                    Err(error) if is_no_directory(&error) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            Ok(Some(Directory(whole)))
        }
    }

    impl Directory {
        /// Calls back with every name but those of itself and its parent.
        pub fn each_name(&self, mut each: impl FnMut(&[u8], Kind) -> io::Result<()>) -> io::Result<()> {
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                each(entry.file_name().as_bytes(), kind_of(entry.file_type()?))?;
            }
            Ok(())
        }

        /// Looks at a name in it; none where nothing is there.
        pub fn stat(&self, name: &[u8]) -> io::Result<Option<PathStat>> {
            match fs::symlink_metadata(self.0.join(os(name))) {
                Ok(found) => Ok(Some(PathStat {
                    kind: kind_of(found.file_type()),
                    mode: found.mode(),
                    stat: FileStat::of(&found),
                })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    fn kind_of(kind: fs::FileType) -> Kind {
        if kind.is_file() {
            Kind::File
        } else if kind.is_symlink() {
            Kind::Link
        } else if kind.is_dir() {
            Kind::Directory
        } else if kind.is_fifo() {
            Kind::Pipe
        } else {
            Kind::Special
        }
    }
}

pub(crate) use platform::{Directory, Root, is_local};
