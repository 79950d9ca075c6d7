//! Deletes for good what the trash or an archive still has of a workspace, as a journaled operation:
//!
//! 1. `moving`: tree and admin dir are renamed out of the trash, where it is still there. If a process works in them, they are
//!    renamed back.
//! 2. `deleting`: from here on it is only finished. The refs that keep its commits go, then the archives, then what was moved.
//!    Our locks on worktrees that lay inside go last.
//! 3. Row `purged`, with the mark of who erased it and when.
//!
//! A death while moving is undone: the trash is whole again. One while deleting is finished. Where something can't be deleted,
//! the operation stays open, and the next command tries again: nothing is called erased that is still there.
//!
//! Only what a person asks for, or has configured, comes here. A live workspace is never erased.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::{EraseStep, Erased, Event, Operation, OperationStatus, Step, Timestamp, Workspace, WorkspaceStatus};
use spinney_git::Presence;

use super::archive;
use super::archives::archive_files;
use super::size::size_on_disk;
use crate::home::disk;
use crate::journal::events;
use crate::journal::operations::{self, Running};
use crate::repositories::context::Context;
use crate::tree;
use crate::tree::marker::Removal;
use crate::{Engine, Error, Result, fail};

const MOVING: Step = Step::Erase(EraseStep::Moving);
const DELETING: Step = Step::Erase(EraseStep::Deleting);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct EraseData {
    /// Where the tree and the admin dir were, recorded before they move.
    tree: PathBuf,
    admin_dir: PathBuf,
    /// Who asked for it, in words: somebody else may finish it.
    by: String,
    /// What its removal noted, read before that is deleted; none where it can't be read.
    #[serde(default)]
    removal: Option<Removal>,
}

impl EraseData {
    fn of(engine: &Engine, context: &Context, workspace: &Workspace) -> Self {
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        let archived = || engine.archive_of(workspace).and_then(|place| archive::load_removal(&place));
        Self {
            tree: tree::trash_place(&engine.home, &workspace.path, workspace.id.as_str()),
            removal: Removal::load(&admin_dir).or_else(archived),
            admin_dir,
            by: engine.store.actor().to_string(),
        }
    }

    /// Each place, and where it is deleted.
    fn places(&self, operation: &Operation) -> [(&Path, PathBuf); 2] {
        let aside = |place: &Path| place.with_file_name(format!("{ERASED_ASIDE}{}", operation.id));
        [(&self.tree, aside(&self.tree)), (&self.admin_dir, aside(&self.admin_dir))]
    }
}

/// How the name of what is deleted begins.
pub(crate) const ERASED_ASIDE: &str = "erase-";

/// A workspace of which nothing is left but its row.
#[derive(Debug, Clone)]
pub struct Erasure {
    pub workspace: Workspace,
    pub freed: u64,
}

impl Engine {
    /// Deletes for good what is left of a workspace in the trash, or purged from it.
    #[boxed]
    pub async fn erase(&self, context: &Context, workspace: &Workspace) -> Result<Erasure> {
        require_erasable(workspace)?;
        self.require_trash_there(context, workspace)?;
        let Some(_archive) = self.hold_archive(workspace)? else {
            return Err(Error::Busy { name: workspace.name.clone() });
        };
        let data = EraseData::of(self, context, workspace);
        if let Some(mount) = disk::mounts_inside(&data.tree).map_err(Error::files(&data.tree, "inspected"))?.first() {
            return Err(Error::MountInside { name: workspace.name.clone(), mount: mount.clone() });
        }
        self.require_unused(workspace, &data.tree)?;
        self.require_no_repository_inside(workspace).await?;
        let lock = self.begin_operation()?;
        let operation = operations::new_operation(self, &lock, &workspace.repository_id, &workspace.id, MOVING, &data)?;
        let mut db = self.store.write().await?;
        let current = db.workspace(&workspace.id).await?.filter(|row| require_erasable(row).is_ok());
        if current.is_none() || !db.insert_operation(&operation).await? {
            drop(db);
            lock.discard();
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        db.commit().await?;
        let mut running = Running { lock, operation };
        if let Err(error) = self.move_erased_aside(context, workspace, &running.operation, &data).await {
            self.undo_erase(context, &running.operation, &data, &error.in_full()).await?;
            running.lock.discard();
            return Err(error);
        }
        self.record_step(&mut running, DELETING, &data).await?;
        // Where that fails, the lock is given up and the operation stays open.
        let (workspace, freed) = self.finish_erase(context, &running.operation, workspace.clone(), &data).await?;
        running.lock.discard();
        Ok(Erasure { workspace, freed })
    }

    /// Refuses where the files of a workspace in the trash can't be seen now, and where they are back in their place: what is said of
    /// them would not be so.
    pub(super) fn require_trash_there(&self, context: &Context, workspace: &Workspace) -> Result<()> {
        let name = || workspace.name.clone();
        if self.is_back(context, workspace) {
            let status = WorkspaceStatus::Active;
            return Err(Error::WrongStatus { name: name(), status, needed: "in the trash" });
        }
        if workspace.status != WorkspaceStatus::Trashed {
            return Ok(());
        }
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        // With nothing else beside it, the trash itself is away, as on a disk that is not mounted.
        let is_away = |place: &Path| {
            let beside = place.parent().and_then(|trash| fs::read_dir(trash).ok()?.next());
            beside.is_none()
        };
        let removal = Removal::load(&tree::trashed_admin_dir(context, &workspace.id));
        if Presence::of(&tree).is_gone() && is_away(&tree) && removal.is_none_or(|removal| removal.had_tree) {
            return Err(Error::TreeMissing { name: name(), path: tree });
        }
        Ok(())
    }

    /// Renames tree and admin dir out of the trash. Idempotent.
    async fn move_erased_aside(
        &self,
        context: &Context,
        workspace: &Workspace,
        operation: &Operation,
        data: &EraseData,
    ) -> Result<()> {
        fail::point("erase.recorded")?;
        let lock = context.lock("erase").await?;
        let [(tree, tree_aside), (admin_dir, admin_aside)] = data.places(operation);
        tree::move_if_there(tree, &tree_aside)?;
        fail::point("erase.tree-moved")?;
        tree::move_if_there(admin_dir, &admin_aside)?;
        drop(lock);
        fail::point("erase.moved")?;
        self.require_unused(workspace, &tree_aside)
    }

    async fn undo_erase(&self, context: &Context, operation: &Operation, data: &EraseData, cause: &str) -> Result<()> {
        let lock = context.lock("erase").await?;
        for (place, aside) in data.places(operation) {
            tree::move_if_there(&aside, place)?;
        }
        drop(lock);
        let mut db = self.store.write().await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some(cause)).await?;
        db.commit().await?;
        fail::point("erase.undone")
    }

