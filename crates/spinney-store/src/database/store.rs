//! Opening a store, and lending its connections.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use spinney_core::Actor;
use sqlx::{AnyConnection, Connection as _, Row};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use crate::database::dialect::Dialect;
use crate::database::place::{CONNECT_TIMEOUT, DatabasePlace, create_file};
use crate::database::sqlite;
use crate::migrate::{FoundDatabase, MIGRATIONS, Migration};
use crate::{Connection, Error, StoreUrl};

/// How many connections one process uses at most.
const CONNECTIONS: usize = 8;
/// How long a caller waits for a free connection, or for its turn to write.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a server that can't be reached is asked again by whoever waits for it.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// The state of Spinney. Cheap to clone; every clone lends the same connections.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    /// How long a server that can't be reached is waited for.
    patience: Duration,
    /// Who is told to have done what is recorded.
    actor: Arc<Actor>,
}

/// What a store tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// The database and its version, as `SQLite 3.51.3`.
    pub engine: String,
    pub schema: i64,
    /// What it takes on disk, where that is known.
    pub size_bytes: Option<u64>,
}

/// What the connections of one store have in common.
pub(crate) struct Shared {
    place: DatabasePlace,
    idle: Mutex<Vec<AnyConnection>>,
    permits: Arc<Semaphore>,
    /// SQLite has one writer; within a process they queue here, in order, instead of polling the file's lock.
    writer: Arc<tokio::sync::Mutex<()>>,
    found: FoundDatabase,
}

impl Store {
    /// The same, which waits so long for a server that can't be reached, as one that is started again. Before a statement is
    /// sent, that is: what was cut off in the middle is an error, and only the caller knows whether to do it again.
    pub async fn open_patiently(url: &StoreUrl, patience: Duration) -> Result<Self, Error> {
        let store = patiently(patience, || Self::open(url)).await?;
        Ok(Self { patience, ..store })
    }

    /// Opens a store; makes it when it is missing, upgrades it when it is older, refuses it when it is newer.
    pub async fn open(url: &StoreUrl) -> Result<Self, Error> {
        Self::open_with(url, MIGRATIONS).await
    }

    /// Opens a store as a Spinney that knows these migrations would.
    #[doc(hidden)]
    pub async fn open_with(url: &StoreUrl, known: &[Migration]) -> Result<Self, Error> {
        sqlx::any::install_default_drivers();
        if let StoreUrl::Sqlite(path) = url {
            match sqlite::exists(path)? {
                true => sqlite::refuse_emptied(path)?,
                false => create_file(path, known).await?,
            }
        }
        let place = DatabasePlace::new(url)?;
        let mut connection = place.connect().await?;
        let mut found = place.look(&mut connection, known).await?;
        if !found.is_current(known) {
            // Connections that exist during an upgrade would go on with the old schema.
            place.close(connection).await?;
            place.upgrade(known).await?;
            connection = place.connect().await?;
            found = place.look(&mut connection, known).await?;
        }
        Ok(Self {
            shared: Arc::new(Shared {
                place,
                idle: Mutex::new(vec![connection]),
                permits: Arc::new(Semaphore::new(CONNECTIONS)),
                writer: Arc::default(),
                found,
            }),
            patience: Duration::ZERO,
            actor: Arc::new(Actor::Unknown),
        })
    }

    /// Whom the audit log names for what is done with it.
    #[must_use]
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The same store, for somebody whom the audit log is to name.
    #[must_use]
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: Arc::new(actor), ..self.clone() }
    }

    /// Lends a connection on which every statement stands for itself.
    pub async fn read(&self) -> Result<Connection, Error> {
        patiently(self.patience, || self.lend()).await
    }

    async fn lend(&self) -> Result<Connection, Error> {
        let permit = self.shared.permit().await?;
        let connection = self.shared.connection().await?;
        Ok(Connection::plain(Arc::clone(&self.shared), Arc::clone(&self.actor), connection, permit))
    }

    /// Begins a transaction; without [`Connection::commit`] it is rolled back.
    pub async fn write(&self) -> Result<Connection, Error> {
        patiently(self.patience, || self.begin()).await
    }

    async fn begin(&self) -> Result<Connection, Error> {
        let writer = self.shared.turn_to_write().await?;
        let permit = self.shared.permit().await?;
        let connection = self.shared.connection().await?;
        let (shared, actor) = (Arc::clone(&self.shared), Arc::clone(&self.actor));
        let mut connection = Connection::transaction(shared, actor, connection, permit, writer);
        connection.run(self.shared.place.dialect.begin()).await?;
        Ok(connection)
    }

    /// Closes the connections that nobody has borrowed, and waits until they are closed.
    ///
    /// A store that is merely dropped closes them too, but some time later.
    pub async fn close(self) -> Result<(), Error> {
        let idle = std::mem::take(&mut *self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for connection in idle {
            self.shared.place.close(connection).await?;
        }
        Ok(())
    }

    /// Tells the database's version, the schema's, and the size.
    pub async fn load_info(&self) -> Result<StoreInfo, Error> {
        let FoundDatabase { server, schema, .. } = &self.shared.found;
        // PostgreSQL adds its packager's words behind the number.
        let version = server.split_whitespace().next().unwrap_or_default();
        let size_bytes = match &self.shared.place.url {
            StoreUrl::Sqlite(path) => std::fs::metadata(path).ok().map(|metadata| metadata.len()),
            StoreUrl::Postgres(_) => {
                let size = sqlx::query("SELECT pg_database_size(current_database())");
                self.read()
                    .await?
                    .fetch_optional(size)
                    .await?
                    .and_then(|row| row.try_get::<i64, _>(0).ok()?.try_into().ok())
            }
        };
        Ok(StoreInfo { engine: format!("{} {version}", self.shared.place.dialect.name()), schema: *schema, size_bytes })
    }

    /// Looks for damage, and lists what it finds. PostgreSQL looks after itself: an answer is all that is asked of it.
    pub async fn check(&self) -> Result<Vec<String>, Error> {
        let mut connection = self.read().await?;
        let mut problems = Vec::new();
        match self.shared.place.dialect {
            Dialect::Postgres => {
                connection.fetch_all(sqlx::query("SELECT version FROM schema_migrations")).await?;
            }
            Dialect::Sqlite => {
                for row in connection.fetch_all(sqlx::query("PRAGMA quick_check")).await? {
                    match row.try_get::<String, _>(0) {
                        Ok(text) if text == "ok" => {}
                        Ok(text) => problems.push(text),
                        Err(error) => return Err(self.shared.error(error)),
                    }
                }
                for row in connection.fetch_all(sqlx::query("PRAGMA foreign_key_check")).await? {
                    let column = |index| row.try_get::<String, usize>(index).map_err(|error| self.shared.error(error));
                    problems.push(format!(
                        "a row of `{}` refers to one of `{}` that is missing",
                        column(0)?,
                        column(2)?
                    ));
                }
            }
        }
        Ok(problems)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.shared.place.url).finish()
    }
}

