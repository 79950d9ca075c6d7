//! Puts a purged workspace back into the trash, from its archive and its rescue ref; `restore` goes on from there.
//!
//! 1. The archive is verified, and its admin dir unpacked beside its place.
//! 2. The files that git has are written from the index; the rescue ref has kept their objects.
//! 3. What the tree alone held is laid over them, and what had been deleted is deleted.
//! 4. Tree and admin dir get their names in the trash.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use spinney_core::Workspace;
use spinney_git::Worktree;

use super::archive;
use crate::context::Context;
use crate::provider::worktree;
use crate::{Engine, Error, Result, disk, home};

impl Engine {
    /// Whether a workspace can come back from an archive.
    pub(crate) fn archive_of(&self, workspace: &Workspace) -> Option<PathBuf> {
        let place = self.archive_place(workspace);
        place.is_file().then_some(place)
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
        let archive = File::open(&place).map_err(Error::files(&place, "read"))?;
        match flock(&archive, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Busy { name: workspace.name.clone() }),
            Err(error) => return Err(Error::files(&place, "locked")(error.into())),
        }
        if !there() {
            self.unarchive(context, workspace, &place).await?;
        }
        Ok(Some(archive))
    }

    /// Rebuilds a purged workspace in the trash. Can be done again after a death half way.
    async fn unarchive(&self, context: &Context, workspace: &Workspace, place: &Path) -> Result<()> {
        let tree = worktree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let admin_dir = worktree::trashed_admin_dir(context, &workspace.id);
        let tree_aside = tree.with_extension("partial");
        let admin_aside = admin_dir.with_extension("partial");
        for aside in [&tree_aside, &admin_aside] {
            disk::delete_moved_aside(aside).map_err(Error::files(aside, "deleted"))?;
        }
        let manifest = archive::verify(place).map_err(Error::files(place, "read"))?;
        archive::unpack_admin_dir(place, &admin_aside).map_err(Error::files(&admin_aside, "written"))?;
        home::make_private_directory(&tree_aside).map_err(Error::files(&tree_aside, "made"))?;
        Worktree::moved(&context.git, &tree_aside, &admin_aside).checkout_index().await?;
        archive::unpack_tree(place, &tree_aside).map_err(Error::files(&tree_aside, "written"))?;
        for path in manifest.deleted.iter().map(|text| tree_aside.join(archive::unescape(text))) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::files(&path, "deleted")(error));
                }
                _ => {}
            }
        }
        // The pointer is no file of git's index; bring_back mends what it says.
        let pointer = tree_aside.join(".git");
        let text = format!("gitdir: {}\n", admin_dir.display());
        std::fs::write(&pointer, text).map_err(Error::files(&pointer, "written"))?;
        let mode = std::fs::Permissions::from_mode(manifest.mode);
        std::fs::set_permissions(&tree_aside, mode).map_err(Error::files(&tree_aside, "made"))?;
        worktree::move_if_there(&admin_aside, &admin_dir)?;
        worktree::move_if_there(&tree_aside, &tree)
    }
}