    /// Deletes all that is left, and makes it visible. Idempotent.
    async fn finish_erase(
        &self,
        context: &Context,
        operation: &Operation,
        mut workspace: Workspace,
        data: &EraseData,
    ) -> Result<(Workspace, u64)> {
        fail::point("erase.deleting")?;
        let lock = context.lock("erase").await?;
        let spaces = tree::kept_refs(&workspace.id);
        for one in context.load_refs_below(&spaces.each_ref().map(String::as_str)).await? {
            context.delete_kept_ref(&lock, &one).await?;
        }
        drop(lock);
        fail::point("erase.refs-deleted")?;
        let mut freed = 0;
        let archives = archive_files(&self.home, &workspace.id);
        let aside = data.places(operation).map(|(_, aside)| aside);
        for place in archives.into_iter().chain(aside).chain(self.half_rebuilt(context, &workspace)) {
            freed += size_on_disk(&place).unwrap_or(0);
            disk::delete_moved_aside(&place).map_err(Error::files(&place, "deleted"))?;
            fail::point("erase.some-deleted")?;
        }
        let inside = data.removal.as_ref().map(Removal::admin_dirs_inside).unwrap_or_default();
        tree::unlock_inside(&workspace.id, &inside);
        fail::point("erase.deleted")?;
        let before = workspace.status;
        workspace.status = WorkspaceStatus::Purged;
        let at_ms = Timestamp::now().as_millisecond();
        workspace.metadata.erased = Some(Erased { at_ms, by: data.by.clone() });
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &[before]).await?;
        db.record_archive(&workspace.id, None).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        events::record(&mut db, &workspace, Event::WorkspaceErased)?;
        db.commit().await?;
        fail::point("erase.settled")?;
        Ok((workspace, freed))
    }

    /// Finishes or undoes an erasure whose owner died.
    pub(crate) async fn recover_erase(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
    ) -> Result<&'static str> {
        let data: EraseData = operations::data(operation)?;
        if operation.step == MOVING {
            self.undo_erase(context, operation, &data, "its process died").await?;
            return Ok("undone");
        }
        let _archive: Option<Option<File>> = self.hold_archive(&workspace)?;
        self.finish_erase(context, operation, workspace, &data).await?;
        Ok("finished")
    }
}

/// Refuses what lives, and what is erased already.
pub(super) fn require_erasable(workspace: &Workspace) -> Result<()> {
    if let Some(erased) = &workspace.metadata.erased {
        let (name, at, by) = (workspace.name.clone(), erased.at(), erased.by.clone());
        return Err(Error::Erased { name, at, by });
    }
    match workspace.status {
        WorkspaceStatus::Trashed | WorkspaceStatus::Purged => Ok(()),
        status => Err(Error::WrongStatus { name: workspace.name.clone(), status, needed: "in the trash" }),
    }
}
