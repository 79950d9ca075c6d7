//! The two databases that Archon can have, read as text and never written.

use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, PgConnection, Row, SqliteConnection};

use crate::{Error, StoreUrl};

/// Every row, in one snapshot; nothing that a view or a rule does can write.
const READ_ONLY: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// A connection to a database of Archon.
pub(super) enum Database {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

/// A row as text; none where a value is no text.
pub(super) type Texts<const N: usize> = Option<[Option<String>; N]>;

impl Database {
    pub(super) async fn connect(url: &StoreUrl, patience: Duration) -> Result<Self, Error> {
        let classified = |error| match error {
            sqlx::Error::Configuration(_) => Error::InvalidUrl { url: url.shown() },
            error => Error::classified(url, error),
        };
        match url {
            StoreUrl::Sqlite(path) => sqlite(path).await.map(Self::Sqlite),
            StoreUrl::Postgres(text) => postgres(text, patience).await.map(Self::Postgres),
        }
        .map_err(classified)
    }

    /// The columns of a table, as it is found by its name; none where there is no such table.
    pub(super) async fn columns(&mut self, table: &str) -> Result<Vec<String>, sqlx::Error> {
        const SQLITE: &str = "SELECT name FROM pragma_table_info($1)";
        const POSTGRES: &str = "SELECT CAST(attname AS TEXT) FROM pg_attribute \
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped";
        match self {
            Self::Sqlite(connection) => {
                let rows = sqlx::query(SQLITE).bind(table).fetch_all(connection).await?;
                rows.iter().map(|row| row.try_get(0)).collect()
            }
            Self::Postgres(connection) => {
                let rows = sqlx::query(POSTGRES).bind(table).fetch_all(connection).await?;
                rows.iter().map(|row| row.try_get(0)).collect()
            }
        }
    }

    /// The schemas that have a table of this name, where there are schemas.
    pub(super) async fn schemas_with(&mut self, table: &str) -> Result<Vec<String>, sqlx::Error> {
        const SCHEMAS: &str = "SELECT CAST(nspname AS TEXT) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace \
            WHERE relname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY nspname";
        match self {
            Self::Sqlite(_) => Ok(Vec::new()),
            Self::Postgres(connection) => {
                let rows = sqlx::query(SCHEMAS).bind(table).fetch_all(connection).await?;
                rows.iter().map(|row| row.try_get(0)).collect()
            }
        }
    }

    /// The rows that a query of text columns gives.
    pub(super) async fn rows<const N: usize>(&mut self, sql: String) -> Result<Vec<Texts<N>>, sqlx::Error> {
        let query = AssertSqlSafe(sql);
        Ok(match self {
            Self::Sqlite(connection) => {
                let rows: Vec<SqliteRow> = sqlx::query(query).fetch_all(connection).await?;
                rows.iter().map(texts).collect()
            }
            Self::Postgres(connection) => {
                let rows: Vec<PgRow> = sqlx::query(query).fetch_all(connection).await?;
                rows.iter().map(texts).collect()
            }
        })
    }

    /// What orders rows that nothing else orders: by number, the columns that are asked for.
    pub(super) fn any_order(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "rowid",
            Self::Postgres(_) => "1, 2",
        }
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(mut connection) => {
                sqlx::query("ROLLBACK").execute(&mut connection).await?;
                connection.close().await
            }
        }
    }
}

async fn sqlite(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    // What is in somebody else's schema may call no function that does anything.
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let options = options.pragma("query_only", "ON").pragma("trusted_schema", "OFF").disable_statement_logging();
    options.connect().await
}

async fn postgres(url: &str, patience: Duration) -> Result<PgConnection, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    let mut connection = options.disable_statement_logging().connect().await?;
    sqlx::query(READ_ONLY).execute(&mut connection).await?;
    // The server gives up as well when nobody waits any longer.
    let limit = format!("SET LOCAL statement_timeout = {}", patience.as_millis());
    sqlx::query(AssertSqlSafe(limit)).execute(&mut connection).await?;
    Ok(connection)
}

fn texts<const N: usize, R: Row>(row: &R) -> Texts<N>
where
    usize: sqlx::ColumnIndex<R>,
    for<'r> Option<String>: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    let mut texts = [const { None }; N];
    for (index, text) in texts.iter_mut().enumerate() {
        *text = row.try_get::<Option<String>, _>(index).ok()?.filter(|text| !text.is_empty());
    }
    Some(texts)
}
