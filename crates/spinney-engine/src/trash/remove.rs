//! Removes a workspace: it moves to the trash, whole. A journaled operation:
//!
//! 1. The verdict is asked (a forced removal asks only for what no consent overrides).
//! 2. `pinning`: row `removing`, journal written; then, under the repository's lock, the pin: one commit that keeps every
//!    object alive that only this workspace named.
//! 3. Linked worktrees inside the tree, of whichever repository, are noted and locked in git. Where one can't be locked, the
//!    removal is refused.
//! 4. Tree and admin dir are renamed into the trash. That the pin is on the disk before needs no further note: what lies
//!    in the trash was pinned. Where somebody worked in the tree meanwhile, it is pinned again from where it lies now.
//! 5. Row `trashed`; works, ports and conversations released, in one transaction. The branch goes if Spinney made it, it is
//!    merged or unstarted, and `cleanup.delete_merged_branches`; else it stays, and later sweeps look at it again.
//!
//! A death before anything has moved is undone; after it, finished. A move that failed is noted (`moving`) and tried again.

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::{
    CommitId, Consent, Event, Job, JobId, Merge, Operation, OperationKind, OperationStatus, RemoveStep, Remover, Step,
    Timestamp, Verdict, Work, Workspace, WorkspaceStatus,
};

use crate::home::links;
use crate::journal::events;
use crate::journal::operations::{self, Running};
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::{Context, tree_root};
use crate::trash::branch::why_needless;
use crate::tree::marker::Removal;
use crate::tree::rescue::Rescue;
use crate::tree::{self, Opened};
use crate::verdict::{Trust, load_merge, running_reason};
use crate::{Engine, Error, Result, fail};

const PINNING: Step = Step::Remove(RemoveStep::Pinning);
const MOVING: Step = Step::Remove(RemoveStep::Moving);

/// What a row is while its removal is under way; `broken` after a step of it failed.
const REMOVING: [WorkspaceStatus; 2] = [WorkspaceStatus::Removing, WorkspaceStatus::Broken];

#[derive(Debug, Clone, Serialize, Deserialize)]
struct RemoveData {
    removal: Removal,
    /// Whether the branch goes with it.
    delete_branch: bool,
    /// What the row was before, for an undo.
    status: WorkspaceStatus,
    /// Whether a person agreed to all that goes: also to lose what is missing in the repository already.
    #[serde(default)]
    forced: bool,
}

/// A workspace in the trash, and what went with it.
#[derive(Debug, Clone)]
pub struct Removed {
    pub workspace: Workspace,
    pub verdict: Verdict,
    pub branch_deleted: bool,
}

impl Engine {
    /// Removes a workspace for a person, with what they agreed to let go.
    #[boxed]
    pub async fn remove(
        &self,
        context: &Context,
        workspace: &Workspace,
        consent: &Consent,
        observer: &dyn Observer,
    ) -> Result<Removed> {
        let verdict = self.judge_for(context, workspace, consent).await?;
        if !matches!(consent, Consent::None) {
            self.require_no_repository_inside(workspace).await?;
        }
        let data = RemoveData {
            forced: matches!(consent, Consent::Force),
            ..self.removal_of(context, workspace, &verdict).await?
        };
        self.remove_with(context, workspace, &verdict, data, Remover::Person, None, observer).await
    }

    /// Asks the verdict for a person's removal; refuses with every reason that the consent does not cover.
    #[boxed]
    pub async fn judge_for(&self, context: &Context, workspace: &Workspace, consent: &Consent) -> Result<Verdict> {
        if matches!(workspace.status, WorkspaceStatus::Creating | WorkspaceStatus::Removing) {
            return Err(Error::Busy { name: workspace.name.clone() });
        }
        if !matches!(workspace.status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken) {
            let (name, status) = (workspace.name.clone(), workspace.status);
            return Err(Error::WrongStatus { name, status, needed: "a live workspace" });
        }
        let verdict = match consent {
            Consent::Force => self.judge_forced(context, workspace).await?,
            _ => self.judge(context, workspace, Remover::Person).await?,
        };
        let blockers: Vec<_> = verdict.blockers(consent).cloned().collect();
        if !blockers.is_empty() {
            return Err(Error::Refused { name: workspace.name.clone(), reasons: blockers });
        }
        // Nobody can agree to let go what nobody can see.
        match tree::open(context, workspace) {
            Opened::RootMissing => Err(Error::TreeRootMissing { path: tree_root(&workspace.path).to_owned() }),
            Opened::Hidden(error) => Err(error.into()),
            _ => Ok(verdict),
        }
    }

