//! Which workspace a piece of work has. Several works can share one; a workspace in the trash has none.

use spinney_core::{RepositoryId, Work, Workspace, WorkspaceId};

use crate::database::row::Reader;
use crate::workspaces::workspace::{workspace, workspaces_sql};
use crate::{Connection, Error};

impl Connection {
    /// Gives a piece of work its workspace; `false` when it has one.
    pub async fn insert_work(
        &mut self,
        repository: &RepositoryId,
        work: &Work,
        workspace: &WorkspaceId,
    ) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO works (repository_id, kind, key, workspace_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )
        .bind(repository.as_str())
        .bind(work.kind.as_str())
        .bind(&work.key)
        .bind(workspace.as_str());
        Ok(self.execute(query).await? > 0)
    }

    /// Loads the workspace of a piece of work.
    pub async fn workspace_of_work(
        &mut self,
        repository: &RepositoryId,
        work: &Work,
    ) -> Result<Option<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!(
            "JOIN works ON works.workspace_id = w.id
             WHERE works.repository_id = $1 AND works.kind = $2 AND works.key = $3"
        ))
        .bind(repository.as_str())
        .bind(work.kind.as_str())
        .bind(&work.key);
        self.fetch_optional(query).await?.as_ref().map(workspace).transpose()
    }

    /// Loads every work that a workspace is for.
    pub async fn works_of(&mut self, workspace: &WorkspaceId) -> Result<Vec<Work>, Error> {
        let query = sqlx::query("SELECT workspace_id, kind, key FROM works WHERE workspace_id = $1 ORDER BY kind, key");
        let rows = self.fetch_all(query.bind(workspace.as_str())).await?;
        let work = |row| {
            let mut row = Reader::new("works", row);
            row.text()?;
            Ok(Work { kind: row.parsed()?, key: row.text()? })
        };
        rows.iter().map(work).collect()
    }

    /// Frees every work of a workspace.
    pub async fn delete_works(&mut self, workspace: &WorkspaceId) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM works WHERE workspace_id = $1").bind(workspace.as_str());
        self.execute(query).await.map(drop)
    }

    /// Frees one piece of work; `false` when it had no workspace.
    pub async fn delete_work(&mut self, repository: &RepositoryId, work: &Work) -> Result<bool, Error> {
        let query = sqlx::query("DELETE FROM works WHERE repository_id = $1 AND kind = $2 AND key = $3")
            .bind(repository.as_str())
            .bind(work.kind.as_str())
            .bind(&work.key);
        Ok(self.execute(query).await? > 0)
    }
}
