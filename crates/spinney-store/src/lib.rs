//! State: accounts and their tokens, repositories, workspaces, the works and conversations that point at them, jobs and
//! their sessions, the journal, ports and events. And who may act on them ([`Ownership`]).
//!
//! One schema and one set of queries serve SQLite (the default, in the home) and PostgreSQL (shared by several nodes).
//! Invariants:
//!
//! - A query is written once, in its entity's file, as a method of [`Connection`]. What SQLite and PostgreSQL do
//!   differently is a method of [`dialect::Dialect`].
//! - Columns are `TEXT` and `BIGINT` only: booleans are 0 and 1, times are milliseconds, JSON is text.
//! - A change of several rows happens in [`Store::write`]; what is not committed is rolled back.
//! - The database is upgraded before anything else looks at it, after a backup, and never downgraded.
//! - A value that can't be understood is an error that names its place, never a guess.

mod account;
mod archon;
mod backup;
mod claim;
mod connection;
mod conversation;
mod cursor;
mod delivery;
mod dialect;
mod error;
mod event;
mod idempotency;
mod job;
mod long_operation;
#[doc(hidden)]
pub mod migrate;
mod network;
mod node;
mod operation;
mod origin;
mod ownership;
mod page;
mod place;
mod port;
mod repository;
mod row;
mod schedule;
mod session;
mod sqlite;
mod store;
mod token;
mod trust;
mod unify;
mod url;
mod work;
mod workspace;

pub use archon::{Archon, ArchonConversation, ArchonEnvironment};
pub use connection::Connection;
pub use cursor::Cursor;
pub use error::Error;
pub use event::{EventFilter, Subject};
pub use idempotency::{IdempotencyKey, RecordedAnswer};
pub use job::{JobFilter, JobSearch, JobTally};
pub use network::is_network_file_system;
pub use node::Node;
pub use ownership::{Fence, Ownable, Owned, Ownership, OwnershipError};
pub use page::{Page, Seen};
pub use port::Port;
pub use session::SessionSearch;
pub use store::{Store, StoreInfo};
pub use url::StoreUrl;
pub use workspace::{WorkspaceFilter, WorkspaceSearch, WorkspaceTally};
