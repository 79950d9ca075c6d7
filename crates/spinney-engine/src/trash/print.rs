//! What a directory looks like, as one hash: every path below it with its inode, size, mode and times. Whoever writes to
//! any of it makes another one. Its own name and place do not count.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use spinney_core::names::Hasher;

/// Prints a directory; one that is not there is that.
pub(super) fn of(directory: &Path) -> io::Result<String> {
    print(directory, |_| false)
}

/// Prints git's directory of a workspace. Git sets the times of the file that an index shares whenever it reads one; what is
/// in such a file never changes.
pub(super) fn of_admin_dir(directory: &Path) -> io::Result<String> {
    print(directory, |path| path.as_os_str().as_bytes().starts_with(b"sharedindex."))
}

fn print(directory: &Path, is_timeless: impl Fn(&Path) -> bool) -> io::Result<String> {
    let mut print = Hasher::default();
    let mut places = vec![PathBuf::new()];
    while let Some(place) = places.pop() {
        let mut inside = match fs::read_dir(directory.join(&place)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?,
        };
        inside.sort();
        for name in inside {
            let path = place.join(name);
            let found = fs::symlink_metadata(directory.join(&path))?;
            let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
            let times = (!is_timeless(&path)).then_some(times);
            print.update(path.as_os_str().as_bytes());
            print.update(format!("\0{} {} {} {times:?}\0", found.ino(), found.size(), found.mode()).as_bytes());
            if found.is_dir() {
                places.push(path);
            }
        }
    }
    Ok(print.finish())
}
