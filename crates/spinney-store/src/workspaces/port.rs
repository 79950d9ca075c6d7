//! Ports that workspaces hold on their node.

use spinney_core::{NodeId, WorkspaceId};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

/// A port and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    pub port: u16,
    /// What the workspace calls it.
    pub name: String,
    pub workspace_id: WorkspaceId,
}

fn port(row: &AnyRow) -> Result<Port, Error> {
    let mut row = Reader::new("ports", row);
    let workspace_id = row.parsed()?;
    Ok(Port { port: row.unsigned()?, name: row.text()?, workspace_id })
}

impl Connection {
    /// Loads every port that is held on a node.
    pub async fn ports(&mut self, node: &NodeId) -> Result<Vec<Port>, Error> {
        let query = sqlx::query("SELECT workspace_id, port, name FROM ports WHERE node = $1 ORDER BY port");
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(port).collect()
    }

    /// Gives a workspace a port of its node; `false` when somebody has it.
    pub async fn insert_port(
        &mut self,
        node: &NodeId,
        port: u16,
        workspace: &WorkspaceId,
        name: &str,
    ) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO ports (node, port, workspace_id, name) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        );
        let query = query.bind(node.as_str()).bind(i64::from(port)).bind(workspace.as_str()).bind(name);
        Ok(self.execute(query).await? > 0)
    }

    /// Loads a workspace's ports.
    pub async fn ports_of(&mut self, workspace: &WorkspaceId) -> Result<Vec<Port>, Error> {
        let query = sqlx::query("SELECT workspace_id, port, name FROM ports WHERE workspace_id = $1 ORDER BY port");
        self.fetch_all(query.bind(workspace.as_str())).await?.iter().map(port).collect()
    }

    /// Frees a workspace's ports.
    pub async fn delete_ports(&mut self, workspace: &WorkspaceId) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM ports WHERE workspace_id = $1").bind(workspace.as_str());
        self.execute(query).await.map(drop)
    }
}
