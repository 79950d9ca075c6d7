//! The journal: every multi-step change is an operation whose intent is durable before its first side effect.
//!
//! An operation is owned ([`spinney_store::Ownership`]) before its row is written, so that a row whose operation nobody owns
//! belongs to somebody who died.

use serde::Serialize;
use spinney_core::{Operation, OperationId, OperationStatus, RepositoryId, Step, Timestamp, WorkspaceId};
use spinney_store::{Connection, Ownable, Owned};

use crate::{Engine, Error, Result};

/// The right to carry out one operation; given up on drop.
#[derive(Debug)]
pub(crate) struct OperationLock {
    pub id: OperationId,
    owned: Owned,
}

impl OperationLock {
    /// Forgets the lock file after the operation was closed. Who still waits on it reads the row and finds it closed.
    pub fn discard(self) {
        self.owned.discard();
    }
}

/// An operation that is under way, by us.
#[derive(Debug)]
pub(crate) struct Running {
    pub lock: OperationLock,
    pub operation: Operation,
}

impl Engine {
    /// Takes the lock of a new operation, before its row is written.
    pub(crate) fn begin_operation(&self) -> Result<OperationLock> {
        let id = OperationId::generate();
        let owned = self.ownership.take_new(Ownable::Operation(id.clone()))?;
        Ok(OperationLock { id, owned })
    }

    /// Takes over the lock of an operation whose owner is gone; `None` while the owner lives.
    pub(crate) fn take_over(&self, id: &OperationId) -> Result<Option<OperationLock>> {
        // Its file may have gone with a crash of the machine, or the operation was just closed: the row tells.
        let owned = self.ownership.take(Ownable::Operation(id.clone()))?;
        Ok(owned.map(|owned| OperationLock { id: id.clone(), owned }))
    }

    /// Waits until the owner of an operation has ended, however it ended.
    pub(crate) async fn wait_for_operation(&self, id: &OperationId) -> Result<()> {
        Ok(self.ownership.wait_until_free(&Ownable::Operation(id.clone())).await?)
    }

    /// Records the intent of an operation's next step, durably, before the step is taken.
    pub(crate) async fn record_step(&self, running: &mut Running, step: Step, data: &impl Serialize) -> Result<()> {
        let data = to_json(data)?;
        let mut db = self.store.write().await?;
        db.record_step(&running.operation.id, step, &data).await?;
        db.commit().await?;
        running.operation.step = step;
        running.operation.data = data;
        Ok(())
    }
}

/// A new row for the journal.
pub(crate) fn new_operation(
    engine: &Engine,
    lock: &OperationLock,
    repository_id: &RepositoryId,
    workspace_id: &WorkspaceId,
    step: Step,
    data: &impl Serialize,
) -> Result<Operation> {
    let now = Timestamp::now();
    Ok(Operation {
        id: lock.id.clone(),
        node: engine.home.node().clone(),
        repository_id: repository_id.clone(),
        workspace_id: workspace_id.clone(),
        status: OperationStatus::Open,
        step,
        data: to_json(data)?,
        error: None,
        created_at: now,
        updated_at: now,
    })
}

/// Closes an operation inside the transaction that makes its outcome visible.
pub(crate) async fn close(
    db: &mut Connection,
    operation: &Operation,
    status: OperationStatus,
    error: Option<&str>,
) -> Result<()> {
    Ok(db.close_operation(&operation.id, status, error).await?)
}

/// What an operation recorded for whoever must finish or undo it.
pub(crate) fn data<T: for<'de> serde::Deserialize<'de>>(operation: &Operation) -> Result<T> {
    serde_json::from_value(operation.data.clone())
        .map_err(|error| Error::Internal { what: format!("operation {} can't be read: {error}", operation.id) })
}

fn to_json(data: &impl Serialize) -> Result<serde_json::Value> {
    serde_json::to_value(data)
        .map_err(|error| Error::Internal { what: format!("the journal can't hold a step: {error}") })
}
