//! The schema's history: append-only files of SQL, each applied once, all missing ones in one transaction.

use spinney_core::Timestamp;
use spinney_core::names::content_hash;
use sqlx::AnyConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::database::dialect::Dialect;
use crate::database::unify;

/// One step of the schema. What is published never changes; a correction is a new step.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    /// SQL for both databases, in which `{identity}` stands for the type of a key that counts itself up. What follows a line
    /// `-- only SQLite` or `-- only PostgreSQL` is for that one, until a line `-- both`.
    pub sql: &'static str,
}

macro_rules! migration {
    ($version:expr, $name:literal) => {
        Migration { version: $version, name: $name, sql: include_str!(concat!("../../migrations/", $name, ".sql")) }
    };
}

pub const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_repositories"),
    migration!(2, "0002_workspaces"),
    migration!(3, "0003_ports_and_events"),
    migration!(4, "0004_sizes"),
    migration!(5, "0005_jobs"),
    migration!(6, "0006_tokens"),
    migration!(7, "0007_schedules"),
    migration!(8, "0008_events_of_jobs"),
    migration!(9, "0009_requests"),
    migration!(10, "0010_platforms"),
    migration!(11, "0011_location"),
    migration!(12, "0012_origins"),
    migration!(unify::VERSION, "0013_clones"),
    migration!(14, "0014_actors"),
    migration!(15, "0015_children"),
    migration!(16, "0016_archives"),
];

impl Migration {
    fn checksum(&self) -> String {
        content_hash(self.sql.as_bytes())
    }

    /// The part of it that is for one database.
    fn sql_for(&self, dialect: Dialect) -> String {
        let mut is_meant = true;
        let mut sql = String::new();
        for line in self.sql.lines() {
            match line.strip_prefix("-- only ") {
                Some(only) => is_meant = only.starts_with(dialect.name()),
                None if line == "-- both" => is_meant = true,
                None => {}
            }
            if is_meant {
                sql.push_str(line);
                sql.push('\n');
            }
        }
        sql.replace("{identity}", dialect.identity())
    }

    /// The names of the tables that this step makes.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &'static str> {
        self.sql.lines().filter_map(|line| line.strip_prefix("CREATE TABLE ")?.split_whitespace().next())
    }
}

/// What a database is found to be.
#[derive(Debug, Clone)]
pub(crate) struct FoundDatabase {
    /// The server's version, as it tells it.
    pub(crate) server: String,
    /// The newest applied migration; 0 when the database is empty.
    pub(crate) schema: i64,
    /// How many tables there are, of ours or of others.
    pub(crate) tables: i64,
    pub(crate) write_ahead: bool,
    applied: Vec<(i64, String)>,
}

/// Why a database can't be used with a list of migrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    Newer { found: i64, known: i64 },
    Changed { version: i64 },
}

impl FoundDatabase {
    /// Looks at a database without changing it.
    pub(crate) async fn look(connection: &mut AnyConnection, dialect: Dialect) -> Result<Self, sqlx::Error> {
        let row = sqlx::query(dialect.probe()).fetch_one(&mut *connection).await?;
        let mut applied = Vec::new();
        if row.try_get::<i64, _>(1)? > 0 {
            let rows = sqlx::query("SELECT version, checksum FROM schema_migrations ORDER BY version")
                .fetch_all(connection)
                .await?;
            for row in rows {
                applied.push((row.try_get(0)?, row.try_get(1)?));
            }
        }
        Ok(Self {
            server: row.try_get(0)?,
            schema: applied.last().map_or(0, |(version, _)| *version),
            tables: row.try_get(2)?,
            write_ahead: row.try_get::<&str, _>(3)? == "wal",
            applied,
        })
    }

    /// Compares what was applied with what is known.
    pub(crate) fn compare(&self, known: &[Migration]) -> Result<(), Mismatch> {
        let newest = known.last().map_or(0, |migration| migration.version);
        if self.schema > newest {
            return Err(Mismatch::Newer { found: self.schema, known: newest });
        }
        for (version, checksum) in &self.applied {
            let same = known.iter().any(|known| known.version == *version && known.checksum() == *checksum);
            if !same {
                return Err(Mismatch::Changed { version: *version });
            }
        }
        Ok(())
    }

    /// Whether nothing is missing.
    pub(crate) fn is_current(&self, known: &[Migration]) -> bool {
        self.write_ahead && known.last().is_none_or(|newest| self.schema == newest.version)
    }
}

/// Applies what is missing; the caller holds the lock and has begun a transaction.
pub(crate) async fn apply(
    connection: &mut AnyConnection,
    dialect: Dialect,
    found: &FoundDatabase,
    known: &[Migration],
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             version BIGINT NOT NULL PRIMARY KEY,
             name TEXT NOT NULL,
             checksum TEXT NOT NULL,
             applied_at BIGINT NOT NULL
         )",
    )
    .execute(&mut *connection)
    .await?;
    for migration in known.iter().filter(|migration| migration.version > found.schema) {
        sqlx::raw_sql(AssertSqlSafe(migration.sql_for(dialect))).execute(&mut *connection).await?;
        if migration.version == unify::VERSION {
            unify::unify(connection).await?;
        }
        sqlx::query("INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)")
            .bind(migration.version)
            .bind(migration.name)
            .bind(migration.checksum())
            .bind(Timestamp::now().as_millisecond())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_without_gaps_and_named_by_their_number() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.version, index as i64 + 1);
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)));
            assert!(migration.tables().count() > 0 || migration.sql.contains("ALTER TABLE "));
        }
    }
}
