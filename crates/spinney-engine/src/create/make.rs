//! Makes a workspace, as a journaled operation.
//!
//! 1. Row, work and journal are written in one transaction; whoever finds them taken waits for the winner.
//!    A `lost` workspace is `retiring` first: what its vanished tree left in git is pinned and moved away, to be kept.
//! 2. `adding`: the worktree is registered with its branch, under the repository's lock.
//! 3. Files are checked out; copied files, submodules, ports and set-up follow, outside the lock.
//! 4. The marker says `ready`: everything is there. The row becomes `active` and the operation is closed, in one
//!    transaction.
//!
//! A failure before the marker says `ready` is undone at once, and the first error is the one that is reported. A death is undone or
//! finished by the next command.

use std::path::{Path, PathBuf};

use rustix::fs::Access;
use serde::{Deserialize, Serialize};
use spinney_core::config::Placeholder;
use spinney_core::workspace::Metadata;
use spinney_core::{
    BranchName, CommitId, CreateStep, Event, Method, Operation, OperationStatus, Populate, Step, Timestamp, Work,
    WorkKind, Workspace, WorkspaceId, WorkspaceStatus,
};
use spinney_git::Start;
use spinney_store::Connection;

use crate::create::free_name::free_name;
use crate::create::plan::Plan;
use crate::create::prepare::SETUP_VARIABLE;
use crate::home::layout::MARKER;
use crate::home::{disk, links};
use crate::journal::events;
use crate::journal::operations::{self, OperationLock, Running};
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::{Context, tree_root};
use crate::resolve::lookup::Among;
use crate::resolve::request::{Request, Resolution};
use crate::tree;
use crate::tree::marker::Marker;
use crate::{Engine, Error, Result, fail};

const RETIRING: Step = Step::Create(CreateStep::Retiring);
const ADDING: Step = Step::Create(CreateStep::Adding);

/// Statuses that count against `limits.max_workspaces`: what exists.
pub(crate) const COUNTED: [WorkspaceStatus; 4] =
    [WorkspaceStatus::Creating, WorkspaceStatus::Active, WorkspaceStatus::Removing, WorkspaceStatus::Broken];

/// What finishing or undoing a creation needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CreateData {
    commit: CommitId,
    /// The branch, if this creation makes it.
    made_branch: Option<BranchName>,
    /// Whether the row was there before, `lost`.
    again: bool,
}

/// How an attempt to create ended.
#[derive(Debug)]
pub(crate) enum Attempt {
    Created(Box<Resolution>),
    /// Somebody else was faster with the same work, branch or path: look again.
    Taken,
    /// No room.
    Full,
}

impl Engine {
    pub(crate) async fn create(
        &self,
        context: &Context,
        request: &Request,
        plan: &Plan,
        observer: &dyn Observer,
    ) -> Result<Attempt> {
        if let Some(attempt) = self.claim_warm(context, request, plan, observer).await? {
            return Ok(attempt);
        }
        self.check_disk(context, &plan.commit).await?;
        let mut workspace = self.new_workspace(context, request, plan);
        workspace.metadata.setup_withheld = self.withholds_setup(context, request, &plan.commit).await?;
        self.check_place(context, &workspace.path).await?;
        let data = CreateData {
            commit: plan.commit.clone(),
            made_branch: plan.new_branch.then(|| plan.branch.clone()),
            again: false,
        };
        let lock = self.begin_operation()?;
        let operation = self.create_operation(&lock, &workspace, ADDING, &data)?;

        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        let refused = match self.no_room(&mut db, context, &workspace.work).await? {
            Some(attempt) => Some(attempt),
            None => {
                workspace.name = free_name(&mut db, &workspace).await?;
                let inserted = db.insert_workspace(&workspace).await?
                    && db.insert_work(&workspace.repository_id, &workspace.work, &workspace.id).await?
                    && db.insert_operation(&operation).await?;
                (!inserted).then_some(Attempt::Taken)
            }
        };
        if let Some(attempt) = refused {
            drop(db);
            lock.discard();
            return Ok(attempt);
        }
        db.commit().await?;

        let workspace = self.carry_out(context, Running { lock, operation }, workspace, &data, observer).await?;
        Ok(Attempt::Created(Box::new(Resolution {
            workspace,
            method: Method::Created,
            continued: plan.continued,
            started_from: Some(plan.started_from.clone()),
            start: Some(plan.commit.clone()),
            on_current: plan.on_current,
            fetched: plan.fetched,
            set_up_at: None,
            kept: Vec::new(),
        })))
    }

