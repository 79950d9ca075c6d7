//! Makes a member of the pool, and brings one up to date when base or settings have moved on. A journaled operation:
//!
//! 1. Row and journal are written; the row is not `ready`, so that nobody claims it.
//! 2. `making`: the tree is registered on no branch and filled; `refreshing`: the files that differ are moved.
//! 3. Files are carried over, submodules brought, `setup` run: in a refresh, in the tree where it has run before.
//! 4. The row says how it ended and the operation is closed, in one transaction.
//!
//! A death while `making` is undone. One while `refreshing` leaves a member that is not ready, with the reason; the next
//! filling replaces it.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use spinney_core::config::Lfs;
use spinney_core::names::cut_for_message;
use spinney_core::{
    CommitId, Operation, OperationStatus, Populate, Step, Timestamp, Warm, WarmStep, Workspace, WorkspaceId,
};
use spinney_git::{Head, Start};

use super::retire::TOUCHED;
use super::survey::is_template;
use super::{Purpose, as_member, settings_hash};
use crate::create::plan::Base;
use crate::create::prepare::SETUP_VARIABLE;
use crate::create::prepare::copy::{self, Replace, Stamps};
use crate::executor::{Tag, Tagged};
use crate::home::disk;
use crate::journal::operations::{self, Running};
use crate::notice::{Notice, Observer, Phase};
use crate::repositories::context::Context;
use crate::tree::marker::Marker;
use crate::tree::{self, Opened, Tree};
use crate::{Engine, Error, Result, fail};

const MAKING: Step = Step::Warm(WarmStep::Making);
const REFRESHING: Step = Step::Warm(WarmStep::Refreshing);
pub(super) const RETIRING: Step = Step::Warm(WarmStep::Retiring);

/// How many lines of a failed set-up's output are kept for `pool status`.
const KEPT_LINES: usize = 20;

/// How many characters of each: they lie in the row.
const KEPT_CHARS: usize = 300;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct WarmData {
    /// The commit that the tree is made at, or stood at before.
    pub commit: CommitId,
}

impl Engine {
    /// Makes one member at base. One whose preparation failed stays, with the reason, for a person to look at.
    pub(super) async fn make_member(
        &self,
        context: &Context,
        base: &Base,
        purpose: Purpose,
        observer: &dyn Observer,
    ) -> Result<Workspace> {
        let mut workspace = self.new_member(context, base, purpose)?;
        self.check_place(context, &workspace.path).await?;
        let data = WarmData { commit: base.tip.clone() };
        let lock = self.begin_operation()?;
        let operation = self.warm_operation(&lock, &workspace, MAKING, &data)?;
        let mut db = self.store.write().await?;
        if !(db.insert_workspace(&workspace).await? && db.insert_operation(&operation).await?) {
            drop(db);
            lock.discard();
            return Err(Error::Busy { name: workspace.name });
        }
        db.commit().await?;
        let running = Running { lock, operation };
        match self.fill_tree(context, &running, &workspace, base, observer).await {
            Ok((tree, populate)) => {
                workspace.populate = populate;
                self.prepare_member(context, running, workspace, &tree, observer).await
            }
            Err(first) => {
                self.undo_making(context, &running.operation, &workspace, &data).await?;
                running.lock.discard();
                Err(first)
            }
        }
    }

    async fn fill_tree(
        &self,
        context: &Context,
        running: &Running,
        workspace: &Workspace,
        base: &Base,
        observer: &dyn Observer,
    ) -> Result<(Tree, Populate)> {
        fail::point("warm.recorded")?;
        let tree = tree::make(context, workspace, Start::Detached(&base.tip)).await?;
        self.note_home(context);
        let tree = tree.tagged(SETUP_VARIABLE, running.operation.id.as_str());
        fail::point("warm.added")?;
        observer(Notice::Phase(Phase::CheckingOut));
        if is_template(workspace) {
            self.make_snapshotable(&tree)?;
            tree::populate(&tree, false).await?;
            fail::point("warm.filled")?;
            return Ok((tree, Populate::Checkout));
        }
        let filled = self.fill_files(context, &tree, &base.tip, &running.operation.id, observer).await?;
        fail::point("warm.filled")?;
        if Purpose::of(workspace) == Purpose::Claims {
            let template = filled.template.as_ref().map(|template| template.path.as_path());
            self.bring_artifacts(context, &workspace.path, template, observer).await?;
        }
        Ok((tree, filled.populate))
    }

