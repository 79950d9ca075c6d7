//! Into the trash and back: tree and admin dir are renamed, under the repository's lock. Nothing is deleted in place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use spinney_core::{Workspace, WorkspaceId};
use spinney_git::{POINTER_BYTES, RepositoryLock, read_regular};

use super::finding::{find_admin_dir, tree_of};
use super::inside::release_inside;
use super::marker::Removal;
use super::provider;
use crate::home::disk;
use crate::home::layout::{self, Home};
use crate::repositories::context::{Context, tree_root};
use crate::{Error, Result, fail};

/// The trash of trees that lie on another file system than the home.
pub(crate) const TRASH_BESIDE: &str = ".spinney-trash";

/// Moves tree and admin dir into the trash, under the caller's lock; worktrees inside were locked before. Idempotent: what has
/// moved already stays moved.
pub(crate) fn move_to_trash(
    _lock: &RepositoryLock,
    context: &Context,
    home: &Home,
    workspace: &Workspace,
    removal: &Removal,
) -> Result<()> {
    let admin_trash = trashed_admin_dir(context, &workspace.id);
    // An empty one beside what has moved already was left by a git that was at work then.
    let moves = |admin_dir: &PathBuf| !admin_trash.exists() || admin_dir.join("gitdir").exists();
    if let Some(admin_dir) = find_admin_dir(context, workspace)?.filter(moves) {
        removal.write(&admin_dir)?;
        fail::point("remove.marked")?;
        move_if_there(&workspace.path, &trash_place(home, &workspace.path, workspace.id.as_str()))?;
        fail::point("remove.tree-moved")?;
        move_if_there(&admin_dir, &admin_trash)?;
    } else {
        move_if_there(&workspace.path, &trash_place(home, &workspace.path, workspace.id.as_str()))?;
    }
    Ok(())
}

/// Whether a removal has begun to move a workspace: its tree or its admin dir lies in the trash.
pub(crate) fn has_begun_to_move(context: &Context, home: &Home, workspace: &Workspace) -> Result<bool> {
    let tree = trash_place(home, &workspace.path, workspace.id.as_str());
    for place in [tree, trashed_admin_dir(context, &workspace.id)] {
        match fs::symlink_metadata(&place) {
            Ok(_) => return Ok(true),
            Err(_) if is_gone(&place) => {}
            Err(error) => return Err(Error::files(&place, "inspected")(error)),
        }
    }
    Ok(false)
}

/// Brings tree and admin dir back, under the caller's lock. Idempotent.
pub(crate) fn bring_back(
    _lock: &RepositoryLock,
    context: &Context,
    home: &Home,
    workspace: &Workspace,
    removal: &Removal,
) -> Result<()> {
    let admin_trash = trashed_admin_dir(context, &workspace.id);
    let admin_root = provider::of(workspace).admin_root(context.git().common_dir());
    if admin_trash.exists() {
        fs::create_dir_all(&admin_root).map_err(Error::files(&admin_root, "made"))?;
        let name = free_admin_name(&admin_root, removal, &workspace.id);
        move_if_there(&admin_trash, &admin_root.join(name))?;
        fail::point("restore.admin-moved")?;
    }
    let Some(admin_dir) = find_admin_dir(context, workspace)? else {
        return Err(Error::NotRestorable {
            name: workspace.name.clone(),
            reason: format!("`{}` is gone", admin_trash.display()),
        });
    };
    if !workspace.path.exists() {
        layout::make_tree_root(tree_root(&workspace.path)).map_err(Error::files(&workspace.path, "made"))?;
        move_if_there(&trash_place(home, &workspace.path, workspace.id.as_str()), &workspace.path)?;
        fail::point("restore.tree-moved")?;
    }
    // The admin name differs when it was taken meanwhile; the tree's own pointer follows. One that was damaged or gone
    // is mended by that too; what somebody put in its place and is no file is kept beside it.
    let pointer = format!("gitdir: {}\n", admin_dir.display());
    let git_file = workspace.path.join(".git");
    let is_there = fs::symlink_metadata(&git_file);
    let replaceable = is_there.map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |file| file.is_file());
    if !replaceable {
        let found = workspace.path.join(format!(".git.found-{}", workspace.id));
        fs::rename(&git_file, &found).map_err(Error::files(&git_file, "moved aside"))?;
    }
    if read_regular(&git_file, POINTER_BYTES).map_or(true, |bytes| bytes != pointer.as_bytes()) {
        disk::write_durably(&git_file, pointer.as_bytes()).map_err(Error::files(&git_file, "written"))?;
    }
    let back = format!("{}\n", git_file.display());
    if tree_of(&admin_dir).is_none_or(|tree| disk::resolved(&tree) != disk::resolved(&workspace.path)) {
        let gitdir = admin_dir.join("gitdir");
        disk::write_durably(&gitdir, back.as_bytes()).map_err(Error::files(&gitdir, "written"))?;
    }
    release_inside(context, workspace);
    Ok(())
}

