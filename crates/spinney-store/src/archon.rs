//! Reads the database of Archon, another tool: its isolated environments, and the conversations that are about them.
//!
//! Nothing is ever written to it. Its tables changed over time, and a column that is missing counts as empty: the oldest
//! databases have no environments at all, only paths on their conversations.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Row, SqliteConnection};
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
    pub async fn load(path: &Path) -> Result<Self, Error> {
        let url = StoreUrl::Sqlite(path.to_owned());
        match timeout(READ_TIMEOUT, read(path)).await {
            Ok(Ok(Some(archon))) => Ok(archon),
            Ok(Ok(None)) => Err(Error::NotArchon { path: path.to_owned() }),
            Ok(Err(error)) => Err(Error::classified(&url, error)),
            Err(elapsed) => Err(Error::Busy { place: url.shown(), source: Some(elapsed.into()) }),
        }
    }
}

async fn read(path: &Path) -> Result<Option<Archon>, sqlx::Error> {
    // What is in somebody else's schema may call no function that does anything.
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let options = options.pragma("query_only", "ON").pragma("trusted_schema", "OFF").disable_statement_logging();
    let mut connection = options.connect().await?;
    let mut archon = Archon::default();
    let environments = Table::load(&mut connection, ENVIRONMENTS).await?;
    let conversations = Table::load(&mut connection, CONVERSATIONS).await?;
    if environments.is_none() && conversations.is_none() {
        return Ok(None);
    }
    if let Some(table) = environments {
        let names = "id workflow_type workflow_id provider working_path status created_by_platform metadata";
        let order = table.order("status <> 'active', created_at DESC, rowid", &["status", "created_at"]);
        for values in table.rows(&mut connection, names, "1", order, &mut archon.broken).await? {
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
        let kept = if table.has("deleted_at") { "deleted_at IS NULL" } else { "1" };
        for values in table.rows(&mut connection, names, kept, "rowid", &mut archon.broken).await? {
            let [platform, id, environment, worktree, legacy, directory, title] = values;
            let (Some(platform), Some(id)) = (platform, id) else { continue };
            let worktree = worktree.or(legacy);
            archon.conversations.push(ArchonConversation { platform, id, environment, worktree, directory, title });
        }
    }
    connection.close().await?;
    Ok(Some(archon))
}

/// A table, and the columns that it has in this database.
struct Table {
    name: &'static str,
    columns: Vec<String>,
}

impl Table {
    async fn load(connection: &mut SqliteConnection, name: &'static str) -> Result<Option<Self>, sqlx::Error> {
        let rows = sqlx::query("SELECT name FROM pragma_table_info($1)").bind(name).fetch_all(connection).await?;
        let columns = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
        Ok((!columns.is_empty()).then_some(Self { name, columns }))
    }

    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known == column)
    }

    /// An order, where the table has what it needs.
    fn order(&self, order: &'static str, needed: &[&str]) -> &'static str {
        if needed.iter().all(|column| self.has(column)) { order } else { "rowid" }
    }

    /// Some columns of every row as text; a column that is missing or empty gives nothing.
    async fn rows<const N: usize>(
        &self,
        connection: &mut SqliteConnection,
        names: &str,
        condition: &'static str,
        order: &'static str,
        broken: &mut Vec<String>,
    ) -> Result<Vec<[Option<String>; N]>, sqlx::Error> {
        let column = |name| match self.has(name) {
            true => format!("substr(CAST({name} AS TEXT), 1, {MOST_CHARACTERS})"),
            false => "NULL".to_owned(),
        };
        let columns = names.split(' ').map(column).collect::<Vec<_>>().join(", ");
        let table = self.name;
        let sql = format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY {order} LIMIT {}", MOST_ROWS + 1);
        let mut rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await?;
        if rows.len() > MOST_ROWS {
            broken.push(format!("`{table}` has more than {MOST_ROWS} rows; the rest is not read"));
            rows.truncate(MOST_ROWS);
        }
        let mut read = Vec::with_capacity(rows.len());
        for (number, row) in (1..).zip(&rows) {
            match texts(row) {
                Ok(texts) => read.push(texts),
                Err(_) => broken.push(format!("row {number} of `{table}` holds what is no text")),
            }
        }
        Ok(read)
    }
}

fn texts<const N: usize>(row: &SqliteRow) -> Result<[Option<String>; N], sqlx::Error> {
    let mut texts = [const { None }; N];
    for (index, text) in texts.iter_mut().enumerate() {
        *text = row.try_get::<Option<String>, _>(index)?.filter(|text| !text.is_empty());
    }
    Ok(texts)
}