    /// Why nothing can be made for a piece of work now, asked in the transaction that would make it.
    pub(crate) async fn no_room(&self, db: &mut Connection, context: &Context, work: &Work) -> Result<Option<Attempt>> {
        let repository = &context.repository.id;
        if db.workspace_of_work(repository, work).await?.is_some() {
            return Ok(Some(Attempt::Taken));
        }
        let count = db.count_workspaces(repository, self.home.node(), &COUNTED).await?;
        Ok((count >= u64::from(context.config().limits.max_workspaces)).then_some(Attempt::Full))
    }

    /// Makes a `lost` workspace again from its branch, in its own row and at its own path.
    pub(crate) async fn create_again(
        &self,
        context: &Context,
        request: &Request,
        mut workspace: Workspace,
        observer: &dyn Observer,
    ) -> Result<Attempt> {
        self.check_path(context, &workspace.path).await?;
        let (commit, exists) = self.find_lost_branch(context, &workspace).await?;
        let made_branch = (!exists).then(|| workspace.branch.clone());
        workspace.metadata.setup_withheld = self.withholds_setup(context, request, &commit).await?;
        if made_branch.is_some() {
            workspace.metadata.made_branch.clone_from(&made_branch);
        }
        let data = CreateData { commit, made_branch, again: true };
        let lock = self.begin_operation()?;
        let operation = self.create_operation(&lock, &workspace, RETIRING, &data)?;
        workspace.status = WorkspaceStatus::Creating;
        workspace.error = None;
        let mut db = self.store.write().await?;
        let ours =
            db.update_workspace(&workspace, &[WorkspaceStatus::Lost]).await? && db.insert_operation(&operation).await?;
        if !ours {
            drop(db);
            lock.discard();
            return Ok(Attempt::Taken);
        }
        db.commit().await?;
        let workspace = self.carry_out(context, Running { lock, operation }, workspace, &data, observer).await?;
        let started_from = Some(workspace.branch.to_string());
        let continued = Some(crate::resolve::request::Continued::Local);
        Ok(Attempt::Created(Box::new(Resolution {
            workspace,
            method: Method::Created,
            continued,
            started_from,
            start: Some(data.commit),
            on_current: false,
            fetched: None,
            set_up_at: None,
            kept: Vec::new(),
        })))
    }

    /// Where a lost workspace goes on: its branch, else the remote's, else its recorded base; and whether the branch
    /// still exists.
    async fn find_lost_branch(&self, context: &Context, workspace: &Workspace) -> Result<(CommitId, bool)> {
        let branch = &workspace.branch;
        tree::bring_in(context, workspace).await?;
        if let Some(tip) = context.load_branch(branch).await? {
            return Ok((tip, true));
        }
        let remote_tip = match self.remote(context).await? {
            Some(remote) => context.load_remote_branch(&remote.name, branch).await?,
            None => None,
        };
        Ok((remote_tip.unwrap_or_else(|| workspace.base_commit.clone()), false))
    }

    /// Takes the steps; undoes them all when one fails, and reports that first failure.
    async fn carry_out(
        &self,
        context: &Context,
        mut running: Running,
        workspace: Workspace,
        data: &CreateData,
        observer: &dyn Observer,
    ) -> Result<Workspace> {
        let first = match self.take_steps(context, &mut running, &workspace, data, observer).await {
            Ok(populate) => {
                let workspace = Workspace { populate, ..workspace };
                let warm = warm(context, data);
                let workspace = self.activate(&running.operation, workspace, warm, observer).await?;
                running.lock.discard();
                return Ok(workspace);
            }
            Err(first) => first,
        };
        // A branch that somebody else made meanwhile is theirs.
        let taken = matches!(first, Error::Git(spinney_git::Error::BranchExists { .. }));
        let made = if taken { &CreateData { made_branch: None, ..data.clone() } } else { data };
        let undone = self.undo(context, &running.operation, &workspace, made, &first.in_full()).await;
        let what = match undone {
            Ok(None) => None,
            Ok(Some(left)) => Some(format!("not all that was made could be deleted: {}", left.in_full())),
            Err(second) => {
                let what = format!(
                    "undoing the failed creation failed too; the next command tries again: {}",
                    second.in_full()
                );
                observer(Notice::Warning(Warning::Minor { what }));
                return Err(first);
            }
        };
        running.lock.discard();
        if let Some(what) = what {
            observer(Notice::Warning(Warning::Minor { what }));
        }
        Err(first)
    }

