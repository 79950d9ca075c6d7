//! Makes a member of the pool somebody's. A journaled operation:
//!
//! 1. In one transaction the row changes from `warm` to `creating`, with its new work and branch, and the journal is
//!    written: of many that claim at once, each gets its own.
//! 2. `claiming`: the branch is made and HEAD put on it, under the repository's lock; where base has moved, outside of it,
//!    the branch is made, then the files that differ are moved, then HEAD.
//! 3. Files whose source changed are carried over again, the marker is written, the row becomes `active`.
//!
//! A failure or a death before the marker says `ready` puts the member back into the pool, not to be claimed again:
//! nothing is deleted here. The next filling replaces it.

use serde::{Deserialize, Serialize};
use spinney_core::config::Lfs;
use spinney_core::{
    BranchName, ClaimStep, CommitId, Method, Operation, OperationStatus, Step, Warm, Workspace, WorkspaceStatus,
};
use spinney_git::Head;

use super::{Purpose, as_member, settings_hash};
use crate::create::free_name::free_name;
use crate::create::make::Attempt;
use crate::create::plan::Plan;
use crate::create::prepare::SETUP_VARIABLE;
use crate::create::prepare::copy::{self, Replace};
use crate::journal::operations::{self, Running};
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::resolve::request::{Request, Resolution};
use crate::tree::marker::Marker;
use crate::tree::{self, Opened, Tree};
use crate::{Engine, Error, Result, fail};

const CLAIMING: Step = Step::Claim(ClaimStep::Claiming);

/// What finishing or undoing a claim needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClaimData {
    commit: CommitId,
    /// The branch, if this claim makes it.
    made_branch: Option<BranchName>,
    /// What the member was, and where it stood.
    member: Warm,
    from: CommitId,
}

