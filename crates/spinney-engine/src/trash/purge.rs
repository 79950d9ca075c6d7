//! Purges the trash, as a journaled operation:
//!
//! 1. `archiving`: what only the tree and the admin dir hold is written into the archive, flushed, and read back. If any
//!    of that fails, the trash stays as it is. What changed meanwhile is archived again.
//! 2. `moving`: tree and admin dir are renamed out of the trash. If a process works in them, or anything differs from what
//!    was archived, they are renamed back.
//! 3. `deleting`: both are deleted; never through a link or across a mount.
//! 4. Row `purged`. The rescue ref stays as long as its commits are nowhere else; `restore` works from it and the archive.
//!
//! A death while archiving or moving is undone: the trash is whole again. One while deleting is finished.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::{Event, Operation, OperationStatus, PurgeStep, Step, Timestamp, Workspace, WorkspaceStatus};
use spinney_git::{Elsewhere, ObjectFormat, Wanted};

use super::archive::{self, Contents};
use super::archives::archive_file;
use super::attributes::files_with_attributes;
use super::print;
use super::size::size_on_disk;
use super::view::View;
use crate::home::{disk, layout};
use crate::journal::events;
use crate::journal::operations::{self, Running};
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree;
use crate::tree::marker::{REMOVAL_FILE, Removal};
use crate::verdict::holdings::{Holdings, Stands};
use crate::{Engine, Error, Result, fail};

const ARCHIVING: Step = Step::Purge(PurgeStep::Archiving);
const MOVING: Step = Step::Purge(PurgeStep::Moving);
const DELETING: Step = Step::Purge(PurgeStep::Deleting);

/// How often what somebody still writes to is archived before the purge is given up.
const TRIES: usize = 3;

/// The quota is looked at no more often than this: it takes a walk through the trash.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PurgeData {
    /// Where the tree and the admin dir were, recorded before they move.
    pub tree: PathBuf,
    pub admin_dir: PathBuf,
}

impl PurgeData {
    /// Where tree and admin dir are deleted.
    fn aside(&self, operation: &Operation) -> (PathBuf, PathBuf) {
        let aside = |place: &Path| place.with_file_name(format!("purge-{}", operation.id));
        (aside(&self.tree), aside(&self.admin_dir))
    }
}

/// A workspace in the trash.
#[derive(Debug, Clone)]
pub struct Trashed {
    pub workspace: Workspace,
    /// When it will be purged by itself.
    pub until: Timestamp,
    /// What it takes on disk, where that was asked for.
    pub bytes: Option<u64>,
}

/// What a purge left.
#[derive(Debug, Clone)]
pub struct Purged {
    pub workspace: Workspace,
    /// The archive; none when the tree held nothing of its own.
    pub archive: Option<PathBuf>,
    pub freed: u64,
}

/// What of a tree is not in git.
#[derive(Debug)]
pub(super) struct Own {
    kept: Vec<PathBuf>,
    /// Tracked files that are not there; none where git gave no answer and all of the tree is kept.
    deleted: Option<Vec<PathBuf>>,
    /// Tracked files whose content git-lfs has.
    large: Vec<PathBuf>,
}

impl Engine {
    /// Lists the trash, oldest first.
    #[boxed]
    pub async fn trash(&self, sizes: bool) -> Result<Vec<Trashed>> {
        let keep = self.config.cleanup.trash_for.0;
        let mut list = Vec::new();
        for workspace in self.workspaces(None, Among::Trashed).await? {
            let removed_at = workspace.removed_at.unwrap_or(workspace.last_activity_at);
            let bytes = if sizes {
                size_on_disk(&tree::trash_place(&self.home, &workspace.path, workspace.id.as_str())).ok()
            } else {
                None
            };
            list.push(Trashed { workspace, until: removed_at.plus(keep), bytes });
        }
        list.sort_by_key(|trashed| trashed.until);
        Ok(list)
    }

