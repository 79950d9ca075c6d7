//! Where a database is: connecting to it, making it, upgrading it.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions, Connection as _};
use tokio::time::{sleep, timeout};

use crate::database::dialect::Dialect;
use crate::database::{backup, sqlite};
use crate::migrate::{self, FoundDatabase, Migration, Mismatch};
use crate::{Error, StoreUrl};

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// SQLite doesn't wait by itself for the readers of a database that is to become write-ahead.
const WRITE_AHEAD_TIMEOUT: Duration = Duration::from_secs(30);
const WRITE_AHEAD_POLL: Duration = Duration::from_millis(10);
/// Any number that no other program on the same server is likely to lock.
const UPGRADE_LOCK: i64 = 0x0073_7069_6e6e_6579;

/// A database that can be connected to.
pub(crate) struct DatabasePlace {
    pub(crate) url: StoreUrl,
    pub(crate) dialect: Dialect,
    options: AnyConnectOptions,
}

impl DatabasePlace {
    pub(crate) fn new(url: &StoreUrl) -> Result<Self, Error> {
        let options: AnyConnectOptions =
            url.driver_url()?.parse().map_err(|_| Error::InvalidUrl { url: url.shown() })?;
        Ok(Self { url: url.clone(), dialect: Dialect::of(url), options: options.disable_statement_logging() })
    }

    pub(crate) fn error(&self, error: sqlx::Error) -> Error {
        Error::classified(&self.url, error)
    }

    pub(crate) async fn connect(&self) -> Result<AnyConnection, Error> {
        let connecting = async {
            let mut connection = self.options.connect().await?;
            self.run(&mut connection, self.dialect.settings()).await?;
            Ok(connection)
        };
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Err(sqlx::Error::Configuration(_))) => Err(Error::InvalidUrl { url: self.url.shown() }),
            Ok(connected) => connected.map_err(|error| self.error(error)),
            Err(elapsed) if self.dialect == Dialect::Sqlite => {
                Err(Error::Busy { place: self.url.shown(), source: Some(elapsed.into()) })
            }
            Err(elapsed) => Err(Error::unreachable(self.url.shown(), elapsed)),
        }
    }

    pub(crate) async fn close(&self, connection: AnyConnection) -> Result<(), Error> {
        connection.close().await.map_err(|error| self.error(error))
    }

    async fn run(&self, connection: &mut AnyConnection, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(sql).execute(connection).await.map(drop)
    }

    /// Looks at the database, and refuses what this Spinney must not touch.
    pub(crate) async fn look(
        &self,
        connection: &mut AnyConnection,
        known: &[Migration],
    ) -> Result<FoundDatabase, Error> {
        let found = FoundDatabase::look(connection, self.dialect).await.map_err(|error| self.error(error))?;
        if let StoreUrl::Sqlite(path) = &self.url {
            if !sqlite::is_recent_enough(&found.server) {
                return Err(Error::TooOldSqlite { found: found.server, required: sqlite::REQUIRED });
            }
            if found.schema == 0 && found.tables > 0 {
                return Err(Error::Foreign { path: path.clone() });
            }
        }
        match found.compare(known) {
            Ok(()) => Ok(found),
            Err(Mismatch::Newer { found, known }) => Err(Error::Newer { found, known }),
            Err(Mismatch::Changed { version }) => Err(Error::ChangedMigration { version }),
        }
    }

    /// Upgrades a database:
    ///
    /// 1. take the lock, and look again: somebody else may have done it;
    /// 2. copy what is there;
    /// 3. apply what is missing, in one transaction.
    pub(crate) async fn upgrade(&self, known: &[Migration]) -> Result<(), Error> {
        match &self.url {
            StoreUrl::Sqlite(path) => {
                let _lock = sqlite::lock(path).await?;
                self.upgrade_file(path, known).await
            }
            StoreUrl::Postgres(_) => self.upgrade_server(known).await,
        }
    }

    /// Does it for SQLite; the caller holds the lock.
    async fn upgrade_file(&self, path: &Path, known: &[Migration]) -> Result<(), Error> {
        let mut connection = self.connect().await?;
        self.write_ahead(&mut connection).await?;
        let found = self.look(&mut connection, known).await?;
        if !found.is_current(known) {
            if found.schema > 0 {
                backup::to_file(&mut connection, path, found.schema).await?;
            }
            let applied = async {
                // A table that others refer to is made anew under its name; what they refer to is looked at once, at the end.
                self.run(&mut connection, "PRAGMA foreign_keys = OFF").await?;
                self.run(&mut connection, self.dialect.begin()).await?;
                migrate::apply(&mut connection, self.dialect, &found, known).await?;
                let dangling = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut connection).await?;
                if !dangling.is_empty() {
                    return Err(sqlx::Error::Protocol("rows refer to what is missing".to_owned()));
                }
                self.run(&mut connection, "COMMIT").await
            };
            applied.await.map_err(|error| self.error(error))?;
        }
        self.close(connection).await
    }

    /// Does it for PostgreSQL, whose transactions cover the lock and the copy too.
    async fn upgrade_server(&self, known: &[Migration]) -> Result<(), Error> {
        let mut connection = self.connect().await?;
        let locked = async {
            self.run(&mut connection, self.dialect.begin()).await?;
            self.run(&mut connection, "SET LOCAL lock_timeout = '120s'").await?;
            sqlx::query("SELECT CAST(pg_advisory_xact_lock($1) AS TEXT)")
                .bind(UPGRADE_LOCK)
                .execute(&mut connection)
                .await
        };
        locked.await.map_err(|error| self.error(error))?;
        let found = self.look(&mut connection, known).await?;
        if !found.is_current(known) {
            let applied = async {
                if found.schema > 0 {
                    backup::to_schema(&mut connection, found.schema, known).await?;
                }
                migrate::apply(&mut connection, self.dialect, &found, known).await
            };
            applied.await.map_err(|error| self.error(error))?;
        }
        self.run(&mut connection, "COMMIT").await.map_err(|error| self.error(error))?;
        self.close(connection).await
    }

    /// Makes a database write-ahead, which stays so.
    async fn write_ahead(&self, connection: &mut AnyConnection) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.run(connection, "PRAGMA journal_mode = WAL").await.map_err(|error| self.error(error)) {
                Err(error) if error.is_busy() && start.elapsed() < WRITE_AHEAD_TIMEOUT => sleep(WRITE_AHEAD_POLL).await,
                other => return other,
            }
        }
    }
}

/// Makes a SQLite database under another name and renames it, so that nobody ever sees half of one.
pub(crate) async fn create_file(path: &Path, known: &[Migration]) -> Result<(), Error> {
    let _lock = sqlite::lock(path).await?;
    if sqlite::exists(path)? {
        return Ok(());
    }
    sqlite::refuse_left_over(path)?;
    let new = sqlite::start_new(path)?;
    DatabasePlace::new(&StoreUrl::Sqlite(new.clone()))?.upgrade_file(&new, known).await?;
    sqlite::finish_new(&new, path)
}
