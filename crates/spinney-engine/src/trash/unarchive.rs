//! Puts a purged workspace back into the trash, from its archive and its rescue ref; `restore` goes on from there.
//!
//! 1. The archive is verified, and its admin dir unpacked beside its place. One of another workspace is refused.
//! 2. The files that git has are written from the index; the rescue ref has kept their objects.
//! 3. What had been deleted is deleted, and what the tree alone held is laid over the rest.
//! 4. Tree and admin dir get their names in the trash.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use spinney_core::names::for_message;
use spinney_core::{Workspace, WorkspaceStatus};
use spinney_git::{Index, ObjectFormat};

use super::archive;
use super::archives::restored_file;
use crate::create::prepare::SETUP_VARIABLE;
use crate::create::prepare::copy::passes_link;
use crate::executor::{Tag, Tagged};
use crate::home::{disk, layout};
use crate::repositories::context::Context;
use crate::tree::marker::Marker;
use crate::tree::{self, rescue};
use crate::{Engine, Error, Result, fail};

impl Engine {
    /// Whether a workspace can come back from an archive.
    pub(crate) fn archive_of(&self, workspace: &Workspace) -> Option<PathBuf> {
        let place = self.archive_place(workspace);
        place.is_file().then_some(place)
    }

    /// Takes the archive of a workspace that is back out of use: what happens from now on is not in it.
    pub(crate) fn retire_archive(&self, workspace: &Workspace) {
        if let Some(place) = self.archive_of(workspace) {
            // Should that fail, the next purge writes over it.
            let _ = std::fs::rename(&place, restored_file(&self.home, &workspace.id));
        }
    }

    /// Rebuilds a workspace in the trash that is not there any more, if it has an archive. The archive stays locked while
    /// the answer lives, so that two restores do not rebuild it at once.
    pub(crate) async fn unarchive_if_purged(
        &self,
        context: &Context,
        workspace: &Workspace,
        tree: &Path,
        admin_dir: &Path,
    ) -> Result<Option<File>> {
        let there = || admin_dir.exists() && tree.exists();
        let Some(place) = self.archive_of(workspace).filter(|_| !there()) else { return Ok(None) };
        let Some(archive) = lock(&place)? else { return Err(Error::Busy { name: workspace.name.clone() }) };
        if !there() {
            self.unarchive(context, workspace, &place).await?;
        }
        Ok(Some(archive))
    }

    /// What a rebuild left of a workspace that did not come to its end.
    pub(crate) fn half_rebuilt(&self, context: &Context, workspace: &Workspace) -> Vec<PathBuf> {
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        let mut left = vec![tree.with_extension("partial"), admin_dir.with_extension("partial")];
        // Nothing else puts a purged workspace's halves there.
        if workspace.status == WorkspaceStatus::Purged && tree.exists() != admin_dir.exists() {
            left.extend([tree, admin_dir]);
        }
        left.retain(|place| place.exists());
        left
    }

    /// Deletes what a rebuild left. Its git may have outlived it, and would go on writing there.
    pub(crate) fn drop_half_rebuilt(&self, workspace: &Workspace, left: &Path) -> Result<()> {
        self.executor(Some(workspace)).end(&Tagged::all(&Tag::Rebuilding(workspace.id.clone())));
        disk::delete_moved_aside(left).map_err(Error::files(left, "deleted"))
    }

    /// Locks a workspace's archive, where it has one, so that nobody rebuilds from it; none while somebody does.
    pub(crate) fn hold_archive(&self, workspace: &Workspace) -> Result<Option<Option<File>>> {
        match self.archive_of(workspace) {
            Some(place) => Ok(lock(&place)?.map(Some)),
            None => Ok(Some(None)),
        }
    }