impl Engine {
    /// Gives the request a member of the pool; `None` when there is none to be had.
    pub(crate) async fn claim_warm(
        &self,
        context: &Context,
        request: &Request,
        plan: &Plan,
        observer: &dyn Observer,
    ) -> Result<Option<Attempt>> {
        let repository = &context.repository.id;
        if !self.has_prepared(context, &plan.commit).await? {
            return Ok(None);
        }
        let lock = self.begin_operation()?;
        let mut db = self.store.write().await?;
        db.lock_repository(repository).await?;
        if let Some(attempt) = self.no_room(&mut db, context, &request.work).await? {
            drop(db);
            lock.discard();
            return Ok(Some(attempt));
        }
        let (mut chosen, mut seen) = (None, 0);
        'pages: loop {
            let page = db.warm_workspaces(repository, self.home.node(), &plan.commit, seen).await?;
            if page.is_empty() {
                break;
            }
            seen += page.len();
            for row in page {
                if let Some((tree, warm)) = claimable(context, &row).await {
                    chosen = Some((row, tree, warm));
                    break 'pages;
                }
            }
        }
        let Some((row, tree, warm)) = chosen else {
            drop(db);
            lock.discard();
            return Ok(None);
        };
        let from = row.base_commit.clone();
        let mut workspace = Workspace {
            id: row.id,
            path: row.path,
            provider: row.provider,
            populate: row.populate,
            ..self.new_workspace(context, request, plan)
        };
        workspace.name = free_name(&mut db, &workspace).await?;
        let made_branch = plan.new_branch.then(|| plan.branch.clone());
        let data = ClaimData { commit: plan.commit.clone(), made_branch, member: warm, from };
        let operation = operations::new_operation(self, &lock, repository, &workspace.id, CLAIMING, &data)?;
        let claimed = match db.update_workspace(&workspace, &[WorkspaceStatus::Warm]).await {
            Ok(updated) => {
                updated
                    && db.insert_work(repository, &workspace.work, &workspace.id).await?
                    && db.insert_operation(&operation).await?
            }
            // Another live workspace has the branch.
            Err(spinney_store::Error::Conflict { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if !claimed {
            drop(db);
            lock.discard();
            return Ok(Some(Attempt::Taken));
        }
        db.commit().await?;

        let running = Running { lock, operation };
        if let Err(first) = self.hand_over(context, &running, &workspace, tree, &data, observer).await {
            let cause = first.in_full();
            // A branch that somebody else made meanwhile is theirs.
            let taken = matches!(first, Error::Git(spinney_git::Error::BranchExists { .. }));
            let made = if taken { &ClaimData { made_branch: None, ..data.clone() } } else { &data };
            self.undo_claim(context, &running.operation, workspace, made, &cause).await?;
            running.lock.discard();
            let what = format!("a warm workspace could not be used ({cause}); a new one is made");
            observer(Notice::Warning(Warning::Minor { what }));
            return Ok(None);
        }
        let workspace = self.activate(&running.operation, workspace, Some(true), observer).await?;
        running.lock.discard();
        Ok(Some(Attempt::Created(Box::new(Resolution {
            workspace,
            method: Method::Created,
            continued: plan.continued,
            started_from: Some(plan.started_from.clone()),
            start: Some(plan.commit.clone()),
            on_current: plan.on_current,
            fetched: plan.fetched,
            set_up_at: Some(data.from),
            kept: Vec::new(),
        }))))
    }

    /// Whether any member may be claimed by what its row says: a transaction that changes nothing costs as much as one
    /// that does.
    async fn has_prepared(&self, context: &Context, commit: &CommitId) -> Result<bool> {
        let mut db = self.store.read().await?;
        let mut seen = 0;
        loop {
            let page = db.warm_workspaces(&context.repository.id, self.home.node(), commit, seen).await?;
            if page.is_empty() {
                return Ok(false);
            }
            seen += page.len();
            if page.iter().any(|row| prepared(context, row).is_some()) {
                return Ok(true);
            }
        }
    }

    async fn hand_over(
        &self,
        context: &Context,
        running: &Running,
        workspace: &Workspace,
        tree: Tree,
        data: &ClaimData,
        observer: &dyn Observer,
    ) -> Result<()> {
        fail::point("claim.recorded")?;
        let tree = tree.tagged(SETUP_VARIABLE, running.operation.id.as_str());
        let moved = data.commit != data.from;
        let lfs = context.config().workspace.lfs == Lfs::Pull;
        if moved {
            observer(Notice::Phase(Phase::CheckingOut));
        }
        match &data.made_branch {
            Some(branch) if moved => {
                tree.move_to_new_branch(branch, &data.commit, lfs).await?;
                fail::point("claim.moved")?;
            }
            Some(branch) => {
                let lock = context.lock("new").await?;
                tree.start_branch(&lock, branch).await?;
            }
            None => {
                if moved {
                    tree.move_to(&data.commit, lfs).await?;
                    fail::point("claim.moved")?;
                }
                let lock = context.lock("new").await?;
                tree::lend_branch(context, &lock, workspace, &tree, &workspace.branch).await?;
                tree.continue_branch(&lock, &workspace.branch).await?;
            }
        }
        tree::bring_in(context, workspace).await?;
        fail::point("claim.switched")?;
        let before = &data.member.copied;
        let carried = copy::carry_over(context, workspace, before, Replace::Unchanged, observer).await?;
        if !carried.digests.is_empty() {
            self.record_copied(&workspace.id, &carried).await?;
        }
        if moved {
            self.bring_parts(context, &tree, observer).await?;
        }
        self.allocate_ports(&workspace.id, &context.config().workspace.ports).await?;
        fail::point("claim.prepared")?;
        Marker::of(workspace).write(tree.admin_dir())?;
        fail::point("claim.marked")
    }

    /// Puts a member back into the pool, not to be claimed again. Idempotent.
    async fn undo_claim(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
        data: &ClaimData,
        cause: &str,
    ) -> Result<()> {
        // A checkout outlives a killed Spinney.
        self.end_started_for(operation, &workspace);
        let mut member = as_member(workspace.clone(), WorkspaceStatus::Warm)?;
        let lock = context.lock("undo of new").await?;
        if let Opened::Whole(tree) = tree::open(context, &workspace) {
            let mut head = tree.load_head().await?;
            if is_ahead_of_head(&tree, &head, data).await {
                tree.detach_head(&lock, &data.commit).await?;
                head = Head::Detached { commit: data.commit.clone(), rebasing: None };
            }
            if let (Head::Branch { name, .. }, Some(commit)) = (&head, head.commit())
                && *name == workspace.branch
            {
                tree.detach_head(&lock, commit).await?;
            }
            member.base_commit = head.commit().unwrap_or(&data.from).clone();
            Marker { ready: false, ..Marker::of(&member) }.write(tree.admin_dir())?;
        }
        fail::point("unclaim.detached")?;
        tree::drop_made_branch(context, &lock, data.made_branch.as_ref(), &data.commit).await?;
        drop(lock);
        fail::point("unclaim.branch")?;
        member.metadata.warm = Some(data.member.clone().out_of_use(format!("a claim failed: {cause}")));
        (member.metadata.made_branch, member.metadata.made_by_job) = (None, None);
        let mut db = self.store.write().await?;
        db.update_workspace(&member, &[WorkspaceStatus::Creating]).await?;
        db.delete_works(&member.id).await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some(cause)).await?;
        db.commit().await?;
        fail::point("unclaim.settled")
    }

    /// Finishes or undoes a claim whose owner died.
    pub(crate) async fn recover_claim(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
        observer: &dyn Observer,
    ) -> Result<&'static str> {
        let data: ClaimData = operations::data(operation)?;
        if tree::was_handed_out(context, &workspace)? {
            self.activate(operation, workspace, Some(true), observer).await?;
            return Ok("finished");
        }
        self.undo_claim(context, operation, workspace, &data, "its process died").await?;
        Ok("undone")
    }
}

/// Whether a claim ended after it moved the files and before it moved HEAD, to which they now look like changes.
async fn is_ahead_of_head(tree: &Tree, head: &Head, data: &ClaimData) -> bool {
    matches!(head, Head::Detached { commit, rebasing: None } if *commit == data.from)
        && data.commit != data.from
        && tree.admin_dir().join("index").is_file()
        && tree.count_staged(data.commit.as_str()).await.is_ok_and(|count| count == 0)
}

/// What a member is, if it is ready and was prepared under the settings that hold now: others may not have had a set-up
/// that is trusted by now.
fn prepared<'a>(context: &Context, row: &'a Workspace) -> Option<&'a Warm> {
    let warm = row.metadata.warm.as_ref().filter(|warm| warm.ready && !warm.template)?;
    (warm.settings == settings_hash(context.config(), Purpose::Claims)).then_some(warm)
}

/// Looks at a member on disk before it is handed out. One that was handed out already (the store is older than the disk),
/// or that somebody works in, is left alone.
async fn claimable(context: &Context, row: &Workspace) -> Option<(Tree, Warm)> {
    let warm = prepared(context, row)?.clone();
    let Opened::Whole(tree) = tree::open(context, row) else { return None };
    let nobodys = Marker::load(tree.admin_dir()).is_some_and(|marker| !marker.ready && marker.id == row.id);
    let at_base = matches!(
        tree.load_head().await,
        Ok(Head::Detached { commit, rebasing: None }) if commit == row.base_commit
    );
    (nobodys && at_base && !tree.has_index_lock()).then_some((tree, warm))
}