    /// Moves a workspace to the trash whose verdict allows it. A sweep leaves one that was touched or pinned since it was
    /// judged; nobody takes one in which a job began to run, other than the one that asks.
    pub(crate) async fn remove_judged(
        &self,
        context: &Context,
        workspace: &Workspace,
        verdict: &Verdict,
        remover: Remover,
        own: Option<&JobId>,
        observer: &dyn Observer,
    ) -> Result<Removed> {
        let data = self.removal_of(context, workspace, verdict).await?;
        self.remove_with(context, workspace, verdict, data, remover, own, observer).await
    }

    #[expect(clippy::too_many_arguments, reason = "what two callers know of one removal")]
    async fn remove_with(
        &self,
        context: &Context,
        workspace: &Workspace,
        verdict: &Verdict,
        mut data: RemoveData,
        remover: Remover,
        own: Option<&JobId>,
        observer: &dyn Observer,
    ) -> Result<Removed> {
        let lock = self.begin_operation()?;
        let operation =
            operations::new_operation(self, &lock, &workspace.repository_id, &workspace.id, PINNING, &data)?;
        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        let is_in_the_way = |job: &Job| Some(&job.id) != own && workspace.status != WorkspaceStatus::Reading;
        if let Some(job) = db.running_job_in(&workspace.id).await?.filter(is_in_the_way) {
            drop(db);
            lock.discard();
            let reasons = running_reason(&job, remover);
            return Err(Error::Refused { name: workspace.name.clone(), reasons });
        }
        let untouched = |row: &Workspace| {
            (row.pinned, row.last_activity_at) == (workspace.pinned, workspace.last_activity_at)
                || remover == Remover::Person
        };
        let row = db.workspace(&workspace.id).await?.filter(|row| row.status == workspace.status && untouched(row));
        let removing = row.map(|row| Workspace { status: WorkspaceStatus::Removing, ..row });
        let ours = match &removing {
            Some(row) => {
                db.update_workspace(row, &[workspace.status]).await? && db.insert_operation(&operation).await?
            }
            None => false,
        };
        let Some(removing) = removing.filter(|_| ours) else {
            drop(db);
            lock.discard();
            return Err(Error::Busy { name: workspace.name.clone() });
        };
        db.commit().await?;

        let mut running = Running { lock, operation };
        match self.move_out(context, &mut running, &removing, &mut data).await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => observer(Notice::Warning(Warning::Minor { what: lost(&missing) })),
            Err(error) if running.operation.step == PINNING => {
                tree::release_inside(context, &removing);
                self.undo_remove(&running.operation, removing, data.status, &error.in_full()).await?;
                running.lock.discard();
                return Err(error);
            }
            Err(error) => {
                self.break_off(&running.operation, removing, &error.in_full()).await?;
                return Err(error);
            }
        }
        let workspace = self.settle(&running.operation, removing).await?;
        running.lock.discard();
        let branch_deleted = match self.delete_branch(context, &workspace, &data).await {
            Ok(deleted) => deleted,
            Err(error) => {
                observer(Notice::Warning(Warning::Minor { what: format!("its branch stays: {}", error.in_full()) }));
                false
            }
        };
        Ok(Removed { workspace, verdict: verdict.clone(), branch_deleted })
    }

    /// What the way back needs, read while everything is still in place.
    async fn removal_of(&self, context: &Context, workspace: &Workspace, verdict: &Verdict) -> Result<RemoveData> {
        tree::check_nested(context, &workspace.path)?;
        tree::bring_in(context, workspace).await?;
        let works = self.store.read().await?.works_of(&workspace.id).await?;
        let (branch, admin_name) = match tree::open(context, workspace) {
            Opened::Whole(tree) => {
                let head = tree.load_head().await.ok();
                (head.and_then(|head| head.branch().cloned()), tree.admin_name().to_owned())
            }
            _ => match tree::find_admin_dir(context, workspace)? {
                Some(admin_dir) => {
                    let tree = tree::moved(context, workspace, &workspace.path, &admin_dir);
                    let head = tree.load_head().await.ok();
                    (head.and_then(|head| head.branch().cloned()), tree.admin_name().to_owned())
                }
                None => (Some(workspace.branch.clone()), workspace.id.to_string()),
            },
        };
        let tip = match &branch {
            Some(branch) => context.load_branch(branch).await?,
            None => None,
        };
        let gone = matches!(verdict.merge, Merge::Merged(_) | Merge::Unstarted);
        let delete_branch = gone && context.config().cleanup.delete_merged_branches;
        let trash = tree::trash_place(&self.home, &workspace.path, workspace.id.as_str());
        let had_tree = [&workspace.path, &trash].iter().any(|place| place.symlink_metadata().is_ok());
        let removal = Removal { works, had_tree, ..Removal::new(branch, tip, admin_name) };
        Ok(RemoveData { removal, delete_branch, status: workspace.status, forced: false })
    }

    /// Pins and moves, under the repository's lock. Tells what was missing and is lost.
    async fn move_out(
        &self,
        context: &Context,
        running: &mut Running,
        workspace: &Workspace,
        data: &mut RemoveData,
    ) -> Result<Vec<String>> {
        fail::point("remove.recorded")?;
        let lock = context.lock("rm").await?;
        let mut rescue = Rescue::begin(context, workspace, &lock, &data.removal, data.forced).await?;
        fail::point("remove.pinned")?;
        let inside = tree::find_inside(context, workspace)?;
        if data.removal.note_inside(&inside) {
            self.record_step(running, PINNING, data).await?;
        }
        fail::point("remove.inside-noted")?;
        tree::lock_inside(context, workspace, &inside)?;
        fail::point("remove.inside-locked")?;
        running.operation.step = MOVING;
        fail::point("remove.moving")?;
        tree::move_to_trash(&lock, context, &self.home, workspace, &data.removal)?;
        fail::point("remove.moved")?;
        rescue.finish(&mut data.removal).await?;
        fail::point("remove.repinned")?;
        Ok(rescue.missing)
    }

    /// Makes the removal visible and releases what the workspace held.
    async fn settle(&self, operation: &Operation, mut workspace: Workspace) -> Result<Workspace> {
        workspace.status = WorkspaceStatus::Trashed;
        workspace.removed_at = Some(Timestamp::now());
        workspace.error = None;
        workspace.metadata.branch_deleted = false;
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &REMOVING).await?;
        db.delete_works(&workspace.id).await?;
        db.delete_ports(&workspace.id).await?;
        db.unbind_conversations(&workspace.id).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        events::record(&mut db, &workspace, Event::WorkspaceRemoved)?;
        db.commit().await?;
        fail::point("remove.settled")?;
        links::drop(&self.home, &workspace);
        Ok(workspace)
    }

    /// Drops the workspace's own branch when it is merged or unstarted, and nobody moved or took it meanwhile. Another
    /// branch that HEAD happened to be on is somebody else's.
    async fn delete_branch(&self, context: &Context, workspace: &Workspace, data: &RemoveData) -> Result<bool> {
        let own = data.removal.branch.as_ref() == Some(&workspace.branch);
        let Some(tip) = data.removal.tip.as_ref().filter(|_| data.delete_branch && own) else { return Ok(false) };
        // A commit that came between the verdict and the removal is judged now.
        let upstream = self.upstream(context, workspace, None).await;
        let merge = load_merge(context, workspace, tip, &upstream, Trust::Proof).await;
        let Some(why) = why_needless(&merge) else { return Ok(false) };
        let deleted = self.delete_own_branch(context, workspace, tip, &why).await?;
        fail::point("remove.branch")?;
        Ok(deleted)
    }

    /// Drops the branch of a stale workspace, although it is not merged: the rescue ref keeps its commits.
    pub(crate) async fn prune_branch(&self, context: &Context, workspace: &Workspace) -> Result<()> {
        let rescue = tree::rescue_ref(&workspace.id);
        let tip = context.load_branch(&workspace.branch).await?;
        let (Some(tip), Some(pin)) = (tip, context.load_ref(&rescue).await?) else { return Ok(()) };
        if context.is_ancestor(&tip, &pin).await? {
            let why = "its workspace was stale; its rescue ref keeps its commits";
            self.delete_own_branch(context, workspace, &tip, why).await?;
        }
        Ok(())
    }

    /// Where a removal left the workspace's own branch, as the journal tells; none where it was on another.
    pub(crate) async fn tip_removed_with(&self, workspace: &Workspace) -> Result<Option<CommitId>> {
        let kind = OperationKind::Remove;
        let last = self.store.read().await?.last_done_operation_of(&workspace.id, kind).await?;
        let data: Option<RemoveData> = last.as_ref().map(operations::data).transpose()?;
        let removal = data.map(|data| data.removal);
        Ok(removal.filter(|removal| removal.branch.as_ref() == Some(&workspace.branch)).and_then(|removal| removal.tip))
    }

    /// The works that a workspace had when it was removed, as the journal tells.
    pub(crate) async fn works_removed_with(&self, workspace: &Workspace) -> Result<Option<Vec<Work>>> {
        let kind = OperationKind::Remove;
        let last = self.store.read().await?.last_done_operation_of(&workspace.id, kind).await?;
        let data: Option<RemoveData> = last.as_ref().map(operations::data).transpose()?;
        Ok(data.map(|data| data.removal.works))
    }

    async fn undo_remove(
        &self,
        operation: &Operation,
        workspace: Workspace,
        status: WorkspaceStatus,
        cause: &str,
    ) -> Result<()> {
        let back = Workspace { status, ..workspace };
        let mut db = self.store.write().await?;
        db.update_workspace(&back, &REMOVING).await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some(cause)).await?;
        db.commit().await?;
        fail::point("remove.undone")
    }

    /// A removal that failed half way leaves the workspace `broken` with its reason. Its operation stays open, so that
    /// every next command tries again.
    async fn break_off(&self, operation: &Operation, workspace: Workspace, cause: &str) -> Result<()> {
        let broken = Workspace { status: WorkspaceStatus::Broken, error: Some(cause.to_owned()), ..workspace };
        let mut db = self.store.write().await?;
        db.record_step(&operation.id, operation.step, &operation.data).await?;
        // The next try, if it fails too, tells nothing new.
        let news = db
            .workspace(&broken.id)
            .await?
            .is_none_or(|row| (row.status, &row.error) != (broken.status, &broken.error));
        if db.update_workspace(&broken, &REMOVING).await? && news {
            events::record_found(&mut db, &broken)?;
        }
        Ok(db.commit().await?)
    }

    /// Finishes or undoes a removal whose owner died.
    pub(crate) async fn recover_remove(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
    ) -> Result<&'static str> {
        let mut data: RemoveData = operations::data(operation)?;
        if operation.step == PINNING && !tree::has_begun_to_move(context, &self.home, &workspace)? {
            tree::release_inside(context, &workspace);
            self.undo_remove(operation, workspace, data.status, "its process died").await?;
            return Ok("undone");
        }
        let lock = context.lock("rm").await?;
        // Where the tree is still in its place, somebody may have added one.
        let inside = tree::find_inside(context, &workspace)?;
        data.removal.note_inside(&inside);
        tree::lock_inside(context, &workspace, &inside)?;
        tree::move_to_trash(&lock, context, &self.home, &workspace, &data.removal)?;
        let mut rescue = Rescue::resumed(context, &workspace, &lock);
        rescue.finish(&mut data.removal).await?;
        if !rescue.missing.is_empty() {
            tracing::warn!(workspace = %workspace.name, "{}", lost(&rescue.missing));
        }
        drop(lock);
        let workspace = self.settle(operation, workspace).await?;
        self.delete_branch(context, &workspace, &data).await?;
        Ok("finished")
    }
}

fn lost(missing: &[String]) -> String {
    let missing = missing.to_vec();
    let error = spinney_git::Error::MissingObjects { objects: missing };
    format!("{error}; what leads to them is not kept, the rest is")
}