    /// Brings a member to base and prepares it again. `None` when somebody claimed it first.
    pub(super) async fn refresh_member(
        &self,
        context: &Context,
        member: &Workspace,
        base: &Base,
        observer: &dyn Observer,
    ) -> Result<Option<Workspace>> {
        let data = WarmData { commit: member.base_commit.clone() };
        let Some(running) = self.begin_on_member(member, REFRESHING, &data).await? else { return Ok(None) };
        fail::point("refresh.recorded")?;
        let mut workspace = Workspace { base_branch: base.branch.clone(), ..unready(member) };
        let moved = async {
            let tree = tree::require(context, &workspace)?;
            let tree = tree.tagged(SETUP_VARIABLE, running.operation.id.as_str());
            self.seal(tree.path(), false);
            if tree.load_head().await?.commit() != Some(&base.tip) {
                observer(Notice::Phase(Phase::CheckingOut));
                tree.move_to(&base.tip, context.config().workspace.lfs == Lfs::Pull).await?;
            }
            fail::point("refresh.moved")?;
            let marker = Marker { base_commit: base.tip.clone(), ready: false, ..Marker::of(&workspace) };
            marker.write(tree.admin_dir())?;
            Ok(tree)
        };
        let moved: Result<Tree> = moved.await;
        match moved {
            Ok(tree) => {
                workspace.base_commit = base.tip.clone();
                self.prepare_member(context, running, workspace, &tree, observer).await.map(Some)
            }
            Err(error) => {
                if let Opened::Whole(tree) = tree::open(context, &workspace)
                    && let Ok(Head::Detached { commit, rebasing: None }) = tree.load_head().await
                {
                    workspace.base_commit = commit;
                }
                let warm = self.warm(context, &workspace, &Stamps::new(), Some(error.in_full()));
                let settled = self.settle_member(&running.operation, workspace, warm).await?;
                running.lock.discard();
                Ok(Some(settled))
            }
        }
    }

    /// Carries files over, brings parts and runs `setup`; the row then tells how it ended.
    async fn prepare_member(
        &self,
        context: &Context,
        running: Running,
        workspace: Workspace,
        tree: &Tree,
        observer: &dyn Observer,
    ) -> Result<Workspace> {
        let before = workspace.metadata.warm.as_ref().map(|warm| warm.copied.clone()).unwrap_or_default();
        let last_lines = Mutex::new(VecDeque::new());
        let listening = |notice: Notice| {
            if let Notice::SetupOutput(line) = &notice {
                let mut lines = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(cut_for_message(line, KEPT_CHARS));
                if lines.len() > KEPT_LINES {
                    lines.pop_front();
                }
            }
            observer(notice);
        };
        let prepared = async {
            if is_template(&workspace) {
                tree.write_plain_index().await?;
                self.require_shareable(&workspace, tree)?;
                self.drop_outdated_artifacts(context, &workspace, tree).await?;
                self.bring_artifacts(context, &workspace.path, None, &listening).await?;
                self.seal(&workspace.path, true);
                fail::point("warm.prepared")?;
                return Ok(Stamps::new());
            }
            if Purpose::of(&workspace) == Purpose::Reading {
                self.bring_parts(context, tree, &listening).await?;
                fail::point("reading.filled")?;
                disk::forbid_writing(&workspace.path).map_err(Error::files(&workspace.path, "made read-only"))?;
                fail::point("reading.sealed")?;
                tree.refresh_index().await?;
                fail::point("warm.prepared")?;
                return Ok(Stamps::new());
            }
            // Those that it has already stay; the settings may name others by now.
            self.bring_artifacts(context, &workspace.path, None, &listening).await?;
            let carried = copy::carry_over(context, &workspace, &before, Replace::Always, &listening).await?;
            self.bring_parts(context, tree, &listening).await?;
            self.set_up(context, &workspace, &running.operation.id, &listening).await?;
            // It would hold a workspace that nobody has yet, and later the removal of somebody's.
            let tag = Tag::Operation(running.operation.id.clone());
            self.executor(Some(&workspace)).end(&Tagged::all(&tag).within(&workspace.path));
            self.record_brought(context, &workspace, tree, &carried).await?;
            fail::point("warm.prepared")?;
            Ok(carried.stamps)
        };
        let prepared: Result<Stamps> = prepared.await;
        let warm = match prepared {
            Ok(carried) => self.warm(context, &workspace, &carried, None),
            Err(error) => {
                let lines: Vec<String> =
                    last_lines.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect();
                let output = if lines.is_empty() { String::new() } else { format!("\n{}", lines.join("\n")) };
                self.warm(context, &workspace, &before, Some(format!("{}{output}", error.in_full())))
            }
        };
        let listing = self.list_member(context, &workspace, tree).await;
        let tree = if is_template(&workspace) { context.load_tree(&workspace.base_commit).await.ok() } else { None };
        let warm = Warm { listing, tree, ..warm };
        let settled = self.settle_member(&running.operation, workspace, warm).await?;
        running.lock.discard();
        Ok(settled)
    }