    /// Rebuilds the tree of a trashed workspace whose directory was gone when it was removed: the files that git has.
    pub(crate) async fn rebuild_missing_tree(
        &self,
        context: &Context,
        workspace: &Workspace,
        tree: &Path,
        admin_dir: &Path,
    ) -> Result<()> {
        let aside = tree.with_extension("partial");
        disk::delete_moved_aside(&aside).map_err(Error::files(&aside, "deleted"))?;
        layout::make_private_directory(&aside).map_err(Error::files(&aside, "made"))?;
        tree::moved(context, workspace, &aside, admin_dir).checkout_index().await?;
        write_pointer(&aside, admin_dir)?;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&aside, mode).map_err(Error::files(&aside, "made"))?;
        tree::move_if_there(&aside, tree)
    }

    /// Rebuilds a purged workspace in the trash. Can be done again after a death half way.
    async fn unarchive(&self, context: &Context, workspace: &Workspace, place: &Path) -> Result<()> {
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        let tree_aside = tree.with_extension("partial");
        let admin_aside = admin_dir.with_extension("partial");
        for left in self.half_rebuilt(context, workspace) {
            self.drop_half_rebuilt(workspace, &left)?;
        }
        let manifest = archive::verify(place).map_err(Error::files(place, "read"))?;
        fail::point("unarchive.verified")?;
        archive::unpack_admin_dir(place, &admin_aside).map_err(Error::files(&admin_aside, "written"))?;
        if let Some(other) = Marker::load(&admin_aside).filter(|marker| marker.id != workspace.id) {
            self.drop_half_rebuilt(workspace, &admin_aside)?;
            let reason = format!("`{}` is the archive of another workspace, `{}`", place.display(), other.id);
            return Err(Error::NotRestorable { name: workspace.name.clone(), reason });
        }
        tree::set_locks_aside(&admin_aside)?;
        fail::point("unarchive.admin-unpacked")?;
        // The files that git writes next need them.
        rescue::bring_back(context, workspace, &admin_aside).await?;
        layout::make_private_directory(&tree_aside).map_err(Error::files(&tree_aside, "made"))?;
        let rebuilt = tree::moved(context, workspace, &tree_aside, &admin_aside);
        let rebuilt = rebuilt.tagged(SETUP_VARIABLE, workspace.id.as_str());
        if !manifest.whole {
            rebuilt.checkout_index().await?;
        }
        let mut laid_over = manifest.files_of_tree();
        for path in manifest.large.iter().map(|text| archive::unescape(text)) {
            if archive::stays_inside(&path)
                && !passes_link(&tree_aside, &path)
                && rebuilt.write_large_file(&tree_aside.join(&path)).await?
            {
                laid_over.insert(path);
            }
        }
        fail::point("unarchive.filled")?;
        // Before anything is laid over the files: a link among it could lead out of the tree.
        for path in manifest.deleted.iter().map(|text| archive::unescape(text)) {
            if !archive::stays_inside(&path) || passes_link(&tree_aside, &path) {
                let fault = format!("`{}` leaves its place", for_message(&path.to_string_lossy()));
                return Err(Error::files(place, "read")(std::io::Error::new(std::io::ErrorKind::InvalidData, fault)));
            }
            let path = tree_aside.join(path);
            delete_with_empty_parents(&tree_aside, &path).map_err(Error::files(&path, "deleted"))?;
        }
        archive::unpack_tree(place, &tree_aside).map_err(Error::files(&tree_aside, "written"))?;
        if !manifest.whole {
            forget_laid_over(&laid_over, &admin_aside, ObjectFormat::of(&workspace.base_commit))?;
        }
        write_pointer(&tree_aside, &admin_dir)?;
        if let Some(mode) = manifest.mode {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&tree_aside, mode).map_err(Error::files(&tree_aside, "made"))?;
        }
        fail::point("unarchive.unpacked")?;
        tree::move_if_there(&admin_aside, &admin_dir)?;
        fail::point("unarchive.admin-moved")?;
        tree::move_if_there(&tree_aside, &tree)?;
        fail::point("unarchive.moved")
    }
}

/// Makes git read the files that were laid over those that it wrote itself: one of another size would count as changed,
/// although a conversion makes the same of both.
fn forget_laid_over(laid_over: &BTreeSet<PathBuf>, admin_dir: &Path, format: ObjectFormat) -> Result<()> {
    let index_file = admin_dir.join("index");
    // One in a form that only git reads is left: git then shows such a file as changed.
    let Ok(index) = Index::load(&index_file, format) else { return Ok(()) };
    let Ok(bytes) = index.forget_stat(laid_over) else { return Ok(()) };
    std::fs::write(&index_file, bytes).map_err(Error::files(&index_file, "written"))
}

/// Writes the pointer to the admin dir, which is no file of git's index; `bring_back` mends what it says.
fn write_pointer(tree: &Path, admin_dir: &Path) -> Result<()> {
    let pointer = tree.join(".git");
    if pointer.symlink_metadata().is_ok() {
        return Ok(());
    }
    let text = format!("gitdir: {}\n", admin_dir.display());
    std::fs::write(&pointer, text).map_err(Error::files(&pointer, "written"))
}

/// Deletes a file that the index has and the tree had not, and the directories that it leaves empty.
fn delete_with_empty_parents(tree: &Path, path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        done => done?,
    }
    for parent in path.ancestors().skip(1).take_while(|parent| *parent != tree) {
        if std::fs::remove_dir(parent).is_err() {
            break;
        }
    }
    Ok(())
}

/// Locks an archive; none when somebody else rebuilds from it.
fn lock(place: &Path) -> Result<Option<File>> {
    let archive = File::open(place).map_err(Error::files(place, "read"))?;
    match flock(&archive, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(archive)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(Error::files(place, "locked")(error.into())),
    }
}