    /// Whether it is time for a purge: something was kept for longer than `trash_for`, or the quota was not looked at for a
    /// while. Who is told so does it.
    #[boxed]
    pub async fn trash_wants_purging(&self) -> Result<bool> {
        let due = self.is_trash_due().await?;
        let stamp = self.home.root().join("purged");
        let age = fs::metadata(&stamp).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        let wants = due || age.is_some_and(|age| age > LOOK_EVERY);
        // Nothing here is worth failing what has done its work.
        let _ = match wants {
            true => fs::write(&stamp, ""),
            false => File::options().create(true).append(true).open(&stamp).map(drop),
        };
        Ok(wants)
    }

    /// Whether anything in the trash was kept for longer than `trash_for`.
    async fn is_trash_due(&self) -> Result<bool> {
        let keep = self.config.cleanup.trash_for.0;
        let oldest = self.store.read().await?.oldest_trashed(&self.account, self.home.node()).await?;
        Ok(!keep.is_zero() && oldest.is_some_and(|removed_at| removed_at.plus(keep) <= Timestamp::now()))
    }

    /// What is due: kept for longer than `trash_for`, and the oldest of the rest while all take more than `trash_quota`.
    #[boxed]
    pub async fn expired(&self) -> Result<Vec<Workspace>> {
        let (keep, quota) = (self.config.cleanup.trash_for.0, self.config.cleanup.trash_quota.0);
        let now = Timestamp::now();
        let trash = self.trash(quota > 0).await?;
        let mut left: u64 = trash.iter().filter_map(|trashed| trashed.bytes).sum();
        let mut due = Vec::new();
        for trashed in trash {
            let old = !keep.is_zero() && trashed.until <= now;
            if old || (quota > 0 && left > quota) {
                left = left.saturating_sub(trashed.bytes.unwrap_or(0));
                due.push(trashed.workspace);
            }
        }
        Ok(due)
    }

    /// Purges one workspace of the trash, whatever its repository, without telling anybody how it goes.
    #[boxed]
    pub async fn purge_by_itself(&self, workspace: &Workspace) -> Result<Purged> {
        let context = self.context_of(workspace).await?;
        self.purge(&context, workspace, &|_| {}).await
    }