/// What the name of a lock of git's ends in that was set aside.
pub(crate) const ASIDE: &str = ".aside";

/// Sets the locks of git's aside in the admin dir of a removed workspace, where no git runs any more: nothing could be written
/// beside them. Gives the names of all that lie aside there.
pub(crate) fn set_locks_aside(admin_dir: &Path) -> Result<Vec<String>> {
    let mut locks = Vec::new();
    for entry in fs::read_dir(admin_dir).map_err(Error::files(admin_dir, "read"))?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.ends_with(".lock") && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let aside = admin_dir.join(format!("{name}{ASIDE}"));
            fs::rename(entry.path(), &aside).map_err(Error::files(&aside, "moved aside"))?;
            locks.push(name);
        } else if let Some(lock) = name.strip_suffix(ASIDE) {
            locks.push(lock.to_owned());
        }
    }
    locks.sort();
    locks.dedup();
    Ok(locks)
}

/// How the reason begins under which git keeps a worktree locked for Spinney.
pub(crate) const LOCKED_BY_SPINNEY: &str = "spinney:";

/// The reason under which git keeps a live worktree locked, so that a stray prune leaves it alone.
pub(crate) fn lock_reason(id: &WorkspaceId) -> String {
    format!("{LOCKED_BY_SPINNEY}{id}")
}

/// Keeps every object of a removed workspace alive.
pub(crate) fn rescue_ref(id: &WorkspaceId) -> String {
    format!("refs/spinney/rescue/{id}")
}

/// Where refs are that keep commits of workspaces, each below the id of its own.
pub(crate) const KEPT_REFS: [&str; 2] = ["refs/spinney/rescue/", "refs/spinney/before/"];

/// The workspace of which a ref keeps commits.
pub(crate) fn kept_by(name: &str) -> Option<WorkspaceId> {
    let rest = KEPT_REFS.iter().find_map(|space| name.strip_prefix(space))?;
    rest.split('/').next()?.parse().ok()
}

/// The names below which refs keep commits of a workspace: its own rescue ref, and what its branch had before a job.
pub(crate) fn kept_refs(id: &WorkspaceId) -> [String; 2] {
    [rescue_ref(id), super::tips::tips_of(id)]
}

/// Where git's admin dir of a removed workspace lies: as deep as before, so that its relative `commondir` stays true.
pub(crate) fn trashed_admin_dir(context: &Context, id: &WorkspaceId) -> PathBuf {
    context.git().state_dir().join(id.as_str())
}

/// Where the tree of a removed workspace lies: in the home, or beside the tree where that is another file system.
pub(crate) fn trash_place(home: &Home, path: &Path, name: &str) -> PathBuf {
    let in_home = home.root().join("trash").join(name);
    let beside = tree_root(path).join(TRASH_BESIDE).join(name);
    if in_home.exists() {
        in_home
    } else if beside.exists() || !disk::same_file_system(home.root(), tree_root(path)) {
        beside
    } else {
        in_home
    }
}

/// The name that an admin dir had, unless it is taken or was never one.
fn free_admin_name(admin_root: &Path, removal: &Removal, id: &WorkspaceId) -> String {
    let wanted = if removal.has_plain_admin_name() { removal.admin_name.as_str() } else { id.as_str() };
    if admin_root.join(wanted).exists() { format!("{wanted}-{id}") } else { wanted.to_owned() }
}

/// Whether nothing is there; a file in the place of a parent means that it was never made.
fn is_gone(path: &Path) -> bool {
    let gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| gone.contains(&error.kind()))
}

/// Renames a directory, durably, unless it has gone already.
pub(crate) fn move_if_there(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        layout::make_private_directory(parent).map_err(Error::files(parent, "made"))?;
    }
    match fs::rename(from, to) {
        Ok(()) => {
            disk::sync_parent(to).and_then(|()| disk::sync_parent(from)).map_err(Error::files(to, "made durable"))
        }
        // Asked of `from` itself: the same errors come from what is in the way of `to`.
        Err(_) if is_gone(from) => Ok(()),
        Err(error) => Err(Error::files(from, "moved")(error)),
    }
}
