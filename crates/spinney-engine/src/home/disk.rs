//! What the file system says: free space, mounts, and a removal that stays where it was sent.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::create::populate::{Btrfs, is_subvolume};
use crate::home::delete::delete_tree;
use crate::home::walk::{Step, walk};

/// Free bytes for an ordinary user on the file system of the nearest directory that exists.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    let stat = rustix::fs::statvfs(existing)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Mount points at or below a directory, from the kernel's own list; none where there is no such list.
pub(crate) fn mounts_inside(directory: &Path) -> io::Result<Vec<PathBuf>> {
    // The kernel names real paths.
    let directory = &resolved(directory);
    match fs::read_to_string("/proc/self/mountinfo") {
        Ok(text) => Ok(parse_mount_points(&text).filter(|mount| mount.starts_with(directory)).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn parse_mount_points(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(|field| PathBuf::from(unescape(field)))
}

/// Undoes the kernel's octal escapes (`\040` for a space).
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = (byte == b'\\').then(|| tail.get(..3)).flatten();
        match octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok())
        {
            Some(value) => {
                bytes.push(value);
                rest = &tail[3..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Deletes a directory that was moved aside before. Refuses when anything is mounted inside, and never follows a link.
pub(crate) fn delete_moved_aside(directory: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(directory) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        return fs::remove_file(directory);
    }
    if let Some(mount) = mounts_inside(directory)?.first() {
        return Err(io::Error::other(format!("`{}` is mounted inside", mount.display())));
    }
    if is_subvolume(directory) && Btrfs::find("".as_ref()).is_some_and(|btrfs| btrfs.delete_whole(directory)) {
        return Ok(());
    }
    delete_tree(directory)
}

/// Lets nobody write in a directory, its files and all below it; follows no link. Root writes all the same.
pub(crate) fn forbid_writing(directory: &Path) -> io::Result<()> {
    set_modes(directory, |mode, _| mode & !0o222)
}

/// Lets the owner write in a directory, its files and all below it; follows no link.
pub(crate) fn allow_writing(directory: &Path) -> io::Result<()> {
    set_modes(directory, |mode, is_directory| mode | if is_directory { 0o700 } else { 0o200 })
}

fn set_modes(directory: &Path, changed: fn(u32, bool) -> u32) -> io::Result<()> {
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    let mut directories = Vec::new();
    let mut open = |path: &Path, mode: u32| {
        directories.push((path.to_owned(), changed(mode, true)));
        // Only who can look into it finds what is below.
        set(path, mode | 0o700)
    };
    let top = fs::symlink_metadata(directory)?;
    if !top.is_dir() {
        return Ok(());
    }
    open(directory, top.mode())?;
    walk(directory, |entry| {
        let found = entry.metadata()?;
        let after = changed(found.mode(), false);
        if found.is_dir() {
            open(&entry.path(), found.mode())?;
        } else if !found.is_symlink() && after != found.mode() {
            // What stays as it is keeps the time of its last change.
            set(&entry.path(), after)?;
        }
        Ok(Step::Enter)
    })?;
    directories.iter().rev().try_for_each(|(directory, mode)| set(directory, *mode))
}

/// A path without links in the part of it that exists.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

/// A path without `.` and `..`, by its text alone: what it names need not be there.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}

/// Whether two paths lie on one file system, judged by the nearest directories that exist.
pub(crate) fn same_file_system(a: &Path, b: &Path) -> bool {
    let device =
        |path: &Path| path.ancestors().find_map(|ancestor| fs::metadata(ancestor).ok()).map(|found| found.dev());
    device(a) == device(b)
}

/// Makes a rename durable: syncs the directory that holds the entry.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Writes a small file so that a reader sees the old or the new content, whole, also after a power cut.
pub(crate) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    write_by(&path.with_extension("new"), path, content)
}

/// The same where others may write it at this very moment: each has a name of its own for what is not whole yet.
pub(crate) fn write_among_others(path: &Path, content: &[u8]) -> io::Result<()> {
    write_by(&path.with_extension(spinney_core::OperationId::generate().as_str()), path, content)
}

fn write_by(aside: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(aside)?;
    io::Write::write_all(&mut file, content)?;
    file.sync_all()?;
    fs::rename(aside, path)?;
    sync_parent(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_odd_names_are_read() {
        let text =
            "36 35 98:0 / /mnt/a\\040b rw,noatime master:1 - ext3 /dev/root rw\n40 35 0:3 / /proc rw - proc proc rw\n";
        let points: Vec<_> = parse_mount_points(text).collect();
        assert_eq!(points, [PathBuf::from("/mnt/a b"), PathBuf::from("/proc")]);
    }

    #[test]
    fn a_link_is_deleted_and_not_what_it_points_to() {
        let directory = tempfile::tempdir().unwrap();
        let (kept, gone) = (directory.path().join("kept"), directory.path().join("gone"));
        fs::create_dir_all(kept.join("work")).unwrap();
        fs::create_dir(&gone).unwrap();
        std::os::unix::fs::symlink(&kept, gone.join("link")).unwrap();
        delete_moved_aside(&gone).unwrap();
        assert!(!gone.exists() && kept.join("work").exists());
        std::os::unix::fs::symlink(&kept, &gone).unwrap();
        delete_moved_aside(&gone).unwrap();
        assert!(kept.join("work").exists());
    }
}
