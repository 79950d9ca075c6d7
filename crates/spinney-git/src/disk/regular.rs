//! Reads files whose content, and whose kind, somebody else decides: a repository's, a tree's, the trash's.
//!
//! Only regular files are opened, and only so much of one is read: what is committed can be a link to `/dev/zero`, and what
//! a process put there a pipe that nobody writes to. No link is followed; below a known root, none on the way either.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// More than a pointer, a lock's reason or a ref has.
pub const POINTER_BYTES: u64 = 64 << 10;

/// More than a settings file, a list of patterns or a note of ours has.
pub const SETTINGS_BYTES: u64 = 1 << 20;

const FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Why something is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum NotRead {
    #[error("it is {0}, and only regular files are read")]
    Kind(&'static str),
    #[error("it is longer than {0} bytes")]
    Long(u64),
}

impl From<NotRead> for io::Error {
    fn from(fault: NotRead) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

/// Opens a regular file; follows no link and waits for nobody.
pub fn open_regular(path: &Path) -> io::Result<File> {
    require_regular(rustix::fs::openat(CWD, path, FLAGS, Mode::empty()))
}

/// The same for a path below a directory, out of which nothing leads.
pub fn open_regular_beneath(root: &Path, path: &Path) -> io::Result<File> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, directory, Mode::empty())?;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    require_regular(rustix::fs::openat2(&root, path, FLAGS, Mode::empty(), inside))
}

/// Reads a regular file of at most so many bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(NotRead::Long(most).into()) } else { Ok(bytes) }
}

/// The same as text.
pub fn read_regular_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_regular(path, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a file that a person named, as text. It may be a link. A pipe of the file system is refused, since whoever opens it waits;
/// one that a shell hands over (`<(…)`) is read.
pub fn read_persons_text(path: &Path, most: u64) -> io::Result<String> {
    match path.canonicalize() {
        Ok(place) => read_regular_text(&place, most),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.exists() => std::fs::read_to_string(path),
        Err(error) => Err(error),
    }
}

fn require_regular(opened: Result<OwnedFd, Errno>) -> io::Result<File> {
    let file = match opened {
        Err(Errno::LOOP) => return Err(NotRead::Kind("a link, or behind one").into()),
        Err(Errno::NXIO) => return Err(NotRead::Kind("a socket or a device").into()),
        opened => opened?,
    };
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(File::from(file)),
        FileType::Directory => Err(NotRead::Kind("a directory").into()),
        FileType::Fifo => Err(NotRead::Kind("a pipe").into()),
        _ => Err(NotRead::Kind("a device").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_only_so_much() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        fs::write(place("file"), "content").unwrap();
        fs::create_dir(place("directory")).unwrap();
        symlink("file", place("link")).unwrap();
        symlink("/dev/zero", place("endless")).unwrap();
        rustix::fs::mknodat(CWD, place("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(place("socket")).unwrap();
        assert_eq!(read_regular(&place("file"), 7).unwrap(), b"content");
        let fault = |name: &str| read_regular(&place(name), 6).unwrap_err().to_string();
        assert_eq!(fault("file"), "it is longer than 6 bytes");
        for (name, kind) in [
            ("link", "a link"),
            ("endless", "a link"),
            ("pipe", "a pipe"),
            ("socket", "a socket"),
            ("directory", "a directory"),
        ] {
            assert!(fault(name).contains(kind), "{name}: {}", fault(name));
        }
        assert_eq!(open_regular(&place("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(open_regular(Path::new("/dev/zero")).unwrap_err().to_string().contains("a device"));
    }

    #[test]
    fn nothing_leads_out_of_a_root() {
        let directory = tempfile::tempdir().unwrap();
        let (root, out) = (directory.path().join("root"), directory.path().join("out"));
        for place in [&root, &out] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("file"), "content").unwrap();
        }
        symlink("../out", root.join("link")).unwrap();
        symlink(".", root.join("inner")).unwrap();
        assert!(open_regular_beneath(&root, Path::new("file")).is_ok());
        for path in ["link/file", "inner/file", "../out/file"] {
            assert!(open_regular_beneath(&root, Path::new(path)).is_err(), "{path}");
        }
    }
}
