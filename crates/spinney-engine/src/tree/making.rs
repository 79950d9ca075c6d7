//! Makes a workspace's tree and git's part of it, and undoes that.
//!
//! Under the repository's lock lies only what changes git's shared state: registering a tree, renaming its admin dir,
//! moving a ref. Checking files out and deleting what was renamed happen outside.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::{BranchName, CommitId, OperationId, Workspace, WorkspaceStatus};
use spinney_git::{RepositoryLock, Start};

use super::finding::find_admin_dir;
use super::marker::Marker;
use super::moving::{move_if_there, rescue_ref, trash_place};
use super::{Tree, provider};
use crate::home::disk;
use crate::home::layout::{self, Home};
use crate::repositories::context::{Context, tree_root};
use crate::{Error, Result, fail};

/// Makes a tree with its branch, without files. Fails without a trace, or leaves what [`discard`] undoes.
pub(crate) async fn make(context: &Context, workspace: &Workspace, start: Start<'_>) -> Result<Tree> {
    let path = &workspace.path;
    layout::make_tree_root(tree_root(path)).map_err(Error::files(tree_root(path), "made"))?;
    let lock = context.git().lock("new").await?;
    let provider = provider::of(workspace);
    provider.register(context, &lock, workspace, start).await?;
    fail::point("create.registered")?;
    let tree = Tree::new(provider.open(context, path)?);
    let marker = Marker { ready: false, ..Marker::of(workspace) };
    // By its marker a member of the pool is known to be nobody's; of a creation, the journal tells until it is ready.
    if matches!(workspace.status, WorkspaceStatus::Warm | WorkspaceStatus::Reading) {
        marker.write(tree.admin_dir())?;
    } else {
        marker.note(tree.admin_dir())?;
    }
    Ok(tree)
}

/// Checks the files out; outside any lock, since the tree is nobody else's yet.
pub(crate) async fn populate(tree: &Tree, lfs: bool) -> Result<()> {
    tree.checkout(lfs).await.map_err(|error| match error {
        spinney_git::Error::Failed { stderr, .. } if is_full(tree.path(), &stderr) => {
            Error::DiskFull { path: tree_root(tree.path()).to_owned() }
        }
        error => error.into(),
    })
}

/// Whether files could not be written for want of space: git does not say why.
fn is_full(path: &Path, stderr: &str) -> bool {
    const NEXT_TO_NOTHING: u64 = 16 << 20;
    stderr.contains("unable to write") && disk::free_bytes(path).is_ok_and(|free| free < NEXT_TO_NOTHING)
}

/// Undoes a creation: tree and admin dir are renamed aside under the lock; the branch goes if the
/// creation made it and nobody moved it since. Idempotent.
///
/// Refuses (`None`) when HEAD has moved on: then somebody works there, and a person must look. What was moved aside is
/// the caller's to delete.
pub(crate) async fn discard(
    context: &Context,
    home: &Home,
    operation: &OperationId,
    workspace: &Workspace,
    commit: &CommitId,
    made_branch: Option<&BranchName>,
) -> Result<Option<Vec<PathBuf>>> {
    let tree_aside = trash_place(home, &workspace.path, &format!("undo-{operation}"));
    let admin_aside = context.git().state_dir().join(format!("undo-{operation}"));
    let lock = context.git().lock("undo of new").await?;
    // A `git worktree add` that was killed early leaves no HEAD: then there is nothing to have moved on.
    if let Ok(tree) = provider::of(workspace).open(context, &workspace.path)
        && fs::metadata(tree.admin_dir().join("HEAD")).is_ok_and(|head| head.len() > 0)
        && tree.load_head().await?.commit().is_some_and(|head| head != commit)
    {
        return Ok(None);
    }
    // Only what this creation made goes: an admin dir of ours leads to it. Whatever else stands there is somebody's.
    if let Some(admin_dir) = find_admin_dir(context, workspace)? {
        move_if_there(&workspace.path, &tree_aside)?;
        fail::point("undo.moved")?;
        move_if_there(&admin_dir, &admin_aside)?;
    }
    fail::point("undo.admin-moved")?;
    provider::of(workspace).forget(context, &lock, workspace).await?;
    drop_made_branch(context, &lock, made_branch, commit).await?;
    drop(lock);
    fail::point("undo.branch")?;
    Ok(Some(vec![tree_aside, admin_aside]))
}

/// Drops the branch that a creation or claim made, unless somebody moved it since, or stands on one of the same name.
pub(crate) async fn drop_made_branch(
    context: &Context,
    lock: &RepositoryLock,
    branch: Option<&BranchName>,
    commit: &CommitId,
) -> Result<()> {
    if let Some(branch) = branch
        && context.git().load_branch(branch).await?.as_ref() == Some(commit)
        && !context.git().is_checked_out(branch).await?
    {
        context.git().delete_ref(lock, &branch.local_ref(), commit).await?;
    }
    Ok(())
}

/// Moves the admin dir of a vanished tree aside, so that its branch is free to be checked out again; it is kept.
pub(crate) async fn retire_admin_dir(context: &Context, workspace: &Workspace) -> Result<()> {
    let lock = context.git().lock("new").await?;
    let Some(admin_dir) = find_admin_dir(context, workspace)? else { return Ok(()) };
    let stamp = spinney_core::Timestamp::now().as_millisecond();
    let rescue = format!("{}-lost-{stamp}", rescue_ref(&workspace.id));
    let message = format!("{}: {}", workspace.name, spinney_git::VANISHED);
    let provider = provider::of(workspace);
    let tree = provider.moved(context, &workspace.path, &admin_dir);
    tree.repository().pin_what_is_whole(&lock, &admin_dir, Some(&workspace.branch), &rescue, &message).await?;
    provider.bring_pin(context, &lock, workspace, &admin_dir, &rescue).await?;
    provider.forget(context, &lock, workspace).await?;
    fail::point("create.lost-pinned")?;
    move_if_there(&admin_dir, &context.git().state_dir().join(format!("{}-lost-{stamp}", workspace.id)))?;
    fail::point("create.lost-retired")
}
