//! The journal: what is being done to workspaces, so that somebody else can finish or undo it.

use spinney_core::{NodeId, Operation, OperationId, OperationKind, OperationStatus, Step, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

macro_rules! select_operations {
    ($rest:literal) => {
        sqlx::query(concat!(
            "SELECT id, node, kind, repository_id, workspace_id, status, step, data, error, created_at, updated_at
             FROM operations ",
            $rest
        ))
    };
}

fn operation(row: &AnyRow) -> Result<Operation, Error> {
    let mut row = Reader::new("operations", row);
    let (id, node, kind) = (row.parsed()?, row.parsed()?, row.parsed()?);
    Ok(Operation {
        id,
        node,
        repository_id: row.parsed()?,
        workspace_id: row.parsed()?,
        status: row.parsed()?,
        step: row.parsed_by(|text| Step::parse(kind, text))?,
        data: row.json()?,
        error: row.optional_text()?,
        created_at: row.time()?,
        updated_at: row.time()?,
    })
}

impl Connection {
    /// Inserts an operation; `false` when its workspace has an open one.
    pub async fn insert_operation(&mut self, operation: &Operation) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO operations
                 (id, node, kind, repository_id, workspace_id, status, step, data, error, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             ON CONFLICT DO NOTHING",
        )
        .bind(operation.id.as_str())
        .bind(operation.node.as_str())
        .bind(operation.kind().as_str())
        .bind(operation.repository_id.as_str())
        .bind(operation.workspace_id.as_str())
        .bind(operation.status.as_str())
        .bind(operation.step.as_str())
        .bind(operation.data.to_string())
        .bind(operation.error.as_deref())
        .bind(operation.created_at.as_millisecond())
        .bind(operation.updated_at.as_millisecond());
        Ok(self.execute(query).await? > 0)
    }

    /// Records the intent of a step before its side effect; [`Error::NotOpen`] when the operation is no longer open,
    /// and the side effect must not happen.
    pub async fn record_step(&mut self, id: &OperationId, step: Step, data: &serde_json::Value) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE operations SET step = $2, data = $3, updated_at = $4 WHERE id = $1 AND status = 'open'",
        )
        .bind(id.as_str())
        .bind(step.as_str())
        .bind(data.to_string())
        .bind(Timestamp::now().as_millisecond());
        match self.execute(query).await? {
            0 => Err(Error::NotOpen { id: id.to_string() }),
            _ => Ok(()),
        }
    }

    /// Ends an operation; one that has ended stays as it is.
    pub async fn close_operation(
        &mut self,
        id: &OperationId,
        status: OperationStatus,
        error: Option<&str>,
    ) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE operations SET status = $2, error = $3, updated_at = $4 WHERE id = $1 AND status = 'open'",
        )
        .bind(id.as_str())
        .bind(status.as_str())
        .bind(error)
        .bind(Timestamp::now().as_millisecond());
        self.execute(query).await.map(drop)
    }

    /// Loads an operation by its id.
    pub async fn operation(&mut self, id: &OperationId) -> Result<Option<Operation>, Error> {
        let query = select_operations!("WHERE id = $1").bind(id.as_str());
        self.fetch_optional(query).await?.as_ref().map(operation).transpose()
    }

    /// Loads a node's open operations, oldest first.
    pub async fn open_operations(&mut self, node: &NodeId) -> Result<Vec<Operation>, Error> {
        let query =
            select_operations!("WHERE node = $1 AND status = 'open' ORDER BY created_at, id").bind(node.as_str());
        self.fetch_all(query).await?.iter().map(operation).collect()
    }

    /// Loads the operation of a kind that ended well last for a workspace.
    pub async fn last_done_operation_of(
        &mut self,
        workspace: &WorkspaceId,
        kind: OperationKind,
    ) -> Result<Option<Operation>, Error> {
        let query = select_operations!(
            "WHERE workspace_id = $1 AND kind = $2 AND status = 'done' ORDER BY updated_at DESC, id LIMIT 1"
        )
        .bind(workspace.as_str())
        .bind(kind.as_str());
        self.fetch_optional(query).await?.as_ref().map(operation).transpose()
    }

    /// Loads the open operation of a workspace.
    pub async fn open_operation_of(&mut self, workspace: &WorkspaceId) -> Result<Option<Operation>, Error> {
        let query = select_operations!("WHERE workspace_id = $1 AND status = 'open'").bind(workspace.as_str());
        self.fetch_optional(query).await?.as_ref().map(operation).transpose()
    }

    /// Forgets a node's operations that ended before a time. Of each kind, a workspace keeps the last that ended well: a
    /// restore reads in it what the removal moved. One that failed stays until a later one ended well. Tells how many.
    pub async fn delete_operations_before(&mut self, node: &NodeId, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query(
            "DELETE FROM operations
             WHERE node = $1 AND status <> 'open' AND updated_at < $2 AND (status = 'undone' OR EXISTS (
                 SELECT 1 FROM operations later
                 WHERE later.workspace_id = operations.workspace_id AND later.status = 'done'
                       AND (later.kind = operations.kind OR operations.status = 'failed')
                       AND later.updated_at > operations.updated_at))",
        );
        self.execute(query.bind(node.as_str()).bind(before.as_millisecond())).await
    }
}
