//! What lies below the paths that the index does not have: each file, link, pipe and empty directory, and every
//! repository, whose content is nobody's but its own.

use std::io;
use std::path::{Path, PathBuf};

use super::directory::{Directory, Kind, Root};
use super::{Other, path_of};
use crate::{Error, Result};

/// More paths than a person or a build makes. A tree with more can't be judged, and stays.
const MAX_PATHS: usize = 5_000_000;

/// What the index does not have, path by path.
#[derive(Debug, Default)]
pub struct Unknown {
    /// Files, links, pipes, sockets and devices, but for those in repositories and in what the caller left out.
    pub paths: Vec<Other>,
    pub empty_directories: Vec<PathBuf>,
    /// Directories with a `.git` of any kind in them, and bare repositories; none below another one.
    pub repositories: Vec<PathBuf>,
    /// Each `.git` that lies beside tracked files.
    pub git_dirs: Vec<PathBuf>,
}

/// Where to look.
#[derive(Debug)]
struct LookAt {
    path: PathBuf,
    /// Whether only repositories count there.
    left_out: bool,
}

/// Lists what lies at some paths and below. Of a directory that `is_left_out`, only the repositories in it are told.
pub(crate) fn list(tree: &Path, others: &[Other], is_left_out: &dyn Fn(&Path) -> bool) -> Result<Unknown> {
    let failed = |path: &Path| {
        let path = tree.join(path);
        move |source| Error::io("look into", &path, source)
    };
    let root = Root::open(tree).map_err(failed(Path::new("")))?;
    let mut found = Unknown::default();
    let mut places = Vec::new();
    let mut seen = 0;
    for other in others {
        if other.path.file_name().is_some_and(|name| name == ".git") {
            found.git_dirs.push(other.path.clone());
        } else if other.kind == Kind::Directory {
            places.push(LookAt { path: other.path.clone(), left_out: is_left_out(&other.path) });
        } else {
            found.paths.push(other.clone());
        }
    }
    while let Some(place) = places.pop() {
        let failed = failed(&place.path);
        // Whoever deletes it meanwhile has deleted it.
        let Some(directory) = root.directory(os_bytes(&place.path)).map_err(&failed)? else { continue };
        if is_repository(&directory).map_err(&failed)? {
            found.repositories.push(place.path);
            continue;
        }
        let mut empty = true;
        let each = |name: &[u8], kind: Kind| {
            empty = false;
            seen += 1;
            let path = place.path.join(path_of(name));
            if kind == Kind::Directory {
                let left_out = place.left_out || is_left_out(&path);
                places.push(LookAt { path, left_out });
            } else if !place.left_out {
                found.paths.push(Other { path, kind });
            }
            if seen > MAX_PATHS { Err(io::Error::other(format!("more than {MAX_PATHS} paths"))) } else { Ok(()) }
        };
        directory.each_name(each).map_err(failed)?;
        if empty && !place.left_out {
            found.empty_directories.push(place.path);
        }
    }
    found.paths.sort_by(|a, b| a.path.cmp(&b.path));
    found.empty_directories.sort();
    found.repositories.sort();
    found.git_dirs.sort();
    Ok(found)
}

/// Whether a directory is a repository: it has a `.git` of any kind, or git could take it for a bare one.
fn is_repository(directory: &Directory) -> io::Result<bool> {
    if directory.stat(b".git")?.is_some() {
        return Ok(true);
    }
    let is_directory =
        |name: &[u8]| Ok::<_, io::Error>(directory.stat(name)?.is_some_and(|found| is_entered(found.kind)));
    Ok(directory.stat(b"HEAD")?.is_some() && is_directory(b"objects")? && is_directory(b"refs")?)
}

/// A link in the place of `objects` leads git to another directory.
fn is_entered(kind: Kind) -> bool {
    matches!(kind, Kind::Directory | Kind::Link)
}

/// Whether a directory of a tree has nothing in it.
pub(crate) fn is_empty(tree: &Path, path: &Path) -> Result<bool> {
    let failed = |source| Error::io("look into", &tree.join(path), source);
    let Some(directory) = Root::open(tree).and_then(|root| root.directory(os_bytes(path))).map_err(failed)? else {
        return Ok(true);
    };
    let mut empty = true;
    let each = |_: &[u8], _: Kind| {
        empty = false;
        Ok(())
    };
    directory.each_name(each).map_err(failed)?;
    Ok(empty)
}

fn os_bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes()
}
