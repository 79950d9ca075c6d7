//! Linked worktrees that lie inside a workspace's tree, whichever repository they are of.
//!
//! The commits of such a worktree, and what is staged there, hang on its admin dir, which lies in its repository. Once the
//! tree has moved to the trash, the admin dir leads to nothing, and a `git worktree prune` in its repository would delete it.
//! So it is locked before the tree moves, in git's way: by a file `locked` with a reason. Back in its place, it is unlocked.
//!
//! A `.git` file is input that anybody can write. What it names counts as an admin dir only if that leads back to this very
//! file. No link is followed in the last step, and nothing but the file `locked` is ever made or deleted there.

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use spinney_core::{Workspace, WorkspaceId};
use spinney_git::{POINTER_BYTES, read_regular};

use super::finding::{nested_admin_dirs, tree_of};
use super::{homes, lock_reason};
use crate::home::disk;
use crate::repositories::context::Context;
use crate::{Error, Result};

/// Finds the admin dirs of the linked worktrees inside a workspace's tree, at any depth.
pub(crate) fn find_inside(context: &Context, workspace: &Workspace) -> Result<Vec<PathBuf>> {
    // The repository's own are known without a look at the tree, also those whose directories are gone.
    let mut found = nested_admin_dirs(context, &workspace.path)?;
    for git_file in git_files(&workspace.path) {
        found.extend(admin_dir_of(&git_file).map_err(|source| fault(workspace, &git_file, source))?);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Locks worktrees inside a workspace, durably; a lock that is there already stays whose it is. One of another home's
/// workspaces is an error.
pub(crate) fn lock_inside(context: &Context, workspace: &Workspace, admin_dirs: &[PathBuf]) -> Result<()> {
    for admin_dir in admin_dirs {
        homes::check_home(context, &workspace.path, admin_dir)?;
        let place = || disk::lexical(&tree_of(admin_dir).unwrap_or_else(|| admin_dir.clone()));
        lock(admin_dir, &workspace.id).map_err(|source| fault(workspace, &place().join(".git"), source))?;
    }
    Ok(())
}

/// Takes our locks away from the worktrees inside a tree that is in its place. Where they can't be found, they stay locked.
pub(crate) fn release_inside(context: &Context, workspace: &Workspace) {
    match find_inside(context, workspace) {
        Ok(inside) => unlock_inside(&workspace.id, &inside),
        Err(error) => tracing::warn!(workspace = %workspace.name, "{}", error.in_full()),
    }
}

/// Takes our locks away from worktrees. One that can't be deleted keeps more than it must, and nothing is lost by it.
pub(crate) fn unlock_inside(id: &WorkspaceId, admin_dirs: &[PathBuf]) {
    for locked in admin_dirs.iter().map(|admin_dir| admin_dir.join("locked")) {
        if read_regular(&locked, POINTER_BYTES).is_ok_and(|reason| reason == lock_reason(id).as_bytes())
            && let Err(error) = fs::remove_file(&locked)
        {
            tracing::warn!(%error, "`{}` can't be deleted", locked.display());
        }
    }
}

fn lock(admin_dir: &Path, id: &WorkspaceId) -> io::Result<()> {
    let locked = admin_dir.join("locked");
    match fs::OpenOptions::new().write(true).create_new(true).open(&locked) {
        Ok(mut file) => {
            file.write_all(lock_reason(id).as_bytes())?;
            file.sync_all()?;
            disk::sync_parent(&locked)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Whoever may not write there finds a lock all the same, if there is one.
        Err(_) if fs::symlink_metadata(&locked).is_ok() => Ok(()),
        Err(error) => Err(error),
    }
}

fn fault(workspace: &Workspace, git_file: &Path, source: io::Error) -> Error {
    let worktree = git_file.parent().unwrap_or(git_file).to_owned();
    Error::WorktreeInside { name: workspace.name.clone(), worktree, source }
}

/// Every `.git` file below a directory but its own. Nothing is found in a directory that may not be listed: the verdict calls
/// that unverifiable.
fn git_files(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() && entry.file_name() == ".git" && directory != top => {
                    found.push(entry.path());
                }
                _ => {}
            }
        }
    }
    found
}

/// The admin dir of the linked worktree whose `.git` file this is; none where it is not one's. An error where that can't be
/// told.
fn admin_dir_of(git_file: &Path) -> io::Result<Option<PathBuf>> {
    let found = || -> io::Result<Option<PathBuf>> {
        let Some(named) = read_pointer(git_file, b"gitdir: ")? else { return Ok(None) };
        let admin_dir = named.canonicalize()?;
        let Some(root) = admin_dir.parent().filter(|root| root.ends_with("worktrees")) else { return Ok(None) };
        let Some(back) = read_pointer(&admin_dir.join("gitdir"), b"")? else { return Ok(None) };
        let Some(common_dir) = read_pointer(&admin_dir.join("commondir"), b"")? else { return Ok(None) };
        let leads_back = back.file_name() == git_file.file_name()
            && back.parent().map(Path::canonicalize).transpose()?
                == git_file.parent().map(Path::canonicalize).transpose()?;
        let is_of_it = Some(common_dir.canonicalize()?.as_path()) == root.parent();
        Ok(Some(admin_dir).filter(|_| leads_back && is_of_it))
    };
    match found() {
        Err(error) if leads_nowhere(&error) => Ok(None),
        found => found,
    }
}

/// Where a pointer of git's leads, which may be relative to its own place.
fn read_pointer(file: &Path, prefix: &[u8]) -> io::Result<Option<PathBuf>> {
    let bytes = read_regular(file, POINTER_BYTES)?;
    let Some(named) = bytes.strip_prefix(prefix).map(|named| named.trim_ascii_end()) else { return Ok(None) };
    let place = file.parent().map(|directory| directory.join(std::ffi::OsStr::from_bytes(named)));
    Ok(place.filter(|_| !named.is_empty()))
}

/// Whether a path names nothing that git could find there.
fn leads_nowhere(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(error.kind(), InvalidData | InvalidFilename | InvalidInput | NotADirectory | NotFound)
        || rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}