    async fn take_steps(
        &self,
        context: &Context,
        running: &mut Running,
        workspace: &Workspace,
        data: &CreateData,
        observer: &dyn Observer,
    ) -> Result<Populate> {
        fail::point("create.recorded")?;
        if data.again {
            tree::retire_admin_dir(context, workspace).await?;
            self.record_step(running, ADDING, data).await?;
        }
        let start = match &data.made_branch {
            Some(name) => Start::NewBranch { name, commit: &data.commit },
            None => Start::ExistingBranch(&workspace.branch),
        };
        let tree = tree::make(context, workspace, start).await?;
        self.note_home(context);
        // A checkout that outlives us would go on writing to where the tree was.
        let tree = tree.tagged(SETUP_VARIABLE, running.operation.id.as_str());
        fail::point("create.added")?;
        observer(Notice::Phase(Phase::CheckingOut));
        let filled = self.fill_files(context, &tree, &data.commit, &running.operation.id, observer).await?;
        fail::point("create.filled")?;
        let template = filled.template.as_ref().map(|template| template.path.as_path());
        self.bring_artifacts(context, &workspace.path, template, observer).await?;
        let populate = filled.populate;
        // Others may change the template from here on.
        drop(filled);
        self.prepare(context, workspace, &tree, &running.operation.id, observer).await?;
        fail::point("create.prepared")?;
        Marker::of(workspace).write(tree.admin_dir())?;
        Ok(populate)
    }

    /// Makes the outcome visible: the row is `active`, the operation closed. `warm` tells whether it came from the pool.
    pub(crate) async fn activate(
        &self,
        operation: &Operation,
        mut workspace: Workspace,
        warm: Option<bool>,
        observer: &dyn Observer,
    ) -> Result<Workspace> {
        fail::point("create.ready")?;
        workspace.status = WorkspaceStatus::Active;
        workspace.last_activity_at = Timestamp::now();
        let mut db = self.store.write().await?;
        db.update_workspace(&workspace, &[WorkspaceStatus::Creating]).await?;
        operations::close(&mut db, operation, OperationStatus::Done, None).await?;
        events::record_created(&mut db, &workspace, warm)?;
        db.commit().await?;
        fail::point("create.activated")?;
        if let Err(error) = links::make(&self.home, &workspace) {
            observer(Notice::Warning(Warning::Minor { what: format!("the readable link could not be made: {error}") }));
        }
        Ok(workspace)
    }

    /// Undoes a creation on disk and in the store. Gives what could not be deleted, if anything: it was moved aside, holds
    /// nobody up, and `cleanup orphans` tries again.
    async fn undo(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: &Workspace,
        data: &CreateData,
        cause: &str,
    ) -> Result<Option<Error>> {
        let made_branch = data.made_branch.as_ref();
        // A checkout or set-up command outlives a killed Spinney, and would go on writing to where the tree was.
        self.end_started_for(operation, workspace);
        // While retiring, all there is belongs to the tree that vanished.
        let moved = if operation.step == RETIRING {
            Some(Vec::new())
        } else {
            tree::discard(context, &self.home, &operation.id, workspace, &data.commit, made_branch).await?
        };
        let gone = moved.is_some();
        let left = moved.and_then(|moved| delete_all(&moved).err());
        fail::point("undo.deleted")?;
        let mut db = self.store.write().await?;
        db.delete_ports(&workspace.id).await?;
        if gone && !data.again {
            events::record(&mut db, workspace, Event::WorkspaceUndone)?;
            db.delete_workspace(&workspace.id).await?;
        } else {
            let mut kept = workspace.clone();
            kept.status = if gone { WorkspaceStatus::Lost } else { WorkspaceStatus::Broken };
            kept.error = Some(cause.to_owned());
            if db.update_workspace(&kept, &[WorkspaceStatus::Creating]).await? {
                events::record_found(&mut db, &kept)?;
            }
            let status = if gone { OperationStatus::Undone } else { OperationStatus::Failed };
            operations::close(&mut db, operation, status, Some(cause)).await?;
        }
        db.commit().await?;
        fail::point("undo.settled")?;
        Ok(left)
    }

