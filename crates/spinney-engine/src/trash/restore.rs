//! Brings a workspace back from the trash: same directory, branch, index and files. A journaled operation:
//!
//! 1. What stands in the way is looked for first: the branch checked out or moved, the work or the path taken. Name and
//!    branch that another live workspace has by now stay that one's; this one gets the same with a number.
//! 2. `moving`: row, works and journal are written in one transaction; then, under the repository's lock, the branch
//!    is put back where it stood, and admin dir and tree are renamed back.
//! 3. Row `active`, operation closed. The rescue ref stays until its commits are safe elsewhere.
//!
//! A death after `moving` is finished: every step can be taken again.

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::names::for_message;
use spinney_core::{
    BranchName, CommitId, Event, Operation, OperationStatus, RestoreStep, Step, Timestamp, Work, Workspace,
    WorkspaceName, WorkspaceStatus,
};
use spinney_git::Head;

use crate::create::free_name::free_name;
use crate::home::links;
use crate::journal::events;
use crate::journal::operations::{self, Running};
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::Context;
use crate::tree::marker::{Marker, REMOVAL_FILE, Removal};
use crate::tree::{self, rescue};
use crate::{Engine, Error, Result, fail};

const MOVING: Step = Step::Restore(RestoreStep::Moving);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RestoreData {
    removal: Removal,
    /// The branch to put HEAD on, when its own name is taken: a person's choice, or a free one.
    rename: Option<BranchName>,
    /// What it was called in the trash. Journals of earlier versions do not tell: it kept its name.
    #[serde(default)]
    name_before: Option<WorkspaceName>,
}