    /// Makes visible how a preparation ended.
    async fn settle_member(&self, operation: &Operation, workspace: Workspace, warm: Warm) -> Result<Workspace> {
        let mut workspace = workspace;
        workspace.metadata.warm = Some(warm);
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &[workspace.status]).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        db.commit().await?;
        fail::point("warm.settled")?;
        Ok(workspace)
    }

    /// Takes a member out of the pool for an operation on it; `None` when somebody claimed or changed it meanwhile.
    pub(super) async fn begin_on_member(
        &self,
        member: &Workspace,
        step: Step,
        data: &WarmData,
    ) -> Result<Option<Running>> {
        let lock = self.begin_operation()?;
        let operation = self.warm_operation(&lock, member, step, data)?;
        let mut db = self.store.write().await?;
        db.lock_repository(&member.repository_id).await?;
        let row = db.workspace(&member.id).await?;
        let unchanged = row.is_some_and(|row| row.status == member.status && row.metadata.warm == member.metadata.warm);
        if !(unchanged
            && db.update_workspace(&unready(member), &[member.status]).await?
            && db.insert_operation(&operation).await?)
        {
            drop(db);
            lock.discard();
            return Ok(None);
        }
        db.commit().await?;
        Ok(Some(Running { lock, operation }))
    }

    fn new_member(&self, context: &Context, base: &Base, purpose: Purpose) -> Result<Workspace> {
        let (id, status) = (WorkspaceId::generate(), purpose.status());
        let (work, name, branch) = super::placeholder(&id, status)?;
        let path = self.expand_path(context, &id, name.as_str(), &branch);
        let marker = Marker {
            id,
            node: Some(self.home.node().clone()),
            account: self.account.clone(),
            repository: context.repository.name.clone(),
            work,
            branch,
            base_branch: base.branch.clone(),
            base_commit: base.tip.clone(),
            path,
            provider: tree::provider_of_new(),
            ready: false,
        };
        let mut member = as_member(self.new_row(context, marker, status), status)?;
        let settings = settings_hash(context.config(), purpose);
        let template = purpose == Purpose::Template;
        member.metadata.warm = Some(Warm { settings, template, ..Warm::default() });
        Ok(member)
    }

    /// What the row says of a member whose preparation has ended.
    fn warm(&self, context: &Context, member: &Workspace, carried: &Stamps, error: Option<String>) -> Warm {
        Warm {
            settings: settings_hash(context.config(), Purpose::of(member)),
            ready: error.is_none(),
            settled_at_ms: Some(Timestamp::now().as_millisecond()),
            listing: member.metadata.warm.as_ref().and_then(|warm| warm.listing.clone()),
            tree: None,
            error,
            template: is_template(member),
            copied: carried.clone(),
        }
    }

    fn warm_operation(
        &self,
        lock: &operations::OperationLock,
        workspace: &Workspace,
        step: Step,
        data: &WarmData,
    ) -> Result<Operation> {
        operations::new_operation(self, lock, &workspace.repository_id, &workspace.id, step, data)
    }

    /// Undoes the making of a member: it was never anybody's.
    async fn undo_making(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: &Workspace,
        data: &WarmData,
    ) -> Result<()> {
        self.end_started_for(operation, workspace);
        self.unseal(workspace);
        let moved = tree::discard(context, &self.home, &operation.id, workspace, &data.commit, None).await?;
        let Some(moved) = moved else { return self.keep_member(operation, workspace, TOUCHED).await };
        for place in moved {
            disk::delete_moved_aside(&place).map_err(Error::files(&place, "deleted"))?;
        }
        fail::point("warm.undone")?;
        let mut db = self.store.write().await?;
        db.delete_workspace(&workspace.id).await?;
        Ok(db.commit().await?)
    }

    /// Leaves a member where it is, with the reason; the next filling sees to it.
    pub(super) async fn keep_member(&self, operation: &Operation, workspace: &Workspace, reason: &str) -> Result<()> {
        let before = workspace.metadata.warm.clone().unwrap_or_default();
        self.settle_member(operation, workspace.clone(), before.out_of_use(reason)).await.map(drop)
    }

    /// Finishes or undoes what a filler left that died.
    pub(crate) async fn recover_warm(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
    ) -> Result<&'static str> {
        let data: WarmData = operations::data(operation)?;
        match operation.step {
            MAKING => {
                self.undo_making(context, operation, &workspace, &data).await?;
                Ok("undone")
            }
            RETIRING => self.recover_retiring(context, operation, &workspace, &data).await,
            _ => {
                self.end_started_for(operation, &workspace);
                let mut workspace = workspace;
                if let Opened::Whole(tree) = tree::open(context, &workspace)
                    && let Some(commit) = tree.load_head().await?.commit()
                {
                    workspace.base_commit = commit.clone();
                }
                let before = workspace.metadata.warm.clone().unwrap_or_default();
                self.settle_member(operation, workspace, before.out_of_use("its refresh was interrupted")).await?;
                Ok("undone")
            }
        }
    }
}

/// The same member, not to be claimed.
fn unready(member: &Workspace) -> Workspace {
    let mut member = member.clone();
    let warm = member.metadata.warm.take().unwrap_or_default();
    member.metadata.warm = Some(Warm { ready: false, ..warm });
    member
}
