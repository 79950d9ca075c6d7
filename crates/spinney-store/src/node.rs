//! The machines that work on a store.

use spinney_core::{NodeId, Timestamp};
use sqlx::Row;

use crate::{Connection, Error};

impl Connection {
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
}