impl Engine {
    /// Restores a trashed workspace; `rename` puts it on a new branch when its own is taken by now. Where another live
    /// workspace has its name or branch, it gets a name or branch of its own.
    #[boxed]
    pub async fn restore(
        &self,
        context: &Context,
        workspace: &Workspace,
        rename: Option<BranchName>,
        observer: &dyn Observer,
    ) -> Result<Workspace> {
        if !matches!(workspace.status, WorkspaceStatus::Trashed | WorkspaceStatus::Purged) {
            let (name, status) = (workspace.name.clone(), workspace.status);
            return Err(Error::WrongStatus { name, status, needed: "in the trash" });
        }
        if let Some(erased) = &workspace.metadata.erased {
            let (name, at, by) = (workspace.name.clone(), erased.at(), erased.by.clone());
            return Err(Error::Erased { name, at, by });
        }
        let refused = |reason: String| Error::NotRestorable { name: workspace.name.clone(), reason };
        let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
        let tree = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let _archive_lock = self.unarchive_if_purged(context, workspace, &tree, &admin_dir).await?;
        if self.mend_admin_dir(context, workspace, &tree, &admin_dir).await? {
            let what =
                "its git admin dir was missing and was created again: staged changes are no longer staged".to_owned();
            observer(Notice::Warning(Warning::Minor { what }));
        }
        if admin_dir.is_dir()
            && let Err(error) = rescue::bring_back(context, workspace, &admin_dir).await
        {
            let what = format!("what the trash keeps beside the files could not be put back: {}", error.in_full());
            observer(Notice::Warning(Warning::Minor { what }));
        }
        let mut removal = Removal::load(&admin_dir).ok_or_else(|| {
            refused(match workspace.status {
                WorkspaceStatus::Purged if !admin_dir.exists() => {
                    "it was purged and had no files to archive: all it had is in its base".to_owned()
                }
                _ => format!("`{}` is gone or can't be read", admin_dir.display()),
            })
        })?;
        if !removal.has_plain_admin_name() {
            let what = format!(
                "`{}` in its trash was changed: it names `{}` for git's part; its id is taken instead",
                REMOVAL_FILE,
                for_message(&removal.admin_name)
            );
            observer(Notice::Warning(Warning::Minor { what }));
        }
        // Who may have a workspace, the store knows; what lies in the trash tells only where the store is lost.
        if let Some(works) = self.works_removed_with(workspace).await? {
            removal.works = works;
        }
        for lock in tree::set_locks_aside(&admin_dir)? {
            let what = format!("a git that was killed left `{lock}`; it is kept as `{lock}{}`", tree::ASIDE);
            observer(Notice::Warning(Warning::Minor { what }));
        }
        if !tree.exists() && removal.had_tree {
            return Err(refused(format!("`{}` is not there: is its disk mounted?", tree.display())));
        }
        if !tree.exists() {
            self.rebuild_missing_tree(context, workspace, &tree, &admin_dir).await?;
            let what = "its files were gone; those that git has are back".to_owned();
            observer(Notice::Warning(Warning::Minor { what }));
        }
        if workspace.path.exists() {
            return Err(refused(format!("`{}` exists already: move it away first", workspace.path.display())));
        }
        let rename = match rename {
            Some(chosen) => Some(chosen),
            None => self.branch_of_its_own(context, workspace, &removal).await?,
        };
        let data = RestoreData { removal, rename, name_before: Some(workspace.name.clone()) };
        self.check_branch(context, workspace, &data).await?;

        let lock = self.begin_operation()?;
        let operation = operations::new_operation(self, &lock, &workspace.repository_id, &workspace.id, MOVING, &data)?;
        let branch = data.rename.clone().or_else(|| data.removal.branch.clone());
        let mut back = Workspace {
            status: WorkspaceStatus::Creating,
            branch: branch.unwrap_or_else(|| workspace.branch.clone()),
            removed_at: None,
            ..workspace.clone()
        };
        if data.rename.is_some() {
            back.metadata.made_branch.clone_from(&data.rename);
        } else if back.metadata.branch_deleted && context.load_branch(&back.branch).await?.is_some() {
            // Somebody made it again since.
            back.metadata.made_branch = None;
        }
        back.metadata.branch_deleted = false;
        let mut db = self.store.write().await?;
        db.lock_repository(&back.repository_id).await?;
        back.name = free_name(&mut db, &back).await?;
        if let Some(holder) = db.workspace_on_branch(&back.repository_id, &back.branch).await? {
            drop(db);
            lock.discard();
            return Err(branch_taken(&back, &holder));
        }
        let ours = db.update_workspace(&back, &[workspace.status]).await? && db.insert_operation(&operation).await?;
        if !ours {
            drop(db);
            lock.discard();
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        for work in works(&data.removal, workspace) {
            if !db.insert_work(&back.repository_id, &work, &back.id).await? {
                let what = format!("{work} has another workspace by now, and keeps it");
                observer(Notice::Warning(Warning::Minor { what }));
            }
        }
        db.commit().await?;
        let running = Running { lock, operation };
        if let Err(first) = self.move_back(context, &back, &data).await {
            self.undo_restore(context, &running.operation, back, &data, &first.in_full()).await?;
            running.lock.discard();
            return Err(first);
        }
        let workspace = self.settle_restore(context, &running.operation, back).await?;
        running.lock.discard();
        Ok(workspace)
    }

    /// The commit that a workspace is at on no branch; none where it is on one, also in the middle of its rebase.
    #[boxed]
    pub async fn detached_at(&self, context: &Context, workspace: &Workspace) -> Result<Option<CommitId>> {
        match tree::require(context, workspace)?.load_head().await? {
            Head::Detached { commit, rebasing: None } => Ok(Some(commit)),
            _ => Ok(None),
        }
    }

    /// A free branch, where another live workspace has this one's by now.
    async fn branch_of_its_own(
        &self,
        context: &Context,
        workspace: &Workspace,
        removal: &Removal,
    ) -> Result<Option<BranchName>> {
        let own = removal.branch.as_ref().unwrap_or(&workspace.branch);
        if self.store.read().await?.workspace_on_branch(&workspace.repository_id, own).await?.is_none() {
            return Ok(None);
        }
        let remote = match self.remote(context).await {
            Ok(remote) => remote.map(|remote| remote.name),
            // A name that is free here will do where nobody said which remote counts.
            Err(Error::AmbiguousRemote { .. } | Error::UnknownRemote { .. }) => None,
            Err(error) => return Err(error),
        };
        self.free_branch(context, own, remote.as_deref()).await.map(Some)
    }

    /// A branch that is checked out elsewhere, or stands elsewhere by now, is a person's choice.
    async fn check_branch(&self, context: &Context, workspace: &Workspace, data: &RestoreData) -> Result<()> {
        let taken = |branch: &BranchName, reason: String| Error::RestoreBranchTaken {
            name: workspace.name.clone(),
            branch: branch.clone(),
            reason,
        };
        if let Some(name) = &data.rename {
            let admin_dir = tree::trashed_admin_dir(context, &workspace.id);
            let head = tree::moved(context, workspace, &workspace.path, &admin_dir).load_head().await?;
            if let Head::Detached { rebasing: Some(branch), .. } = head {
                return Err(taken(
                    &branch,
                    "a rebase of it is in progress, and git can't rename the branch during a rebase".to_owned(),
                ));
            }
            return match context.load_branch(name).await? {
                Some(_) => Err(taken(name, "it exists already".to_owned())),
                None => match context.branch_conflict(name).await? {
                    Some(existing) => Err(Error::BranchConflict { branch: name.clone(), existing }),
                    None => Ok(()),
                },
            };
        }
        let Some(branch) = &data.removal.branch else { return Ok(()) };
        let entries = context.load_worktrees().await?;
        if let Some(entry) = entries.iter().find(|entry| entry.branch.as_ref() == Some(branch)) {
            return Err(taken(branch, format!("it is checked out at `{}`", entry.path.display())));
        }
        if let Some(existing) = context.branch_conflict(branch).await? {
            return Err(taken(branch, format!("`{existing}` is in its way: one would be a directory of the other")));
        }
        match (context.load_branch(branch).await?, &data.removal.tip) {
            (Some(now), Some(then)) if now != *then => {
                Err(taken(branch, format!("it was at {} and is at {} by now", then.short(), now.short())))
            }
            _ => Ok(()),
        }
    }

    /// Puts branch, admin dir and tree back. Idempotent.
    async fn move_back(&self, context: &Context, workspace: &Workspace, data: &RestoreData) -> Result<()> {
        fail::point("restore.recorded")?;
        let lock = context.lock("restore").await?;
        let wanted = data.rename.as_ref().or(data.removal.branch.as_ref());
        if let (Some(branch), Some(tip)) = (wanted, &data.removal.tip)
            && context.load_branch(branch).await?.is_none()
        {
            context.update_ref(&lock, &branch.local_ref(), tip, None).await?;
        }
        fail::point("restore.branch")?;
        tree::bring_back(&lock, context, &self.home, workspace, &data.removal)?;
        fail::point("restore.moved")?;
        let tree = tree::require(context, workspace)?;
        if let Some(branch) = &data.rename {
            match tree.load_head().await? {
                Head::Branch { .. } => {
                    tree::lend_branch(context, &lock, workspace, &tree, branch).await?;
                    tree.set_head(&lock, branch).await?;
                }
                // It was on no branch and stays so; the branch is a name for where it is.
                Head::Detached { commit, .. } if context.load_branch(branch).await?.is_none() => {
                    context.update_ref(&lock, &branch.local_ref(), &commit, None).await?;
                }
                Head::Detached { .. } => {}
            }
        }
        Removal::clear(tree.admin_dir());
        Marker::of(workspace).write(tree.admin_dir())?;
        rescue::forget(context, tree.admin_dir());
        fail::point("restore.marked")
    }

    async fn settle_restore(
        &self,
        context: &Context,
        operation: &Operation,
        mut workspace: Workspace,
    ) -> Result<Workspace> {
        self.allocate_ports(&workspace.id, &context.config().workspace.ports).await?;
        workspace.status = WorkspaceStatus::Active;
        workspace.last_activity_at = Timestamp::now();
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &[WorkspaceStatus::Creating]).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        events::record(&mut db, &workspace, Event::WorkspaceRestored)?;
        db.commit().await?;
        fail::point("restore.settled")?;
        self.retire_archive(&workspace);
        // Nothing depends on the readable link.
        let _ = links::make(&self.home, &workspace);
        Ok(workspace)
    }

