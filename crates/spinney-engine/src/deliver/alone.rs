//! Keeps a workspace to whoever delivers it: no job begins to run there meanwhile, nobody removes it, and nobody else
//! delivers it. An operation in the journal, with no step to undo:
//!
//! 1. The operation is recorded, in one transaction with the look at who runs there. A job that is about to run looks for
//!    it in turn, and waits.
//! 2. What is left is committed, pushed, and offered as a pull request, each part such that doing it again changes
//!    nothing. The row tells what was pushed.
//! 3. The operation is closed.
//!
//! After a death it is only closed: a commit is where its author would have made it, and whoever delivers again goes on.

use spinney_core::{
    DeliverStep, Job, JobStatus, Operation, OperationKind, OperationStatus, Step, Workspace, WorkspaceStatus,
};

use crate::journal::operations::{self, Running};
use crate::{Engine, Error, Result, fail};

const DELIVERING: Step = Step::Deliver(DeliverStep::Delivering);

/// The right to deliver a workspace.
#[derive(Debug)]
pub struct UnderDelivery {
    running: Running,
}

impl Engine {
    /// Takes a workspace for a delivery, and gives its row as it is now.
    ///
    /// # Errors
    ///
    /// [`Error::JobRuns`] while a job runs there, [`Error::Busy`] while somebody removes or delivers it.
    pub async fn begin_delivery(&self, workspace: &Workspace) -> Result<(UnderDelivery, Workspace)> {
        if let Some(begun) = self.try_to_begin_delivery(workspace).await? {
            return Ok(begun);
        }
        // Where its owner died, the operation in the way is finished or undone.
        let in_the_way = self.store.read().await?.open_operation_of(&workspace.id).await?;
        if let Some(operation) = in_the_way {
            self.recover_one(&operation.id, &|_| {}).await?;
        }
        let begun = self.try_to_begin_delivery(workspace).await?;
        begun.ok_or_else(|| Error::Busy { name: workspace.name.clone() })
    }

    async fn try_to_begin_delivery(&self, workspace: &Workspace) -> Result<Option<(UnderDelivery, Workspace)>> {
        let lock = self.begin_operation()?;
        let (repository, id) = (&workspace.repository_id, &workspace.id);
        let operation = operations::new_operation(self, &lock, repository, id, DELIVERING, &serde_json::json!({}))?;
        match self.insert_delivery(workspace, &operation).await {
            Ok(Some(row)) => {
                fail::point("deliver.recorded")?;
                Ok(Some((UnderDelivery { running: Running { lock, operation } }, row)))
            }
            Ok(None) => {
                lock.discard();
                Ok(None)
            }
            Err(error) => {
                lock.discard();
                Err(error)
            }
        }
    }

    async fn insert_delivery(&self, workspace: &Workspace, operation: &Operation) -> Result<Option<Workspace>> {
        let mut db = self.store.write().await?;
        // The first lock is a job's that starts, the second one that takes its place.
        db.lock_queue(self.home.node()).await?;
        db.lock_repository(&workspace.repository_id).await?;
        let place = workspace.id.as_str();
        let runs_here = |job: &Job| {
            let is_own = job.own_workspace_id() == Some(&workspace.id) || job.place.as_deref() == Some(place);
            job.status == JobStatus::Running && is_own
        };
        if let Some(job) = db.unfinished_jobs(self.home.node()).await?.into_iter().find(runs_here) {
            return Err(Error::JobRuns { name: workspace.name.clone(), job: job.id, agent: job.agent });
        }
        let Some(row) = db.workspace(&workspace.id).await? else {
            return Err(Error::UnknownWorkspace { name: workspace.name.to_string(), nearest: None });
        };
        match row.status {
            WorkspaceStatus::Active => {}
            WorkspaceStatus::Creating | WorkspaceStatus::Removing => return Ok(None),
            status => {
                return Err(Error::WrongStatus { name: row.name, status, needed: "a workspace that is in use" });
            }
        }
        if !db.insert_operation(operation).await? {
            return Ok(None);
        }
        db.commit().await?;
        Ok(Some(row))
    }

    /// Lets others have a workspace again that was delivered; with why, where that failed.
    pub async fn end_delivery(&self, under: UnderDelivery, error: Option<&str>) -> Result<()> {
        let Running { lock, operation } = under.running;
        let status = if error.is_some() { OperationStatus::Undone } else { OperationStatus::Done };
        let mut db = self.store.write().await?;
        operations::close(&mut db, &operation, status, error).await?;
        db.commit().await?;
        lock.discard();
        Ok(())
    }

    /// Whether somebody delivers a workspace, or died while they did.
    pub async fn is_under_delivery(&self, workspace: &Workspace) -> Result<bool> {
        Ok(self.load_delivery(workspace).await?.is_some())
    }

    /// Waits until nobody delivers a workspace.
    pub async fn wait_for_delivery(&self, workspace: &Workspace) -> Result<()> {
        while let Some(operation) = self.load_delivery(workspace).await? {
            self.wait_for_operation(&operation.id).await?;
            self.recover_one(&operation.id, &|_| {}).await?;
        }
        Ok(())
    }

    async fn load_delivery(&self, workspace: &Workspace) -> Result<Option<Operation>> {
        let open = self.store.read().await?.open_operation_of(&workspace.id).await?;
        Ok(open.filter(|operation| operation.kind() == OperationKind::Deliver))
    }

    /// Closes a delivery whose process died.
    pub(crate) async fn recover_deliver(&self, operation: &Operation) -> Result<&'static str> {
        let mut db = self.store.write().await?;
        operations::close(&mut db, operation, OperationStatus::Undone, Some("its process died")).await?;
        db.commit().await?;
        Ok("closed: what it committed and pushed stays, and delivering again goes on from there")
    }
}
