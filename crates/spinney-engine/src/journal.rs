//! The journal: every multi-step change is an operation whose intent is durable before its first side effect.
//!
//! The owner of an operation is whoever holds its file lock (`operations/<id>` in the home), never a pid. The file is
//! made and locked before the row is written, so that a row without a locked file belongs to somebody who died.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use spinney_core::{Operation, OperationId, OperationStatus, RepositoryId, Step, Timestamp, WorkspaceId};
use spinney_store::Connection;

use crate::{Engine, Error, Result};

/// How long a waiter sleeps between two looks at somebody else's lock.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// The right to carry out one operation; given up on drop.
#[derive(Debug)]
pub(crate) struct OperationLock {
    pub id: OperationId,
    path: PathBuf,
    _file: File,
}

impl OperationLock {
    /// Forgets the lock file after the operation was closed. Who still waits on it reads the row and finds it closed.
    pub fn discard(self) {
        // A file that stays is swept up by `doctor`; it holds nothing.
        let _ = fs::remove_file(&self.path);
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
        let path = self.home.operation_lock(&id);
        // It gets its name once it is locked, so that nobody ever sees it free.
        let aside = path.with_file_name(format!(".{id}"));
        let file = File::create_new(&aside).map_err(Error::files(&aside, "made"))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| Error::files(&aside, "locked")(error.into()))?;
        fs::rename(&aside, &path).map_err(Error::files(&path, "made"))?;
        Ok(OperationLock { id, path, _file: file })
    }

    /// Takes over the lock of an operation whose owner is gone; `None` while the owner lives.
    pub(crate) fn take_over(&self, id: &OperationId) -> Result<Option<OperationLock>> {
        let path = self.home.operation_lock(id);
        let file = match File::options().read(true).write(true).open(&path) {
            Ok(file) => file,
            // The file went with a crash of the machine, or the operation was just closed: the row tells.
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(Error::files(&path, "opened"))?,
            Err(error) => return Err(Error::files(&path, "opened")(error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(OperationLock { id: id.clone(), path, _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(Error::files(&path, "locked")(error.into())),
        }
    }

    /// Waits until the owner of an operation has ended, however it ended.
    pub(crate) async fn wait_for_operation(&self, id: &OperationId) -> Result<()> {
        let path = self.home.operation_lock(id);
        loop {
            let file = match spinney_git::open_regular(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(Error::files(&path, "opened")(error)),
            };
            match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::WOULDBLOCK) => tokio::time::sleep(LOOK_AGAIN_AFTER).await,
                Err(error) => return Err(Error::files(&path, "locked")(error.into())),
            }
        }
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