    /// Puts back into the trash what could not be brought back whole.
    async fn undo_restore(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
        data: &RestoreData,
        cause: &str,
    ) -> Result<()> {
        let lock = context.lock("undo of restore").await?;
        let mut removal = data.removal.clone();
        let inside = tree::find_inside(context, &workspace)?;
        removal.note_inside(&inside);
        tree::lock_inside(context, &workspace, &inside)?;
        tree::move_to_trash(&lock, context, &self.home, &workspace, &removal)?;
        drop(lock);
        fail::point("restore.undo-moved")?;
        let trashed = Workspace {
            status: WorkspaceStatus::Trashed,
            name: data.name_before.clone().unwrap_or_else(|| workspace.name.clone()),
            branch: data.removal.branch.clone().unwrap_or_else(|| workspace.branch.clone()),
            removed_at: Some(Timestamp::now()),
            ..workspace
        };
        let mut db = self.store.write().await?;
        db.update_workspace(&trashed, &[WorkspaceStatus::Creating]).await?;
        db.delete_works(&trashed.id).await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some(cause)).await?;
        db.commit().await?;
        fail::point("restore.undone")
    }

    /// Finishes a restore whose owner died.
    pub(crate) async fn recover_restore(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
    ) -> Result<&'static str> {
        let data: RestoreData = operations::data(operation)?;
        if let Err(cause) = self.move_back(context, &workspace, &data).await {
            self.undo_restore(context, operation, workspace, &data, &cause.in_full()).await?;
            return Ok("undone");
        }
        self.settle_restore(context, operation, workspace).await?;
        Ok("finished")
    }
}

fn branch_taken(workspace: &Workspace, holder: &Workspace) -> Error {
    let reason = format!("{} has it by now, at `{}`", holder.name, holder.path.display());
    Error::RestoreBranchTaken { name: workspace.name.clone(), branch: workspace.branch.clone(), reason }
}

/// The works to give back; the first one where the trash says nothing.
fn works(removal: &Removal, workspace: &Workspace) -> Vec<Work> {
    if removal.works.is_empty() { vec![workspace.work.clone()] } else { removal.works.clone() }
}
