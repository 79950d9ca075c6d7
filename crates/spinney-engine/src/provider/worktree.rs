//! Workspaces as linked worktrees of the repository.
//!
//! Under the repository's lock lies only what changes git's shared state: registering a worktree, renaming its admin
//! dir, moving a ref. Checking files out and deleting what was renamed happen outside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use spinney_core::{BranchName, CommitId, OperationId, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_git::{AddWorktree, POINTER_BYTES, RepositoryLock, Start, Worktree, read_regular, read_regular_text};

use super::homes;
use super::marker::{Marker, Removal};
use crate::context::{Context, tree_root};
use crate::home::{self, Home};
use crate::{Error, Result, disk, fail};

/// How a workspace's directory was found.
#[derive(Debug)]
pub(crate) enum Tree {
    Whole(Worktree),
    /// The directory is gone, and its tree root is there.
    Missing,
    /// The tree root itself is not there, or not marked: its disk may not be mounted.
    RootMissing,
    /// Something is there that is not this workspace.
    Damaged(spinney_git::Error),
}

/// The trash of trees that lie on another file system than the home.
pub(crate) const TRASH_BESIDE: &str = ".spinney-trash";

/// How the reason begins under which git keeps a worktree locked for Spinney.
pub(crate) const LOCKED_BY_SPINNEY: &str = "spinney:";

/// The reason under which git keeps a live worktree locked, so that a stray prune leaves it alone.
pub(crate) fn lock_reason(id: &WorkspaceId) -> String {
    format!("{LOCKED_BY_SPINNEY}{id}")
}

/// Looks at a workspace's directory before anybody uses it.
pub(crate) fn open(context: &Context, path: &Path) -> Tree {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let root = tree_root(path);
            if root.join(home::MARKER).exists() || (context.is_in_checkout(root) && root.is_dir()) {
                Tree::Missing
            } else {
                Tree::RootMissing
            }
        }
        _ => match Worktree::open(&context.git, path) {
            Ok(worktree) => match homes::other_home(context, worktree.admin_dir()) {
                None => Tree::Whole(worktree),
                Some(node) => Tree::Damaged(spinney_git::Error::DamagedWorktree {
                    path: path.to_owned(),
                    reason: format!("it belongs to another Spinney home (`{node}`)"),
                }),
            },
            Err(error) => Tree::Damaged(error),
        },
    }
}

/// Opens a workspace's directory, which must be whole.
pub(crate) fn open_whole(context: &Context, path: &Path) -> Result<Worktree> {
    let worktree = Worktree::open(&context.git, path)?;
    homes::check_home(context, path, worktree.admin_dir())?;
    Ok(worktree)
}

/// Registers a worktree with its branch, without files. Fails without a trace, or leaves what [`discard`] undoes.
pub(crate) async fn make(context: &Context, workspace: &Workspace, start: Start<'_>) -> Result<Worktree> {
    let path = &workspace.path;
    home::make_tree_root(tree_root(path)).map_err(Error::files(tree_root(path), "made"))?;
    let lock = context.git.lock("new").await?;
    let reason = lock_reason(&workspace.id);
    context.git.add_worktree(&lock, &AddWorktree { path, start, lock_reason: &reason }).await?;
    fail::point("create.registered")?;
    let worktree = Worktree::open(&context.git, path)?;
    let marker = Marker { ready: false, ..Marker::of(workspace) };
    // By its marker a member of the pool is known to be nobody's; of a creation, the journal tells until it is ready.
    if matches!(workspace.status, WorkspaceStatus::Warm | WorkspaceStatus::Reading) {
        marker.write(worktree.admin_dir())?;
    } else {
        marker.note(worktree.admin_dir())?;
    }
    Ok(worktree)
}