impl Shared {
    pub(crate) fn dialect(&self) -> Dialect {
        self.place.dialect
    }

    pub(crate) fn error(&self, error: sqlx::Error) -> Error {
        self.place.error(error)
    }

    fn busy(&self) -> Error {
        Error::Busy { place: self.place.url.shown(), source: None }
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permit = timeout(TURN_TIMEOUT, Arc::clone(&self.permits).acquire_owned()).await;
        permit.map_err(|_| self.busy())?.map_err(|_| self.busy())
    }

    async fn turn_to_write(&self) -> Result<Option<OwnedMutexGuard<()>>, Error> {
        if self.place.dialect == Dialect::Postgres {
            return Ok(None);
        }
        let turn = timeout(TURN_TIMEOUT, Arc::clone(&self.writer).lock_owned()).await;
        turn.map(Some).map_err(|_| self.busy())
    }

    async fn connection(&self) -> Result<AnyConnection, Error> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut connection) = idle else { return self.place.connect().await };
            // However short its rest was, a server may have been stopped in it, and closed the connection.
            let is_file = self.place.dialect == Dialect::Sqlite;
            if is_file || timeout(CONNECT_TIMEOUT, connection.ping()).await.is_ok_and(|answer| answer.is_ok()) {
                return Ok(connection);
            }
        }
    }

    pub(crate) fn give_back(&self, connection: AnyConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// Does something again for so long as the server can't be reached.
async fn patiently<T, F>(patience: Duration, work: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let since = Instant::now();
    loop {
        match work().await {
            Err(Error::Unreachable { url, source, .. }) if !patience.is_zero() => {
                let waited = since.elapsed();
                if waited >= patience {
                    return Err(Error::Unreachable { url, waited, source });
                }
                sleep(ASK_AGAIN_AFTER).await;
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn setting(connection: &mut Connection, sql: &'static str) -> String {
        let row = connection.fetch_optional(sqlx::query(sql)).await.unwrap().unwrap();
        row.try_get::<String, _>(0).unwrap_or_else(|_| row.get::<i64, _>(0).to_string())
    }

    #[tokio::test]
    async fn every_connection_has_its_safe_settings() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        // Two at once: the one that opened the store, and one that came later.
        let mut connections = [store.read().await.unwrap(), store.read().await.unwrap()];
        for connection in &mut connections {
            assert_eq!(setting(connection, "PRAGMA journal_mode").await, "wal");
            assert_eq!(setting(connection, "PRAGMA synchronous").await, "2");
            assert_eq!(setting(connection, "PRAGMA foreign_keys").await, "1");
            assert_eq!(setting(connection, "PRAGMA busy_timeout").await, "30000");
        }
    }

    #[tokio::test]
    async fn a_full_database_is_told_as_such() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        let mut connection = store.write().await.unwrap();
        connection.run("PRAGMA max_page_count = 1").await.unwrap();
        let error = connection.run("CREATE TABLE big AS SELECT zeroblob(10000000)").await.unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn connections_are_lent_again() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::Sqlite(directory.path().join("spinney.db"))).await.unwrap();
        let idle = || store.shared.idle.lock().unwrap().len();
        for _ in 0..3 {
            drop(store.read().await.unwrap());
            store.write().await.unwrap().commit().await.unwrap();
        }
        assert_eq!(idle(), 1);
        drop(store.write().await.unwrap());
        assert_eq!(idle(), 0, "an open transaction ends with its connection");
    }
}