    /// Purges one workspace of the trash.
    #[boxed]
    pub async fn purge(&self, context: &Context, workspace: &Workspace, observer: &dyn Observer) -> Result<Purged> {
        if workspace.status != WorkspaceStatus::Trashed {
            return Err(Error::NotInTrash { name: workspace.name.clone(), status: workspace.status });
        }
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        self.mend_admin_dir(context, workspace, &tree, &admin_dir).await?;
        // A tree that was gone already when the workspace was removed is none the less purged: git's part of it is here.
        if !admin_dir.exists() {
            return Err(Error::TreeMissing { name: workspace.name.clone(), path: admin_dir });
        }
        if !tree.exists() && Removal::load(&admin_dir).is_none_or(|removal| removal.had_tree) {
            return Err(Error::TreeMissing { name: workspace.name.clone(), path: tree });
        }
        if let Some(mount) = disk::mounts_inside(&tree).map_err(Error::files(&tree, "inspected"))?.first() {
            return Err(Error::MountInside { name: workspace.name.clone(), mount: mount.clone() });
        }
        self.require_unused(workspace, &tree)?;
        self.require_no_repository_inside(workspace).await?;
        let data = PurgeData { tree, admin_dir };
        let lock = self.begin_operation()?;
        let (repository, id) = (&workspace.repository_id, &workspace.id);
        let operation = operations::new_operation(self, &lock, repository, id, ARCHIVING, &data)?;
        let mut db = self.store.write().await?;
        let current = db.workspace(id).await?.is_some_and(|row| row.status == WorkspaceStatus::Trashed);
        if !current || !db.insert_operation(&operation).await? {
            drop(db);
            lock.discard();
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        db.commit().await?;

        let mut running = Running { lock, operation };
        let freed = size_on_disk(&data.tree).unwrap_or(0);
        let archive = match self.archive_and_move(context, workspace, &mut running, &data).await {
            Ok(archive) => archive,
            Err(error) => {
                self.bring_back_aside(context, &running.operation, &data).await?;
                self.undo_purge(&running.operation, workspace, &error.in_full()).await?;
                running.lock.discard();
                return Err(error);
            }
        };
        self.record_step(&mut running, DELETING, &data).await?;
        let finished = self.finish_purge(context, &running.operation, workspace.clone(), &data).await;
        running.lock.discard();
        let workspace = finished?;
        if let Err(error) = self.drop_needless_rescue(context, &workspace, archive.is_some()).await {
            observer(Notice::Warning(Warning::Minor { what: format!("its rescue ref stays: {}", error.in_full()) }));
        }
        Ok(Purged { workspace, archive, freed })
    }

    /// Archives what only tree and admin dir hold, and renames both out of the trash. An error leaves them there or aside,
    /// whole.
    async fn archive_and_move(
        &self,
        context: &Context,
        workspace: &Workspace,
        running: &mut Running,
        data: &PurgeData,
    ) -> Result<Option<PathBuf>> {
        let print = |tree: &Path, admin_dir: &Path| {
            let printed = print::of(tree).and_then(|tree| Ok((tree, print::of_admin_dir(admin_dir)?)));
            printed.map_err(Error::files(tree, "read"))
        };
        for _ in 0..TRIES {
            let before = print(&data.tree, &data.admin_dir)?;
            let archive = self.write_archive(context, workspace, data).await?;
            if before != print(&data.tree, &data.admin_dir)? {
                continue;
            }
            self.record_step(running, MOVING, data).await?;
            let (tree, admin_dir) = data.aside(&running.operation);
            self.move_aside(context, data, &running.operation).await?;
            self.require_unused(workspace, &tree)?;
            if before != print(&tree, &admin_dir)? {
                break;
            }
            return Ok(archive);
        }
        Err(Error::StillUsed { name: workspace.name.clone(), by: "a process".to_owned() })
    }

    /// Renames tree and admin dir out of the trash. Idempotent.
    async fn move_aside(&self, context: &Context, data: &PurgeData, operation: &Operation) -> Result<()> {
        let (tree_aside, admin_aside) = data.aside(operation);
        let lock = context.lock("purge").await?;
        fail::point("purge.moving")?;
        tree::move_if_there(&data.tree, &tree_aside)?;
        fail::point("purge.tree-moved")?;
        tree::move_if_there(&data.admin_dir, &admin_aside)?;
        drop(lock);
        fail::point("purge.moved")
    }

    /// Undoes it. Idempotent.
    async fn bring_back_aside(&self, context: &Context, operation: &Operation, data: &PurgeData) -> Result<()> {
        let (tree_aside, admin_aside) = data.aside(operation);
        let _lock = context.lock("purge").await?;
        tree::move_if_there(&admin_aside, &data.admin_dir)?;
        tree::move_if_there(&tree_aside, &data.tree)
    }

    /// All archives in the home.
    pub(crate) fn archives(&self) -> Result<Vec<PathBuf>> {
        let directory = self.home.root().join("archives");
        match fs::read_dir(&directory) {
            Ok(entries) => Ok(entries.flatten().map(|entry| entry.path()).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::files(&directory, "read")(error)),
        }
    }

    /// Where a workspace's archive is, or would be.
    pub(super) fn archive_place(&self, workspace: &Workspace) -> PathBuf {
        archive_file(&self.home, &workspace.id)
    }

    /// Writes the archive and reads it back. Only a whole one gets its name.
    async fn write_archive(
        &self,
        context: &Context,
        workspace: &Workspace,
        data: &PurgeData,
    ) -> Result<Option<PathBuf>> {
        fail::point("purge.recorded")?;
        let place = self.archive_place(workspace);
        let directory = place.parent().unwrap_or(self.home.root());
        layout::make_private_directory(directory).map_err(Error::files(directory, "made"))?;
        let own = self.own_of(context, workspace, data).await?;
        if own.is_empty()
            && !holds_state(&data.admin_dir)
            && !place.exists()
            && self.is_safe_elsewhere(context, workspace, data).await?
        {
            return Ok(None);
        }
        let aside = place.with_extension("partial");
        let contents = Contents {
            admin_dir: &data.admin_dir,
            tree: &data.tree,
            kept: &own.kept,
            deleted: own.deleted.as_deref(),
            large: &own.large,
        };
        archive::write(&aside, &contents).map_err(Error::files(&aside, "written"))?;
        fail::point("purge.written")?;
        archive::verify(&aside).map_err(Error::files(&aside, "read back"))?;
        fail::point("purge.verified")?;
        fs::rename(&aside, &place).map_err(Error::files(&place, "made"))?;
        disk::sync_parent(&place).map_err(Error::files(&place, "made durable"))?;
        fail::point("purge.archived")?;
        Ok(Some(place))
    }

    /// Whether nothing would have to come back: the branch went as merged or unstarted, nothing is staged beside it, and
    /// every commit is elsewhere.
    async fn is_safe_elsewhere(&self, context: &Context, workspace: &Workspace, data: &PurgeData) -> Result<bool> {
        let removal = Removal::load(&data.admin_dir);
        let Some((branch, tip)) = removal.and_then(|removal| removal.branch.zip(removal.tip)) else { return Ok(false) };
        let removed = tree::moved(context, workspace, &data.tree, &data.admin_dir);
        Ok(context.load_branch(&branch).await?.is_none()
            && removed.count_staged(tip.as_str()).await? == 0
            && context
                .is_rescue_needless(&tree::rescue_ref(&workspace.id), self.safe_places(context, workspace).await)
                .await?)
    }

    /// Where the commits of a removed workspace may be safe. What was known of the remote when it was removed is no proof: the
    /// remote may have taken it back since. A fetch that came later is.
    async fn safe_places(&self, context: &Context, workspace: &Workspace) -> Elsewhere {
        let remote = self.remote(context).await.ok().flatten();
        let branches = workspace.base_branch.iter().cloned().collect();
        let wanted = Wanted { default_branch: false, branches, pulls: Vec::new() };
        let known = remote.and_then(|remote| context.load_known(&remote.name, &wanted));
        match (known, workspace.removed_at) {
            (Some(known), Some(removed_at)) if known.at >= removed_at => Elsewhere::HereOrRemote,
            _ => Elsewhere::Here,
        }
    }

    /// Finds what of a tree is not in git. Where git gives no answer, all of it counts.
    pub(super) async fn own_of(&self, context: &Context, workspace: &Workspace, data: &PurgeData) -> Result<Own> {
        if !data.tree.exists() {
            return Ok(Own { kept: Vec::new(), deleted: Some(Vec::new()), large: Vec::new() });
        }
        let view = View::make(&data.admin_dir).map_err(Error::files(&data.admin_dir, "read"))?;
        let worktree = tree::moved(context, workspace, &data.tree, view.admin_dir());
        let format = ObjectFormat::of(&workspace.base_commit);
        let Ok(mut held) = Holdings::load(&self.config, &worktree, format, Stands::Elsewhere).await else {
            let kept = everything(&data.tree).map_err(Error::files(&data.tree, "read"))?;
            return Ok(Own { kept, deleted: None, large: Vec::new() });
        };
        let (mut kept, deleted) = (held.kept(), std::mem::take(&mut held.missing));
        let large = std::mem::take(&mut held.large);
        // Git gives back no attributes, even of a file that did not change.
        let tree = data.tree.clone();
        let with_attributes = tokio::task::spawn_blocking(move || files_with_attributes(&tree, &held.caches)).await;
        let with_attributes = with_attributes.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        kept.extend(with_attributes.map_err(Error::files(&data.tree, "read"))?);
        kept.sort();
        kept.dedup();
        // A pointer is written anew; what somebody put in its place is theirs.
        if data.tree.join(".git").symlink_metadata().is_ok_and(|found| !found.is_file()) {
            kept.push(PathBuf::from(".git"));
        }
        Ok(Own { kept, deleted: Some(deleted), large })
    }

    /// Deletes what was archived, and makes it visible. Idempotent.
    async fn finish_purge(
        &self,
        context: &Context,
        operation: &Operation,
        mut workspace: Workspace,
        data: &PurgeData,
    ) -> Result<Workspace> {
        fail::point("purge.deleting")?;
        self.move_aside(context, data, operation).await?;
        let (tree_aside, admin_aside) = data.aside(operation);
        // What can't be deleted now holds nobody up: `cleanup orphans` tries again.
        let deleted = [tree_aside, admin_aside]
            .iter()
            .map(|aside| disk::delete_moved_aside(aside).map_err(Error::files(aside, "deleted")))
            .fold(Ok(()), Result::and);
        fail::point("purge.deleted")?;
        workspace.status = WorkspaceStatus::Purged;
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &[WorkspaceStatus::Trashed]).await?;
        db.record_archive(&workspace.id, self.archived_bytes(&workspace)).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        events::record(&mut db, &workspace, Event::WorkspacePurged)?;
        db.commit().await?;
        fail::point("purge.settled")?;
        deleted.map(|()| workspace)
    }

