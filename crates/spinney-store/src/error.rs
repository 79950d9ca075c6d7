//! What can go wrong with the state, classified once, where the database's own error comes in.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spinney_core::Advice;

use crate::StoreUrl;

type Source = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{url}` is not the place of a store: it is neither `postgres://…` nor `sqlite:PATH`")]
    InvalidUrl { url: String },
    #[error("PostgreSQL at `{url}` can't be reached")]
    Unreachable {
        url: String,
        /// How long it was waited for in vain.
        waited: Duration,
        source: Source,
    },
    /// A wrong password, an unknown user or database, a right that is missing.
    #[error("PostgreSQL at `{url}` denies access")]
    Refused { url: String, source: Source },
    #[error("the store `{place}` is busy: another process has held its lock for too long")]
    Busy { place: String, source: Option<Source> },
    #[error("no space left for the store `{place}`")]
    Full { place: String, source: Source },
    #[error("the store `{place}` can only be read")]
    ReadOnly { place: String, source: Source },
    #[error("permission to use `{path}` is denied", path = .path.display())]
    Permission { path: PathBuf, source: Source },
    #[error("`{path}` is damaged, or not a database", path = .path.display())]
    Corrupt { path: PathBuf, source: Option<Source> },
    #[error("`{path}` was moved away or deleted, and what belongs to it is still here: {}", list(.files), path = .path.display())]
    LeftOver { path: PathBuf, files: Vec<PathBuf> },
    #[error("`{path}` is the database of another program", path = .path.display())]
    Foreign { path: PathBuf },
    /// Where other schemas have its tables, these are named.
    #[error("`{place}` is no database of Archon: it has none of its tables{}", elsewhere(.schemas))]
    NotArchon { place: String, schemas: Vec<String> },
    #[error("`{path}` can't be used", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the store has schema {found}, this Spinney knows {known}: update Spinney to use it")]
    Newer { found: i64, known: i64 },
    #[error("migration {version} of the store is not the one that this Spinney knows")]
    ChangedMigration { version: i64 },
    #[error("SQLite {found} can corrupt a database: Spinney needs {required} or later")]
    TooOldSqlite { found: String, required: &'static str },
    #[error("the path `{path}` is not valid UTF-8", path = .path.display())]
    NotUtf8 { path: PathBuf },
    #[error("column `{column}` of `{table}` has a value that can't be understood in row `{id}`")]
    Value { table: &'static str, column: String, id: String, source: Source },
    /// A unique constraint was hit by a change that may not pass over it.
    #[error("another row already has this value")]
    Conflict { source: Source },
    /// A foreign key was hit: the row is still referenced, or what it references is missing.
    #[error("the row is still referenced, or refers to one that is missing")]
    Referenced { source: Source },
    #[error("operation `{id}` is not open")]
    NotOpen { id: String },
    /// A change of several rows was asked of a connection that is no transaction: a mistake in the calling code.
    #[error("this change needs a transaction")]
    NoTransaction,
    #[error("a change of this transaction failed, so none of them is kept")]
    FailedTransaction,
    #[error("the store `{place}` failed")]
    Query { place: String, source: Source },
}

impl Error {
    /// What helps, where something does.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        Some(match self {
            Self::InvalidUrl { .. } | Self::Unreachable { .. } | Self::Refused { .. } => Advice::CheckStoreUrl,
            Self::Busy { .. } => Advice::WaitForStore,
            Self::Full { .. } => Advice::FreeSpace,
            Self::ReadOnly { .. } => Advice::ChooseHomeOrMount,
            Self::Permission { .. } | Self::Io { .. } => Advice::ChoosePlaceOfHome,
            Self::Corrupt { .. } => Advice::PutBackupInPlace,
            Self::LeftOver { path, files } => {
                Advice::PutStoreTogether { store: name(path), files: files.iter().map(|file| name(file)).collect() }
            }
            Self::Foreign { .. } => Advice::ChooseHomeOrMoveAway,
            Self::Newer { .. } | Self::ChangedMigration { .. } => Advice::SeeVersion,
            _ => return None,
        })
    }

    /// Classifies what the database said.
    pub(crate) fn classified(url: &StoreUrl, error: sqlx::Error) -> Self {
        match url {
            StoreUrl::Sqlite(path) => sqlite(path, error),
            StoreUrl::Postgres(_) => postgres(url.shown(), error),
        }
    }

    /// Classifies a failure of the file system.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Permission { path, source: source.into() },
            io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { place: path.display().to_string(), source: source.into() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { place: path.display().to_string(), source: source.into() }
            }
            _ => Self::Io { path, source },
        }
    }

    pub(crate) fn unreachable(url: String, source: impl Into<Source>) -> Self {
        Self::Unreachable { url, waited: Duration::ZERO, source: source.into() }
    }

    /// Whether the server went away under a statement that was sent, and was not waited for yet: done again, all of it may
    /// succeed, or turn out to be done.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::Unreachable { waited, .. } if waited.is_zero())
    }

    /// Whether trying again later may help.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Where the tables are that are not found by their names alone.
