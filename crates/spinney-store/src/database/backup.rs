//! A copy of the database as it was before an upgrade.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use spinney_core::Timestamp;
use sqlx::AnyConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::database::sqlite::{beside, sync_directory};
use crate::migrate::Migration;
use crate::{Error, StoreUrl};

/// Copies a SQLite database to a file beside it, readable by its owner alone. Whatever has the final name is complete.
pub(crate) async fn to_file(connection: &mut AnyConnection, path: &Path, schema: i64) -> Result<(), Error> {
    let time = Timestamp::now().to_string().replace(['-', ':'], "");
    let mut backup = beside(path, &format!(".backup-v{schema}-{time}"));
    let mut number = 2;
    while backup.exists() {
        backup = beside(path, &format!(".backup-v{schema}-{time}-{number}"));
        number += 1;
    }
    let partial = beside(&backup, ".partial");
    let io = |error| Error::io(&backup, error);
    if partial.exists() {
        fs::remove_file(&partial).map_err(io)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial).map_err(io)?;
    let target = crate::database::url::utf8(&partial)?.to_owned();
    sqlx::query("VACUUM INTO $1").bind(target).execute(connection).await.map_err(|error| {
        // Half a backup helps nobody and takes the space that is missing.
        let _ = fs::remove_file(&partial);
        Error::classified(&StoreUrl::Sqlite(path.to_owned()), error)
    })?;
    File::open(&partial).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(&partial, &backup).map_err(io)?;
    sync_directory(&backup)
}

/// Copies the tables of a PostgreSQL database into a schema of their own, within the caller's transaction.
pub(crate) async fn to_schema(
    connection: &mut AnyConnection,
    schema: i64,
    known: &[Migration],
) -> Result<(), sqlx::Error> {
    let base = format!("spinney_backup_v{schema}");
    let mut name = base.clone();
    let mut number = 2;
    while count(connection, "SELECT COUNT(*) FROM pg_catalog.pg_namespace WHERE nspname = $1", &name).await? > 0 {
        name = format!("{base}_{number}");
        number += 1;
    }
    run(connection, format!("CREATE SCHEMA {name}")).await?;
    let applied = known.iter().filter(|migration| migration.version <= schema).flat_map(Migration::tables);
    // A later migration may have made one anew.
    for table in applied.chain(["schema_migrations"]).collect::<BTreeSet<_>>() {
        let exists = "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = $1";
        // A later migration may have dropped it.
        if count(connection, exists, table).await? > 0 {
            run(connection, format!("CREATE TABLE {name}.{table} AS TABLE {table}")).await?;
        }
    }
    Ok(())
}

async fn run(connection: &mut AnyConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map(drop)
}

async fn count(connection: &mut AnyConnection, sql: &'static str, name: &str) -> Result<i64, sqlx::Error> {
    sqlx::query(sql).bind(name).fetch_one(connection).await?.try_get(0)
}
