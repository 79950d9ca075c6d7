//! Looks at a workspace's directory before anybody uses it.

use std::fs;
use std::io;
use std::path::Path;

use spinney_core::Workspace;
use spinney_git::Presence;

use super::provider::{self, Provider};
use super::worktree::LinkedWorktrees;
use super::{Tree, homes};
use crate::Result;
use crate::home::layout;
use crate::repositories::context::{Context, tree_root};

/// How a workspace's directory was found.
#[derive(Debug)]
pub(crate) enum Opened {
    Whole(Tree),
    /// The directory is gone, and its tree root is there.
    Missing,
    /// The tree root itself is not there, or not marked: its disk may not be mounted.
    RootMissing,
    /// Something is there that is not this workspace.
    Damaged(spinney_git::Error),
    /// This user may not look at it: nothing is known of it.
    Hidden(spinney_git::Error),
}

/// Looks at a workspace's directory.
pub(crate) fn open(context: &Context, workspace: &Workspace) -> Opened {
    let path = &workspace.path;
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return match look_at_root(context, path) {
            Presence::There => Opened::Missing,
            Presence::Gone => Opened::RootMissing,
            Presence::Hidden(error) => Opened::Hidden(spinney_git::Error::io("open", tree_root(path), error)),
        };
    }
    match provider::of(workspace).open(context, path).map(Tree::new) {
        Ok(tree) => match homes::other_home(context, tree.admin_dir()) {
            None => Opened::Whole(tree),
            Some(node) => Opened::Damaged(spinney_git::Error::DamagedWorktree {
                path: path.clone(),
                reason: format!("it belongs to another Spinney home (`{node}`)"),
            }),
        },
        Err(error) if error.is_denied() => Opened::Hidden(error),
        Err(error) => Opened::Damaged(error),
    }
}

/// Whether nothing stands at a path, and that is sure: its tree root is there.
pub(crate) fn is_missing(context: &Context, path: &Path) -> bool {
    let is_gone = fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_gone && matches!(look_at_root(context, path), Presence::There)
}

/// Whether the tree root of a path is there, and not only the place where its disk would be mounted.
fn look_at_root(context: &Context, path: &Path) -> Presence {
    let root = tree_root(path);
    match Presence::of(&root.join(layout::MARKER)) {
        Presence::Gone if context.is_in_checkout(root) && root.is_dir() => Presence::There,
        found => found,
    }
}

/// Whether another home has what stands where a row says.
pub(crate) fn is_of_other_home(context: &Context, workspace: &Workspace) -> bool {
    let opened = provider::of(workspace).open(context, &workspace.path);
    opened.is_ok_and(|tree| homes::other_home(context, tree.admin_dir()).is_some())
}

/// Opens a workspace's directory, which must be whole and of this home.
pub(crate) fn require(context: &Context, workspace: &Workspace) -> Result<Tree> {
    let tree = provider::of(workspace).open(context, &workspace.path).map(Tree::new)?;
    homes::check_home(context, &workspace.path, tree.admin_dir())?;
    Ok(tree)
}

impl Context {
    /// Opens a workspace's tree, which must be whole and of this home.
    pub fn require_tree(&self, workspace: &Workspace) -> Result<Tree> {
        require(self, workspace)
    }
}

/// Opens a linked worktree of the repository that need not be a workspace.
pub(crate) fn linked(context: &Context, path: &Path) -> spinney_git::Result<Tree> {
    LinkedWorktrees.open(context, path).map(Tree::new)
}

/// Opens the tree at a path that need not be a workspace, whoever provides it.
pub(crate) fn open_at(context: &Context, path: &Path) -> spinney_git::Result<Tree> {
    let others = || provider::all().find_map(|provider| provider.open(context, path).map(Tree::new).ok());
    linked(context, path).or_else(|error| others().ok_or(error))
}

/// A workspace's tree and admin dir at other places than theirs, as in the trash.
pub(crate) fn moved(context: &Context, workspace: &Workspace, path: &Path, admin_dir: &Path) -> Tree {
    Tree::new(provider::of(workspace).moved(context, path, admin_dir))
}
