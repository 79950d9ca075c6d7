//! Which clone a git dir is, wherever it stands: `spinney/id` in its common git dir says so.
//!
//! A directory in which a known id is found is that clone, moved, unless the place where it was last seen holds the same id
//! still: then it is a copy, and becomes a clone of its own.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use spinney_core::CloneId;
use spinney_git::{POINTER_BYTES, read_regular_text};

use crate::home::disk;
use crate::home::layout::make_private_directory;
use crate::{Error, Result};

fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("spinney").join("id")
}

/// The id that a git dir carries.
pub(crate) fn read(common_dir: &Path) -> Option<CloneId> {
    read_regular_text(&place(common_dir), POINTER_BYTES).ok()?.trim().parse().ok()
}

/// The same; makes one where there is none. None where it can't be written, as in somebody else's repository: then a clone is
/// known by its place alone.
pub(crate) fn read_or_make(common_dir: &Path) -> Option<CloneId> {
    if let Some(id) = read(common_dir) {
        return Some(id);
    }
    let place = place(common_dir);
    let made = || -> io::Result<()> {
        make_private_directory(place.parent().unwrap_or(common_dir))?;
        // Linked into place whole, so that of many who begin at once all read the same.
        let id = CloneId::generate();
        let aside = place.with_extension(id.as_str());
        fs::write(&aside, format!("{id}\n"))?;
        let linked = fs::hard_link(&aside, &place);
        fs::remove_file(&aside)?;
        match linked {
            // What is there and is no id, nobody can read.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && read(common_dir).is_none() => {
                disk::write_among_others(&place, format!("{id}\n").as_bytes())
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    if let Err(error) = made() {
        tracing::debug!(%error, "`{}` can't be written", place.display());
    }
    read(common_dir)
}

/// Gives a copy an id of its own.
pub(crate) fn renew(common_dir: &Path) -> Result<CloneId> {
    let (id, place) = (CloneId::generate(), place(common_dir));
    disk::write_among_others(&place, format!("{id}\n").as_bytes()).map_err(Error::files(&place, "written"))?;
    Ok(id)
}

/// Whether the same clone stands in another place still: then a directory with its id is a copy. The same directory under
/// another path is not.
pub(crate) fn stands_elsewhere(id: &CloneId, there: &Path, here: &Path) -> bool {
    let stat = |common_dir: &Path| fs::metadata(place(common_dir)).ok().map(|file| (file.dev(), file.ino()));
    read(there).as_ref() == Some(id) && stat(there) != stat(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_who_begin_at_once_read_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let ids = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| read_or_make(directory.path()).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<std::collections::BTreeSet<_>>()
        });
        assert_eq!(ids.len(), 1);
    }

    #[test]
    fn what_is_no_id_is_replaced_and_what_can_not_be_written_has_none() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("spinney")).unwrap();
        fs::write(place(directory.path()), "").unwrap();
        assert_eq!(read_or_make(directory.path()), read(directory.path()));
        assert!(read(directory.path()).is_some());
        assert_eq!(read_or_make(Path::new("/proc/none")), None);
    }

    #[test]
    fn a_copy_is_told_from_another_path() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other, link) = ["one", "other", "link"].map(|name| directory.path().join(name)).into();
        let id = read_or_make(&one).unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();
        assert!(!stands_elsewhere(&id, &link, &one));
        fs::create_dir_all(other.join("spinney")).unwrap();
        fs::copy(place(&one), place(&other)).unwrap();
        assert!(stands_elsewhere(&id, &one, &other));
        assert_ne!(renew(&other).unwrap(), id);
        assert!(!stands_elsewhere(&id, &other, &one));
    }
}