    /// Drops the rescue ref of a workspace that held nothing of its own: all its commits are safe elsewhere.
    async fn drop_needless_rescue(&self, context: &Context, workspace: &Workspace, archived: bool) -> Result<()> {
        if archived {
            return Ok(());
        }
        let lock = context.lock("purge").await?;
        let elsewhere = self.safe_places(context, workspace).await;
        context.drop_rescue_if_needless(&lock, &tree::rescue_ref(&workspace.id), elsewhere).await?;
        Ok(())
    }

    async fn undo_purge(&self, operation: &Operation, workspace: &Workspace, cause: &str) -> Result<()> {
        let aside = self.archive_place(workspace).with_extension("partial");
        let _ = fs::remove_file(aside);
        let mut db = self.store.write().await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some(cause)).await?;
        db.commit().await?;
        fail::point("purge.undone")
    }

    /// Finishes or undoes a purge whose owner died.
    pub(crate) async fn recover_purge(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
    ) -> Result<&'static str> {
        if operation.step == MOVING {
            self.bring_back_aside(context, operation, &operations::data(operation)?).await?;
        }
        if operation.step == ARCHIVING || operation.step == MOVING {
            self.undo_purge(operation, &workspace, "its process died").await?;
            return Ok("undone");
        }
        let data: PurgeData = operations::data(operation)?;
        self.finish_purge(context, operation, workspace, &data).await?;
        Ok("finished")
    }

    /// Refuses what a process still works in.
    pub(super) fn require_unused(&self, workspace: &Workspace, tree: &Path) -> Result<()> {
        let inside = self.executor(Some(workspace)).inside(tree);
        if inside.is_empty() {
            return Ok(());
        }
        let by = inside.iter().map(ToString::to_string).collect::<Vec<_>>();
        Err(Error::StillUsed { name: workspace.name.clone(), by: by.join(", ") })
    }
}

impl Own {
    /// What is not in git, where git told what is.
    pub(super) fn in_part(self) -> Option<Vec<PathBuf>> {
        self.deleted.is_some().then_some(self.kept)
    }

    fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.deleted.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Whether an admin dir holds more than where HEAD is: an operation in progress, submodules, refs of its own.
fn holds_state(admin_dir: &Path) -> bool {
    const PLAIN: [&str; 10] = [
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "COMMIT_EDITMSG",
        "commondir",
        "gitdir",
        "index",
        "locked",
        "logs",
        "spinney.json",
    ];
    let plain = |name: &str| PLAIN.contains(&name) || name == REMOVAL_FILE;
    let entries = fs::read_dir(admin_dir).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let name = entry.file_name();
        let empty = || fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none());
        !name.to_str().is_some_and(plain) && !empty()
    })
}

/// Every entry at the top of a tree but git's own pointer.
fn everything(tree: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(tree)? {
        let entry = entry?;
        if entry.file_name() != ".git" || !entry.file_type()?.is_file() {
            entries.push(PathBuf::from(entry.file_name()));
        }
    }
    Ok(entries)
}
