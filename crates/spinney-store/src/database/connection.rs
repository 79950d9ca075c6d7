//! A lent connection. The entities' queries are its methods, each in its entity's file.

use std::fmt;
use std::sync::Arc;

use spinney_core::{Actor, Recorded};
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};

use crate::Error;
use crate::database::dialect::Dialect;
use crate::database::store::Shared;

/// A connection, plain or in a transaction; goes back to its store when it is dropped.
pub struct Connection {
    shared: Arc<Shared>,
    /// Always there until the drop.
    inner: Option<AnyConnection>,
    transaction: Transaction,
    /// Whether its last statement was answered well. One that failed, or whose question was dropped half way, is not lent
    /// again: the server may have closed it.
    is_sound: bool,
    /// What the transaction is to tell once it is committed.
    pub(crate) events: Vec<Recorded>,
    actor: Arc<Actor>,
    _permit: OwnedSemaphorePermit,
    _writer: Option<OwnedMutexGuard<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// A statement failed. PostgreSQL would answer a commit with a silent rollback, so it is never asked for one.
    Failed,
}

impl Connection {
    pub(crate) fn plain(
        shared: Arc<Shared>,
        actor: Arc<Actor>,
        inner: AnyConnection,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            shared,
            inner: Some(inner),
            transaction: Transaction::None,
            is_sound: true,
            events: Vec::new(),
            actor,
            _permit: permit,
            _writer: None,
        }
    }

    /// Wraps a connection that is about to begin a transaction.
    pub(crate) fn transaction(
        shared: Arc<Shared>,
        actor: Arc<Actor>,
        inner: AnyConnection,
        permit: OwnedSemaphorePermit,
        writer: Option<OwnedMutexGuard<()>>,
    ) -> Self {
        let mut own = Self::plain(shared, actor, inner, permit);
        own.transaction = Transaction::Open;
        own._writer = writer;
        own
    }

    /// From here on it is for somebody else, whom the transaction itself found out.
    pub fn act_as(&mut self, actor: Actor) {
        self.actor = Arc::new(actor);
    }

    /// Whoever it was lent to.
    pub(crate) fn actor(&self) -> &Arc<Actor> {
        &self.actor
    }

    /// Makes the changes of a transaction last. On a plain connection they do already.
    ///
    /// A transaction in which a statement failed is rolled back, with an error.
    pub async fn commit(mut self) -> Result<(), Error> {
        match self.transaction {
            Transaction::None => Ok(()),
            Transaction::Failed => Err(Error::FailedTransaction),
            Transaction::Open => {
                self.write_events().await?;
                self.run("COMMIT").await?;
                self.transaction = Transaction::None;
                Ok(())
            }
        }
    }

    /// Refuses to go on outside a transaction, for changes that are only right as a whole.
    pub(crate) fn require_transaction(&self) -> Result<(), Error> {
        if self.transaction == Transaction::None { Err(Error::NoTransaction) } else { Ok(()) }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.shared.dialect()
    }

    /// The connection, for a statement whose answer goes to [`Self::checked`].
    fn inner(&mut self) -> &mut AnyConnection {
        self.is_sound = false;
        self.inner.as_mut().expect("a connection is taken by its drop alone")
    }

    fn checked<T>(&mut self, result: Result<T, sqlx::Error>) -> Result<T, Error> {
        self.is_sound = result.is_ok();
        result.map_err(|error| {
            if self.transaction == Transaction::Open {
                self.transaction = Transaction::Failed;
            }
            self.shared.error(error)
        })
    }

    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), Error> {
        let result = sqlx::raw_sql(sql).execute(self.inner()).await;
        self.checked(result).map(drop)
    }

    /// Runs a query, and tells how many rows it changed.
    pub(crate) async fn execute(&mut self, query: Query<'_, Any, AnyArguments>) -> Result<u64, Error> {
        let result = query.execute(self.inner()).await;
        self.checked(result).map(|done| done.rows_affected())
    }

    pub(crate) async fn fetch_all(&mut self, query: Query<'_, Any, AnyArguments>) -> Result<Vec<AnyRow>, Error> {
        let result = query.fetch_all(self.inner()).await;
        self.checked(result)
    }

    pub(crate) async fn fetch_optional(
        &mut self,
        query: Query<'_, Any, AnyArguments>,
    ) -> Result<Option<AnyRow>, Error> {
        let result = query.fetch_optional(self.inner()).await;
        self.checked(result)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A transaction that is still open ends with its connection: the database rolls it back.
        if let Some(connection) = self.inner.take()
            && self.transaction == Transaction::None
            && self.is_sound
        {
            self.shared.give_back(connection);
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("transaction", &self.transaction).finish_non_exhaustive()
    }
}
