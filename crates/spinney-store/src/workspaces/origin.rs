//! Whose the files of a workspace are.

use spinney_core::{Began, Brought, RepositoryId, WorkspaceId};

use crate::database::row::Reader;
use crate::{Connection, Error};

impl Connection {
    /// Loads what Spinney put into a workspace; none where it wrote nothing down.
    pub async fn brought(&mut self, workspace: &WorkspaceId) -> Result<Option<Brought>, Error> {
        let query = sqlx::query("SELECT workspace_id, record FROM brought WHERE workspace_id = $1");
        let row = self.fetch_optional(query.bind(workspace.as_str())).await?;
        row.map(|row| record("brought", &row)).transpose()
    }

    /// Loads what Spinney put into each workspace of a repository, the removed ones among them.
    pub async fn brought_in_all(&mut self, repository: &RepositoryId) -> Result<Vec<Brought>, Error> {
        let query = sqlx::query(
            "SELECT b.workspace_id, b.record FROM brought b JOIN workspaces w ON w.id = b.workspace_id
             WHERE w.repository_id = $1",
        );
        let rows = self.fetch_all(query.bind(repository.as_str())).await?;
        rows.iter().map(|row| record("brought", row)).collect()
    }

    /// Notes what Spinney put into a workspace.
    pub async fn put_brought(&mut self, workspace: &WorkspaceId, brought: &Brought) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO brought (workspace_id, record) VALUES ($1, $2)
             ON CONFLICT (workspace_id) DO UPDATE SET record = excluded.record",
        );
        let query = query.bind(workspace.as_str()).bind(serde_json::json!(brought).to_string());
        self.execute(query).await.map(drop)
    }

    /// Loads what was in a workspace when its last job began.
    pub async fn began(&mut self, workspace: &WorkspaceId) -> Result<Option<Began>, Error> {
        let query = sqlx::query("SELECT workspace_id, record FROM beginnings WHERE workspace_id = $1");
        let row = self.fetch_optional(query.bind(workspace.as_str())).await?;
        row.map(|row| record("beginnings", &row)).transpose()
    }

    /// Notes what is in a workspace when a job begins, or what it left.
    pub async fn put_began(&mut self, workspace: &WorkspaceId, began: &Began) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO beginnings (workspace_id, record) VALUES ($1, $2)
             ON CONFLICT (workspace_id) DO UPDATE SET record = excluded.record",
        );
        let query = query.bind(workspace.as_str()).bind(serde_json::json!(began).to_string());
        self.execute(query).await.map(drop)
    }
}

fn record<T: serde::de::DeserializeOwned>(table: &'static str, row: &sqlx::any::AnyRow) -> Result<T, Error> {
    let mut row = Reader::new(table, row);
    row.text()?;
    row.json()
}
