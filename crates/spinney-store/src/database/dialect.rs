//! Everything that SQLite and PostgreSQL do differently, one small function each.

use crate::StoreUrl;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    pub(crate) fn of(url: &StoreUrl) -> Self {
        match url {
            StoreUrl::Sqlite(_) => Self::Sqlite,
            StoreUrl::Postgres(_) => Self::Postgres,
        }
    }

    /// What every new connection is told first. Waits are bounded, and a node that dies without a word gives back its
    /// row locks.
    pub(crate) fn settings(self) -> &'static str {
        match self {
            Self::Sqlite => "PRAGMA busy_timeout = 30000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON",
            Self::Postgres => "SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'",
        }
    }

    /// Starts a transaction that writes. SQLite takes the write lock at once: a reader that turns writer later fails.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    /// Lets one transaction at a time number its events, until it ends. SQLite has its one writer anyway; PostgreSQL gives
    /// numbers out before a commit, and would show a later one first.
    pub(crate) fn lock_events(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some("SELECT CAST(pg_advisory_xact_lock(7364613982) AS TEXT)"),
        }
    }

    /// One row: the server's version, whether the table of migrations exists, how many tables there are, and the
    /// journal's mode (`wal` where there is no choice).
    pub(crate) fn probe(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "SELECT sqlite_version(),
                        (SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'),
                        (SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'),
                        (SELECT journal_mode FROM pragma_journal_mode)"
            }
            Self::Postgres => {
                "SELECT current_setting('server_version'),
                        (SELECT COUNT(*) FROM pg_catalog.pg_tables
                         WHERE schemaname = current_schema() AND tablename = 'schema_migrations'),
                        (SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema()),
                        'wal'"
            }
        }
    }

    /// The type of a key that the database counts up by itself and never uses twice.
    pub(crate) fn identity(self) -> &'static str {
        match self {
            Self::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
            Self::Postgres => "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        }
    }

    /// The database's time, in milliseconds since the epoch.
    pub(crate) fn now_ms(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// The product's name, as people know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}
