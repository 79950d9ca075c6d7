//! Reads the database of Archon, another tool: its isolated environments, and the conversations that are about them. Archon
//! keeps it in a file of SQLite, or on a server of PostgreSQL.
//!
//! Nothing is ever written to it. Its tables changed over time, and a column that is missing counts as empty: the oldest
//! databases have no environments at all, only paths on their conversations.

mod database;

use std::time::Duration;

use database::Database;
use tokio::time::timeout;

use crate::{Error, StoreUrl};

const ENVIRONMENTS: &str = "remote_agent_isolation_environments";
const CONVERSATIONS: &str = "remote_agent_conversations";
/// More than anybody has; a table can be a view that never ends.
const MOST_ROWS: usize = 100_000;
/// Longer than any path, name or list of numbers.
const MOST_CHARACTERS: usize = 16 << 10;
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// What a database of Archon tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archon {
    /// Those in use first, each half newest first.
    pub environments: Vec<ArchonEnvironment>,
    pub conversations: Vec<ArchonConversation>,
    /// The rows that can't be understood.
    pub broken: Vec<String>,
}

/// A place that Archon made for a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchonEnvironment {
    pub id: String,
    /// `issue`, `pr`, `review`, `thread` or `task`.
    pub workflow_type: String,
    pub workflow_id: String,
    pub provider: String,
    pub path: String,
    /// Whether Archon thinks that it is still there.
    pub active: bool,
    pub platform: Option<String>,
    /// JSON.
    pub metadata: Option<String>,
}

/// A place where people talked with Archon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchonConversation {
    pub platform: String,
    pub id: String,
    /// The environment's id; in old rows its path.
    pub environment: Option<String>,
    /// The path of its worktree, in old rows.
    pub worktree: Option<String>,
    /// Where its agent ran last: a worktree, or the main checkout.
    pub directory: Option<String>,
    pub title: Option<String>,
}

impl Archon {
    /// Reads a database, which must be one of Archon's.
    pub async fn load(url: &StoreUrl) -> Result<Self, Error> {
        let elapsed = |elapsed| match url {
            StoreUrl::Sqlite(_) => Error::Busy { place: url.shown(), source: Some(Box::new(elapsed)) },
            StoreUrl::Postgres(_) => Error::unreachable(url.shown(), elapsed),
        };
        timeout(READ_TIMEOUT, read(url)).await.map_err(elapsed)?
    }
}

async fn read(url: &StoreUrl) -> Result<Archon, Error> {
    let mut database = Database::connect(url, READ_TIMEOUT).await?;
    let found = read_tables(&mut database).await.map_err(|error| Error::classified(url, error))?;
    let schemas = match &found {
        Some(_) => Vec::new(),
        None => database.schemas_with(CONVERSATIONS).await.map_err(|error| Error::classified(url, error))?,
    };
    database.close().await.map_err(|error| Error::classified(url, error))?;
    found.ok_or_else(|| Error::NotArchon { place: url.shown(), schemas })
}

async fn read_tables(database: &mut Database) -> Result<Option<Archon>, sqlx::Error> {
    let mut archon = Archon::default();
    let environments = Table::load(database, ENVIRONMENTS).await?;
    let conversations = Table::load(database, CONVERSATIONS).await?;
    if environments.is_none() && conversations.is_none() {
        return Ok(None);
    }
    if let Some(table) = environments {
        let names = "id workflow_type workflow_id provider working_path status created_by_platform metadata";
        let order = table.order("COALESCE(status, 'active') <> 'active', created_at DESC", &["status", "created_at"]);
        for values in table.rows(database, names, "true", order, &mut archon.broken).await? {
            let [id, workflow_type, workflow_id, provider, path, status, platform, metadata] = values;
            let Some(path) = path else { continue };
            archon.environments.push(ArchonEnvironment {
                id: id.unwrap_or_default(),
                workflow_type: workflow_type.unwrap_or_default(),
                workflow_id: workflow_id.unwrap_or_default(),
                provider: provider.unwrap_or_else(|| "worktree".to_owned()),
                path,
                active: status.is_none_or(|status| status == "active"),
                platform,
                metadata,
            });
        }
    }
    if let Some(table) = conversations {
        let names =
            "platform_type platform_conversation_id isolation_env_id worktree_path isolation_env_id_legacy cwd title";
        let kept = if table.has("deleted_at") { "deleted_at IS NULL" } else { "true" };
        for values in table.rows(database, names, kept, None, &mut archon.broken).await? {
            let [platform, id, environment, worktree, legacy, directory, title] = values;
            let (Some(platform), Some(id)) = (platform, id) else { continue };
            let worktree = worktree.or(legacy);
            archon.conversations.push(ArchonConversation { platform, id, environment, worktree, directory, title });
        }
    }
    Ok(Some(archon))
}

/// A table, and the columns that it has in this database.
struct Table {
    name: &'static str,
    columns: Vec<String>,
}

impl Table {
    async fn load(database: &mut Database, name: &'static str) -> Result<Option<Self>, sqlx::Error> {
        let columns = database.columns(name).await?;
        Ok((!columns.is_empty()).then_some(Self { name, columns }))
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known == column)
    }

    /// An order, where the table has what it needs.
    fn order(&self, order: &'static str, needed: &[&str]) -> Option<&'static str> {
        needed.iter().all(|column| self.has(column)).then_some(order)
    }

    /// Some columns of every row as text; a column that is missing or empty gives nothing.
    async fn rows<const N: usize>(
        &self,
        database: &mut Database,
        names: &str,
        condition: &'static str,
        order: Option<&'static str>,
        broken: &mut Vec<String>,
    ) -> Result<Vec<[Option<String>; N]>, sqlx::Error> {
        let column = |name| match self.has(name) {
            true => format!("substr(CAST({name} AS TEXT), 1, {MOST_CHARACTERS})"),
            false => "CAST(NULL AS TEXT)".to_owned(),
        };
        let columns = names.split(' ').map(column).collect::<Vec<_>>().join(", ");
        let table = self.name;
        let order = [order.as_slice(), &[database.any_order()]].concat().join(", ");
        let sql = format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order} LIMIT {}", MOST_ROWS + 1);
        let mut rows = database.rows(sql).await?;
        if rows.len() > MOST_ROWS {
            broken.push(format!("`{table}` has more than {MOST_ROWS} rows; the rest is not read"));
            rows.truncate(MOST_ROWS);
        }
        let mut read = Vec::with_capacity(rows.len());
        for (number, row) in (1..).zip(rows) {
            match row {
                Some(texts) => read.push(texts),
                None => broken.push(format!("row {number} of `{table}` holds what is no text")),
            }
        }
        Ok(read)
    }
}
