//! Deletes a directory and all in it, however deep it is and whatever its modes are. Follows no link.
//!
//! Few directories are open at once: what lies deeper than that is moved up to the top first, and deleted from there. So
//! neither the length of a path nor the number of open files is a limit.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// How many directories are open at once.
const MOST_OPEN: usize = 64;

/// Deletes a directory that nobody uses any more.
pub(crate) fn delete_tree(directory: &Path) -> io::Result<()> {
    let top = open_directory(CWD, directory)?;
    let mut moved_up = 0;
    loop {
        let before = moved_up;
        empty(&top, &top, 0, &mut moved_up)?;
        if moved_up == before {
            break;
        }
    }
    Ok(rustix::fs::unlinkat(CWD, directory, AtFlags::REMOVEDIR)?)
}

fn empty(top: &OwnedFd, directory: &OwnedFd, depth: usize, moved_up: &mut u64) -> rustix::io::Result<()> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode)
            }
            kind => kind,
        };
        if kind != FileType::Directory {
            in_writable(directory, || rustix::fs::unlinkat(directory, name, AtFlags::empty()))?;
        } else if depth + 1 == MOST_OPEN {
            move_up(top, directory, name, moved_up)?;
        } else {
            let inner = open_directory(directory, name)?;
            empty(top, &inner, depth + 1, moved_up)?;
            in_writable(directory, || rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR))?;
        }
    }
    Ok(())
}

/// Moves a directory to the top, under a name that is free there.
fn move_up(top: &OwnedFd, from: &OwnedFd, name: &CStr, moved_up: &mut u64) -> rustix::io::Result<()> {
    // Only who may write in it may give it another parent.
    open_directory(from, name).and_then(|inner| rustix::fs::fchmod(inner, Mode::RWXU))?;
    loop {
        *moved_up += 1;
        let to = format!(".deep-{moved_up}");
        let moved = || rustix::fs::renameat_with(from, name, top, &to, RenameFlags::NOREPLACE);
        match in_writable(from, || in_writable(top, moved)) {
            Err(Errno::EXIST) => {}
            done => return done,
        }
    }
}

/// Does something in a directory; where its mode forbids that, once more with another.
fn in_writable(directory: &OwnedFd, work: impl Fn() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    match work() {
        Err(Errno::ACCESS) => {
            rustix::fs::fchmod(directory, Mode::RWXU)?;
            work()
        }
        done => done,
    }
}

/// Opens a directory, for reading it; some tools make theirs unreadable.
fn open_directory<P: rustix::path::Arg + Copy>(parent: impl AsFd, name: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(parent.as_fd(), name, flags, Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent.as_fd(), name, Mode::RWXU, AtFlags::empty())?;
            open()
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_tree_is_deleted_however_deep_and_whatever_its_modes() {
        let directory = tempfile::tempdir().unwrap();
        let (kept, top) = (directory.path().join("kept"), directory.path().join("top"));
        fs::create_dir_all(&kept).unwrap();
        fs::write(kept.join("file"), "kept").unwrap();
        fs::create_dir_all(top.join(".deep-1")).unwrap();
        fs::write(top.join(".deep-1/file"), "x").unwrap();
        std::os::unix::fs::symlink(&kept, top.join("link")).unwrap();
        // Deeper than a path can be long, and than files can be open.
        let mut place = open_directory(CWD, &top).unwrap();
        for number in 0..3000 {
            rustix::fs::mkdirat(&place, "deeper", Mode::RWXU).unwrap();
            let file = OFlags::CREATE | OFlags::WRONLY;
            drop(rustix::fs::openat(&place, "file", file, Mode::RUSR).unwrap());
            let inner = open_directory(&place, "deeper").unwrap();
            if number % 100 == 0 {
                rustix::fs::fchmod(&place, Mode::RUSR | Mode::XUSR).unwrap();
            }
            place = inner;
        }
        drop(place);
        fs::set_permissions(&top, fs::Permissions::from_mode(0o500)).unwrap();
        delete_tree(&top).unwrap();
        assert!(!top.exists() && kept.join("file").exists());
    }
}