fn elsewhere(schemas: &[String]) -> String {
    match schemas.first() {
        Some(schema) => {
            format!(
                " in the schemas that are searched, but there is one in `{schema}` (`?options[search_path]={schema}`)"
            )
        }
        None => String::new(),
    }
}

fn list(files: &[PathBuf]) -> String {
    files.iter().map(|file| format!("`{}`", file.display())).collect::<Vec<_>>().join(", ")
}

/// The primary result codes of SQLite that have a meaning of their own here.
mod code {
    pub const PERM: u32 = 3;
    pub const BUSY: u32 = 5;
    pub const LOCKED: u32 = 6;
    pub const READONLY: u32 = 8;
    pub const CORRUPT: u32 = 11;
    pub const FULL: u32 = 13;
    pub const CANTOPEN: u32 = 14;
    pub const AUTH: u32 = 23;
    pub const NOTADB: u32 = 26;
}

fn sqlite(path: &Path, error: sqlx::Error) -> Error {
    let place = path.display().to_string();
    let path = path.to_owned();
    let Some(database) = error.as_database_error() else {
        return Error::Query { place, source: error.into() };
    };
    // An extended code has its primary code in the low byte.
    let primary = database.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    match primary {
        _ if database.is_unique_violation() => Error::Conflict { source: error.into() },
        _ if database.is_foreign_key_violation() => Error::Referenced { source: error.into() },
        Some(code::BUSY | code::LOCKED) => Error::Busy { place, source: Some(error.into()) },
        Some(code::READONLY) => Error::ReadOnly { place, source: error.into() },
        Some(code::CORRUPT | code::NOTADB) => Error::Corrupt { path, source: Some(error.into()) },
        Some(code::FULL) => Error::Full { place, source: error.into() },
        Some(code::CANTOPEN) if !path.exists() => Error::Io { path, source: io::ErrorKind::NotFound.into() },
        // Its companions can't be made there, whoever asks.
        Some(code::CANTOPEN) if is_mounted_read_only(&path) => Error::ReadOnly { place, source: error.into() },
        // The file is there, so what is missing is the right to open it or its companions.
        Some(code::PERM | code::CANTOPEN | code::AUTH) => Error::Permission { path, source: error.into() },
        _ => Error::Query { place, source: error.into() },
    }
}

fn is_mounted_read_only(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|mounted| mounted.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

fn postgres(url: String, error: sqlx::Error) -> Error {
    if matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)) {
        return Error::unreachable(url, error);
    }
    let Some(database) = error.as_database_error() else {
        return Error::Query { place: url, source: error.into() };
    };
    let code = database.code().unwrap_or_default().into_owned();
    match (&code[..code.len().min(2)], code.as_str()) {
        _ if database.is_unique_violation() => Error::Conflict { source: error.into() },
        _ if database.is_foreign_key_violation() => Error::Referenced { source: error.into() },
        // Connection lost; shutting down; starting up; too many connections.
        ("08", _) | (_, "57P01" | "57P02" | "57P03" | "53300") => Error::unreachable(url, error),
        ("28", _) | (_, "3D000" | "42501") => Error::Refused { url, source: error.into() },
        (_, "53100") => Error::Full { place: url, source: error.into() },
        // Lock timeout, deadlock, serialization.
        (_, "55P03" | "40P01" | "40001") => Error::Busy { place: url, source: Some(error.into()) },
        (_, "25006") => Error::ReadOnly { place: url, source: error.into() },
        _ => Error::Query { place: url, source: error.into() },
    }
}