/// Checks the files out; outside any lock, since the tree is nobody else's yet.
pub(crate) async fn populate(worktree: &Worktree, lfs: bool) -> Result<()> {
    worktree.checkout(lfs).await.map_err(|error| match error {
        spinney_git::Error::Failed { stderr, .. } if is_full(worktree.path(), &stderr) => {
            Error::DiskFull { path: tree_root(worktree.path()).to_owned() }
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
    let admin_aside = context.git.state_dir().join(format!("undo-{operation}"));
    let lock = context.git.lock("undo of new").await?;
    // A `git worktree add` that was killed early leaves no HEAD: then there is nothing to have moved on.
    if let Ok(worktree) = Worktree::open(&context.git, &workspace.path)
        && fs::metadata(worktree.admin_dir().join("HEAD")).is_ok_and(|head| head.len() > 0)
        && worktree.load_head().await?.commit().is_some_and(|head| head != commit)
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
        && context.git.load_branch(branch).await?.as_ref() == Some(commit)
        && !context.git.is_checked_out(branch).await?
    {
        context.git.delete_ref(lock, &branch.local_ref(), commit).await?;
    }
    Ok(())
}

/// Whether a workspace's own marker says that it was handed out: from then on it holds work, whatever the store says.
pub(crate) fn was_handed_out(context: &Context, workspace: &Workspace) -> Result<bool> {
    let marker = find_admin_dir(context, workspace)?.and_then(|admin_dir| Marker::load(&admin_dir));
    Ok(marker.is_some_and(|marker| marker.ready && marker.id == workspace.id))
}

/// Moves tree and admin dir into the trash, under the caller's lock. Idempotent: what has moved already stays moved.
pub(crate) fn move_to_trash(
    _lock: &RepositoryLock,
    context: &Context,
    home: &Home,
    workspace: &Workspace,
    removal: &Removal,
) -> Result<()> {
    let admin_trash = trashed_admin_dir(context, &workspace.id);
    for nested in nested_admin_dirs(context, &workspace.path)? {
        lock_nested(&nested, &workspace.id)?;
    }
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
    let worktrees = context.git.common_dir().join("worktrees");
    if admin_trash.exists() {
        fs::create_dir_all(&worktrees).map_err(Error::files(&worktrees, "made"))?;
        let name = free_admin_name(&worktrees, removal, &workspace.id);
        move_if_there(&admin_trash, &worktrees.join(name))?;
        fail::point("restore.admin-moved")?;
    }
    let Some(admin_dir) = find_admin_dir(context, workspace)? else {
        return Err(Error::NotRestorable {
            name: workspace.name.clone(),
            reason: format!("`{}` is gone", admin_trash.display()),
        });
    };
    if !workspace.path.exists() {
        home::make_tree_root(tree_root(&workspace.path)).map_err(Error::files(&workspace.path, "made"))?;
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
    unlock_nested(context, workspace)
}

/// The admin dirs of linked worktrees that lie inside a workspace's tree.
pub(crate) fn nested_admin_dirs(context: &Context, path: &Path) -> Result<Vec<PathBuf>> {
    let is_nested = |admin_dir: &PathBuf| {
        let pointer = read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).unwrap_or_default();
        let tree = Path::new(pointer.trim_end()).parent();
        tree.is_some_and(|tree| tree != path && tree.starts_with(path))
    };
    Ok(admin_dirs(context)?.into_iter().filter(is_nested).collect())
}

/// Refuses a tree in which another home has a workspace, which would go with it.
pub(crate) fn check_nested(context: &Context, path: &Path) -> Result<()> {
    nested_admin_dirs(context, path)?.iter().try_for_each(|nested| homes::check_home(context, path, nested))
}

/// Keeps a stray prune from a worktree that is in the trash inside another; a lock that is there already stays.
fn lock_nested(admin_dir: &Path, id: &WorkspaceId) -> Result<()> {
    let locked = admin_dir.join("locked");
    match fs::OpenOptions::new().write(true).create_new(true).open(&locked) {
        Ok(mut file) => {
            io::Write::write_all(&mut file, lock_reason(id).as_bytes()).map_err(Error::files(&locked, "written"))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::files(&locked, "written")(error)),
    }
}

/// Undoes [`lock_nested`] once the tree is back.
fn unlock_nested(context: &Context, workspace: &Workspace) -> Result<()> {
    for nested in nested_admin_dirs(context, &workspace.path)? {
        let locked = nested.join("locked");
        if read_regular_text(&locked, POINTER_BYTES).is_ok_and(|reason| reason == lock_reason(&workspace.id)) {
            fs::remove_file(&locked).map_err(Error::files(&locked, "deleted"))?;
        }
    }
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

/// Moves the admin dir of a vanished tree aside, so that its branch is free to be checked out again; it is kept.
pub(crate) async fn retire_admin_dir(context: &Context, workspace: &Workspace) -> Result<()> {
    let lock = context.git.lock("new").await?;
    let Some(admin_dir) = find_admin_dir(context, workspace)? else { return Ok(()) };
    let stamp = spinney_core::Timestamp::now().as_millisecond();
    let rescue = format!("{}-lost-{stamp}", rescue_ref(&workspace.id));
    let message = format!("{}: {}", workspace.name, spinney_git::VANISHED);
    context.git.pin_what_is_whole(&lock, &admin_dir, Some(&workspace.branch), &rescue, &message).await?;
    fail::point("create.lost-pinned")?;
    move_if_there(&admin_dir, &context.git.state_dir().join(format!("{}-lost-{stamp}", workspace.id)))?;
    fail::point("create.lost-retired")
}

/// Keeps every object of a removed workspace alive.
pub(crate) fn rescue_ref(id: &WorkspaceId) -> String {
    format!("refs/spinney/rescue/{id}")
}

/// Where git's admin dir of a removed workspace lies: as deep as before, so that its relative `commondir` stays true.
pub(crate) fn trashed_admin_dir(context: &Context, id: &WorkspaceId) -> PathBuf {
    context.git.state_dir().join(id.as_str())
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

/// Finds a workspace's admin dir: by the tree's own pointer, else by what the admin dirs say, else by its marker. A creation
/// that died early leaves an admin dir that points nowhere yet, but its name carries the id. Another home's is an error, and so
/// is one whose tree somebody moved.
pub(crate) fn find_admin_dir(context: &Context, workspace: &Workspace) -> Result<Option<PathBuf>> {
    if let Ok(worktree) = Worktree::open(&context.git, &workspace.path) {
        homes::check_home(context, &workspace.path, worktree.admin_dir())?;
        return Ok(Some(worktree.admin_dir().to_owned()));
    }
    check_not_moved(context, workspace)?;
    let expected = disk::resolved(&workspace.path);
    let ours = |admin_dir: &PathBuf| match tree_of(admin_dir) {
        Some(tree) => disk::resolved(&tree) == expected,
        None => admin_dir.file_name().is_some_and(|name| name.to_string_lossy().contains(workspace.id.as_str())),
    };
    let all = admin_dirs(context)?;
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
    let all = admin_dirs(context)?;
    if all.iter().filter_map(|admin_dir| tree_of(admin_dir)).any(|tree| disk::resolved(&tree) == here) {
        return Ok(());
    }
    for admin_dir in all.iter().filter(|admin_dir| is_marked(admin_dir, &workspace.id)) {
        let Some(tree) = tree_of(admin_dir).filter(|tree| disk::resolved(tree) != here) else { continue };
        if Worktree::open(&context.git, &tree).is_ok_and(|worktree| worktree.admin_dir() == admin_dir) {
            return Err(Error::MovedAway { name: workspace.name.clone(), from: workspace.path.clone(), to: tree });
        }
    }
    Ok(())
}

fn is_marked(admin_dir: &Path, id: &WorkspaceId) -> bool {
    Marker::load(admin_dir).is_some_and(|marker| marker.id == *id)
}

/// The tree that an admin dir leads to, which need not be there.
fn tree_of(admin_dir: &Path) -> Option<PathBuf> {
    let text = read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).ok()?;
    let pointer = Some(text.trim_end()).filter(|pointer| !pointer.is_empty())?;
    admin_dir.join(pointer).parent().map(Path::to_owned)
}

/// Finds the admin dir that names a path, which need not be there.
pub(crate) fn find_admin_dir_of(context: &Context, path: &Path) -> Result<Option<PathBuf>> {
    let pointer = |admin_dir: &Path| read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).unwrap_or_default();
    let names_it = |admin_dir: &PathBuf| Path::new(pointer(admin_dir).trim_end()) == path.join(".git");
    Ok(admin_dirs(context)?.into_iter().find(names_it))
}

/// Git's directories for the linked worktrees.
fn admin_dirs(context: &Context) -> Result<Vec<PathBuf>> {
    let worktrees = context.git.common_dir().join("worktrees");
    match fs::read_dir(&worktrees) {
        Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::files(&worktrees, "read")(error)),
    }
}

/// The name that an admin dir had, unless it is taken or was never one.
fn free_admin_name(worktrees: &Path, removal: &Removal, id: &WorkspaceId) -> String {
    let wanted = if removal.has_plain_admin_name() { removal.admin_name.as_str() } else { id.as_str() };
    if worktrees.join(wanted).exists() { format!("{wanted}-{id}") } else { wanted.to_owned() }
}

/// Whether nothing is there; a file in the place of a parent means that it was never made.
fn is_gone(path: &Path) -> bool {
    let gone = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| gone.contains(&error.kind()))
}

/// Renames a directory, durably, unless it has gone already.
pub(crate) fn move_if_there(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        home::make_private_directory(parent).map_err(Error::files(parent, "made"))?;
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
