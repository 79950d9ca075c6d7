//! Finds git's part of a workspace, also where its directory is gone, was moved or changed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use spinney_core::{BranchName, Workspace, WorkspaceId};
use spinney_git::{POINTER_BYTES, read_regular_text};

use super::homes;
use super::marker::Marker;
use super::provider::{self, Provider};
use crate::home::disk;
use crate::repositories::context::Context;
use crate::{Error, Result};

/// Finds a workspace's admin dir: by the tree's own pointer, else by what the admin dirs say, else by its marker. A creation
/// that died early leaves an admin dir that points nowhere yet, but its name carries the id. Another home's is an error, and so
/// is one whose tree somebody moved.
pub(crate) fn find_admin_dir(context: &Context, workspace: &Workspace) -> Result<Option<PathBuf>> {
    if let Ok(tree) = provider::of(workspace).open(context, &workspace.path) {
        homes::check_home(context, &workspace.path, tree.admin_dir())?;
        return Ok(Some(tree.admin_dir().to_owned()));
    }
    check_not_moved(context, workspace)?;
    let expected = disk::resolved(&workspace.path);
    let ours = |admin_dir: &PathBuf| match tree_of(admin_dir) {
        Some(tree) => disk::resolved(&tree) == expected,
        None => admin_dir.file_name().is_some_and(|name| name.to_string_lossy().contains(workspace.id.as_str())),
    };
    let all = admin_dirs(context, provider::of(workspace))?;
    // A git that was at work while the admin dir moved leaves an empty one of its name.
    let mut found: Vec<&PathBuf> = all.iter().filter(|admin_dir| ours(admin_dir)).collect();
    found.sort_by_key(|admin_dir| !admin_dir.join("gitdir").exists());
    // Whoever changed where it leads did not change whose it is.
    let found = found.into_iter().next().or_else(|| all.iter().find(|admin_dir| is_marked(admin_dir, &workspace.id)));
    if let Some(admin_dir) = found {
        homes::check_home(context, &workspace.path, admin_dir)?;
    }
    Ok(found.cloned())
}

/// Refuses a workspace that stands elsewhere by now, as after `git worktree move`: no admin dir leads to its path, and one
/// with its marker leads to a tree that leads back to it.
pub(crate) fn check_not_moved(context: &Context, workspace: &Workspace) -> Result<()> {
    let here = disk::resolved(&workspace.path);
    let provider = provider::of(workspace);
    let all = admin_dirs(context, provider)?;
    if all.iter().filter_map(|admin_dir| tree_of(admin_dir)).any(|tree| disk::resolved(&tree) == here) {
        return Ok(());
    }
    for admin_dir in all.iter().filter(|admin_dir| is_marked(admin_dir, &workspace.id)) {
        let Some(tree) = tree_of(admin_dir).filter(|tree| disk::resolved(tree) != here) else { continue };
        if provider.open(context, &tree).is_ok_and(|tree| tree.admin_dir() == admin_dir) {
            return Err(Error::MovedAway { name: workspace.name.clone(), from: workspace.path.clone(), to: tree });
        }
    }
    Ok(())
}

/// Whether a workspace's own marker says that it was handed out: from then on it holds work, whatever the store says.
pub(crate) fn was_handed_out(context: &Context, workspace: &Workspace) -> Result<bool> {
    let marker = find_admin_dir(context, workspace)?.and_then(|admin_dir| Marker::load(&admin_dir));
    Ok(marker.is_some_and(|marker| marker.ready && marker.id == workspace.id))
}

fn is_marked(admin_dir: &Path, id: &WorkspaceId) -> bool {
    Marker::load(admin_dir).is_some_and(|marker| marker.id == *id)
}

/// The tree that an admin dir leads to, which need not be there.
pub(super) fn tree_of(admin_dir: &Path) -> Option<PathBuf> {
    let text = read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).ok()?;
    let pointer = Some(text.trim_end()).filter(|pointer| !pointer.is_empty())?;
    admin_dir.join(pointer).parent().map(Path::to_owned)
}

/// Finds the admin dir that names a path, which need not be there.
pub(crate) fn find_admin_dir_of(context: &Context, path: &Path) -> Result<Option<PathBuf>> {
    let pointer = |admin_dir: &Path| read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).unwrap_or_default();
    let names_it = |admin_dir: &PathBuf| Path::new(pointer(admin_dir).trim_end()) == path.join(".git");
    Ok(all_admin_dirs(context)?.into_iter().find(names_it))
}

/// The admin dirs of a provider's live trees.
pub(super) fn admin_dirs(context: &Context, provider: &dyn Provider) -> Result<Vec<PathBuf>> {
    entries_of(&provider.admin_root(context.git().common_dir()))
}

/// The admin dirs of all live trees of a repository.
fn all_admin_dirs(context: &Context) -> Result<Vec<PathBuf>> {
    all_admin_dirs_in(context.git().common_dir())
}

/// The same of a repository whose common git dir is known.
pub(crate) fn all_admin_dirs_in(common_dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = provider::all().map(|provider| entries_of(&provider.admin_root(common_dir)));
    Ok(entries.collect::<Result<Vec<_>>>()?.concat())
}

/// The branches that live workspaces of any home have, by their markers.
pub(crate) fn named_branches(context: &Context) -> Result<BTreeSet<BranchName>> {
    let markers = all_admin_dirs(context)?.into_iter().filter_map(|admin_dir| Marker::load(&admin_dir));
    Ok(markers.map(|marker| marker.branch).collect())
}

fn entries_of(directory: &Path) -> Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::files(directory, "read")(error)),
    }
}

/// The admin dirs of linked worktrees that lie inside a workspace's tree.
pub(super) fn nested_admin_dirs(context: &Context, path: &Path) -> Result<Vec<PathBuf>> {
    let is_nested = |admin_dir: &PathBuf| {
        // Its pointer may be relative.
        let tree = tree_of(admin_dir).map(|tree| disk::lexical(&tree));
        tree.is_some_and(|tree| tree != path && tree.starts_with(path))
    };
    Ok(all_admin_dirs(context)?.into_iter().filter(is_nested).collect())
}

/// Refuses a tree in which another home has a workspace, which would go with it.
pub(crate) fn check_nested(context: &Context, path: &Path) -> Result<()> {
    nested_admin_dirs(context, path)?.iter().try_for_each(|nested| homes::check_home(context, path, nested))
}
