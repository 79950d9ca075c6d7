//! Long work that a request began and a client follows. Whatever it changes is journaled by itself; this is only what is
//! told about it.

use spinney_core::{AccountName, LongOperation, LongOperationStatus, NodeId, OperationId, Timestamp};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

fn long_operation(row: &AnyRow) -> Result<LongOperation, Error> {
    let mut row = Reader::new("long_operations", row);
    Ok(LongOperation {
        id: row.parsed()?,
        account: row.parsed()?,
        node: row.parsed()?,
        kind: row.text()?,
        status: row.parsed()?,
        result: row.optional_text()?.map(|text| serde_json::from_str(&text).unwrap_or_default()),
        created_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}

impl Connection {
    pub async fn insert_long_operation(&mut self, operation: &LongOperation) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO long_operations (id, account, node, kind, status, result, created_at, ended_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(operation.id.as_str())
        .bind(operation.account.as_str())
        .bind(operation.node.as_str())
        .bind(&operation.kind)
        .bind(operation.status.as_str())
        .bind(operation.result.as_ref().map(ToString::to_string))
        .bind(operation.created_at.as_millisecond())
        .bind(operation.ended_at.map(Timestamp::as_millisecond));
        self.execute(query).await.map(drop)
    }

    /// Records how it ended.
    pub async fn end_long_operation(
        &mut self,
        id: &OperationId,
        status: LongOperationStatus,
        result: &serde_json::Value,
        at: Timestamp,
    ) -> Result<(), Error> {
        let query = sqlx::query("UPDATE long_operations SET status = $1, result = $2, ended_at = $3 WHERE id = $4");
        let query = query.bind(status.as_str()).bind(result.to_string()).bind(at.as_millisecond()).bind(id.as_str());
        self.execute(query).await.map(drop)
    }

    /// Loads one of an account.
    pub async fn long_operation(
        &mut self,
        account: &AccountName,
        id: &OperationId,
    ) -> Result<Option<LongOperation>, Error> {
        let query = sqlx::query(
            "SELECT id, account, node, kind, status, result, created_at, ended_at FROM long_operations
             WHERE account = $1 AND id = $2",
        );
        let row = self.fetch_optional(query.bind(account.as_str()).bind(id.as_str())).await?;
        row.as_ref().map(long_operation).transpose()
    }

    /// Says of those that a node's daemon had under way when it died that they were interrupted.
    pub async fn interrupt_long_operations(&mut self, node: &NodeId, at: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query(
            "UPDATE long_operations SET status = 'interrupted', ended_at = $1 WHERE node = $2 AND status = 'running'",
        );
        self.execute(query.bind(at.as_millisecond()).bind(node.as_str())).await
    }

    /// Forgets those that began before a time and are over.
    pub async fn delete_long_operations_before(&mut self, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query("DELETE FROM long_operations WHERE created_at < $1 AND status <> 'running'");
        self.execute(query.bind(before.as_millisecond())).await
    }
}
