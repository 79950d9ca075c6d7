//! State: accounts and their tokens, repositories, workspaces, the works and conversations that point at them, jobs and
//! their sessions, the journal, ports and events. And who may act on them ([`Ownership`]).
//!
//! One schema and one set of queries serve SQLite (the default, in the home) and PostgreSQL (shared by several nodes).
//! Invariants:
//!
//! - A query is written once, in its entity's file, as a method of [`Connection`]. What SQLite and PostgreSQL do
//!   differently is a method of [`database::dialect::Dialect`].
//! - Columns are `TEXT` and `BIGINT` only: booleans are 0 and 1, times are milliseconds, JSON is text.
//! - A change of several rows happens in [`Store::write`]; what is not committed is rolled back.
//! - The database is upgraded before anything else looks at it, after a backup, and never downgraded.
//! - A value that can't be understood is an error that names its place, never a guess.
//!
//! ```
//! use spinney_core::{Account, Timestamp};
//! use spinney_store::{Store, StoreUrl};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("spinney.db");
//! let store = Store::open(&StoreUrl::Sqlite(path)).await?;
//! let mut db = store.write().await?;
//! db.insert_account(&Account { name: "acme".parse()?, created_at: Timestamp::now() }).await?;
//! db.commit().await?;
//!
//! let accounts = store.read().await?.accounts().await?;
//! assert!(accounts.iter().any(|account| account.name.as_str() == "acme"));
//! # Ok(())
//! # }
//! ```

mod accounts;
mod archon;
mod database;
mod error;
mod events;
mod jobs;
mod node;
mod ownership;
mod repository;
mod requests;
mod workspaces;

pub use archon::{Archon, ArchonConversation, ArchonEnvironment};
pub use database::connection::Connection;
pub use database::migrate;
pub use database::network::is_network_file_system;
pub use database::page::{Page, Seen};
pub use database::store::{Store, StoreInfo};
pub use database::url::StoreUrl;
pub use error::Error;
pub use events::cursor::Cursor;
pub use events::event::{EventFilter, Subject};
pub use jobs::job::{JobFilter, JobSearch, JobTally};
pub use jobs::session::SessionSearch;
pub use node::Node;
pub use ownership::{Fence, Ownable, Owned, Ownership, OwnershipError};
pub use requests::idempotency::{IdempotencyKey, RecordedAnswer};
pub use workspaces::port::Port;
pub use workspaces::workspace::{WorkspaceFilter, WorkspaceSearch, WorkspaceTally};
