//! The machines that work on a store.

use spinney_core::{NodeId, Timestamp};
use sqlx::{AssertSqlSafe, Row};

use crate::database::row::Reader;
use crate::{Connection, Error};

/// A machine that works, or worked, on the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: NodeId,
    pub name: String,
    /// How often a daemon was started there.
    pub epoch: u64,
    /// What work may ask of a node.
    pub labels: Vec<String>,
    /// The last contact, by the database's clock; none before there was a daemon.
    pub seen_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

impl Connection {
    /// Loads all nodes, oldest first.
    pub async fn nodes(&mut self) -> Result<Vec<Node>, Error> {
        let query = "SELECT id, name, epoch, labels, seen_at, created_at FROM nodes ORDER BY created_at, id";
        let rows = self.fetch_all(sqlx::query(query)).await?;
        let node = |row| {
            let mut row = Reader::new("nodes", row);
            Ok(Node {
                id: row.parsed()?,
                name: row.text()?,
                epoch: row.unsigned()?,
                labels: row.json()?,
                seen_at: row.optional_time()?,
                created_at: row.time()?,
            })
        };
        rows.iter().map(node).collect()
    }

    /// Makes a node known, under its present name; writes only when something is new.
    pub async fn ensure_node(&mut self, id: &NodeId, name: &str) -> Result<(), Error> {
        let known = sqlx::query("SELECT name FROM nodes WHERE id = $1").bind(id.as_str());
        let known = self.fetch_optional(known).await?;
        if known.is_some_and(|row| row.try_get::<&str, _>(0).is_ok_and(|known| known == name)) {
            return Ok(());
        }
        let query = sqlx::query(
            "INSERT INTO nodes (id, name, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (id) DO UPDATE SET name = excluded.name",
        );
        self.execute(query.bind(id.as_str()).bind(name).bind(Timestamp::now().as_millisecond())).await.map(drop)
    }

    /// Notes that a daemon starts on a node.
    pub async fn start_node(&mut self, id: &NodeId, name: &str) -> Result<(), Error> {
        self.ensure_node(id, name).await?;
        let sql = format!("UPDATE nodes SET epoch = epoch + 1, seen_at = {} WHERE id = $1", self.dialect().now_ms());
        self.execute(sqlx::query(AssertSqlSafe(sql)).bind(id.as_str())).await.map(drop)
    }

    /// Notes that a node is there.
    pub async fn touch_node(&mut self, id: &NodeId) -> Result<(), Error> {
        let sql = format!("UPDATE nodes SET seen_at = {} WHERE id = $1", self.dialect().now_ms());
        self.execute(sqlx::query(AssertSqlSafe(sql)).bind(id.as_str())).await.map(drop)
    }
}