    /// Finishes or undoes a creation whose owner died.
    pub(crate) async fn recover_create(
        &self,
        context: &Context,
        operation: &Operation,
        workspace: Workspace,
        observer: &dyn Observer,
    ) -> Result<&'static str> {
        let data: CreateData = operations::data(operation)?;
        // Its marker says so once all is done; and an older database may still call half made what holds work by now.
        if operation.step != RETIRING && tree::was_handed_out(context, &workspace)? {
            self.activate(operation, workspace, warm(context, &data), observer).await?;
            return Ok("finished");
        }
        match self.undo(context, operation, &workspace, &data, "its process died").await? {
            None => Ok("undone"),
            Some(_) => Ok("undone, but for files that can't be deleted"),
        }
    }

    fn create_operation(
        &self,
        lock: &OperationLock,
        workspace: &Workspace,
        step: Step,
        data: &CreateData,
    ) -> Result<Operation> {
        operations::new_operation(self, lock, &workspace.repository_id, &workspace.id, step, data)
    }

    pub(crate) fn new_workspace(&self, context: &Context, request: &Request, plan: &Plan) -> Workspace {
        let id = WorkspaceId::generate();
        let name = request.work.workspace_name();
        let path = self.expand_path(context, &id, name.as_str(), &plan.branch);
        let marker = Marker {
            id,
            node: Some(self.home.node().clone()),
            account: self.account.clone(),
            repository: context.repository.name.clone(),
            work: request.work.clone(),
            branch: plan.branch.clone(),
            base_branch: plan.base_branch.clone(),
            base_commit: plan.base_commit.clone(),
            path,
            provider: tree::provider_of_new(),
            ready: false,
        };
        Workspace {
            title: request.title.clone(),
            pull_request: (request.work.kind == WorkKind::Pr).then(|| request.work.key.clone()),
            platform: request.platform,
            metadata: metadata(request, plan),
            ..self.new_row(context, marker, WorkspaceStatus::Creating)
        }
    }

    /// Fills the path template in.
    pub(crate) fn expand_path(&self, context: &Context, id: &WorkspaceId, name: &str, branch: &BranchName) -> PathBuf {
        let repository = &context.repository;
        let root = context.place();
        let now = Timestamp::now().to_string();
        let (date, time) = now.split_once('T').unwrap_or((&now, ""));
        let path = context.config().workspace.path.expand(|placeholder| match placeholder {
            Placeholder::Home => self.home.root().display().to_string(),
            Placeholder::Root => root.display().to_string(),
            Placeholder::Parent => root.parent().unwrap_or(root).display().to_string(),
            Placeholder::Account => self.account.clone(),
            Placeholder::Owner => repository.name.owner().to_owned(),
            Placeholder::Repo => repository.name.name().to_owned(),
            Placeholder::Id => id.to_string(),
            Placeholder::Name => name.to_owned(),
            Placeholder::Branch => branch.as_str().replace('/', "-"),
            Placeholder::Agent => context.agent().map_or_else(|| "-".to_owned(), ToString::to_string),
            Placeholder::Date => date.to_owned(),
            Placeholder::Time => time.trim_end_matches('Z').replace(':', "-"),
        });
        // A row holds the real path: git and the kernel know no other.
        disk::resolved(Path::new(&path))
    }

    /// Refuses a place where no workspace can be made.
    pub(crate) async fn check_place(&self, context: &Context, path: &Path) -> Result<()> {
        require_writable(context.common_dir())?;
        self.check_path(context, path).await?;
        self.check_tree_root(context, path).await
    }

    /// Refuses to mark a new tree root where other workspaces should lie: their disk may not be mounted.
    pub(crate) async fn check_tree_root(&self, context: &Context, path: &Path) -> Result<()> {
        let root = tree_root(path);
        let is_marked = || root.join(MARKER).exists();
        if is_marked() || context.is_in_checkout(root) {
            return Ok(());
        }
        let known = self.workspaces(None, Among::All).await?;
        // The first of all is marked while it is made, so it is looked at again after the rows were read.
        let beside = |workspace: &Workspace| {
            workspace.status.is_live()
                && workspace.status != WorkspaceStatus::Creating
                && workspace.adopted_from.is_none()
                && tree_root(&workspace.path) == root
        };
        if known.iter().any(beside) && !is_marked() {
            return Err(Error::TreeRootMissing { path: root.to_owned() });
        }
        Ok(())
    }

    /// Refuses a path that is taken, or that git would see as part of the main checkout.
    async fn check_path(&self, context: &Context, path: &Path) -> Result<()> {
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(Error::PathTaken { path: path.to_owned() });
        }
        if let Some(root) = context.root()
            && path.starts_with(root)
            && !path.starts_with(context.common_dir())
            && !context.is_ignored(path).await?
        {
            return Err(Error::PathNotIgnored { path: path.to_owned() });
        }
        Ok(())
    }
}

/// What a creation says of the pool: that it had nothing to give, where it was asked.
fn warm(context: &Context, data: &CreateData) -> Option<bool> {
    (!data.again && context.config().pool.size > 0).then_some(false)
}

/// Deletes what was moved aside, all that can be; the first failure is told.
fn delete_all(moved: &[PathBuf]) -> Result<()> {
    let delete = |place: &PathBuf| disk::delete_moved_aside(place).map_err(Error::files(place, "deleted"));
    moved.iter().map(delete).fold(Ok(()), Result::and)
}

/// Refuses a repository that this user may not write to, before anything is recorded that could not be undone there.
fn require_writable(common_dir: &Path) -> Result<()> {
    rustix::fs::access(common_dir, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| Error::files(common_dir, "written")(error.into()))
}

fn metadata(request: &Request, plan: &Plan) -> Metadata {
    let made_branch = plan.new_branch.then(|| plan.branch.clone());
    let mut metadata = Metadata { made_branch, made_by_job: request.job.clone(), ..Metadata::default() };
    metadata.relate(&request.links);
    metadata
}
