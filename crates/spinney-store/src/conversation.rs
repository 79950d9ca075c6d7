//! Which workspace a conversation on a platform talks about.

use spinney_core::{Platform, Workspace, WorkspaceId};

use crate::row::Reader;
use crate::workspace::{workspace, workspaces_sql};
use crate::{Connection, Error};

impl Connection {
    /// Points a conversation at a workspace, away from any other.
    pub async fn bind_conversation(
        &mut self,
        account: &str,
        platform: Platform,
        id: &str,
        workspace: &WorkspaceId,
    ) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO conversations (account, platform, id, workspace_id) VALUES ($1, $2, $3, $4)
             ON CONFLICT (account, platform, id) DO UPDATE SET workspace_id = excluded.workspace_id",
        );
        let query = query.bind(account).bind(platform.as_str()).bind(id).bind(workspace.as_str());
        self.execute(query).await.map(drop)
    }

    /// Loads the workspace that a conversation points at.
    pub async fn workspace_of_conversation(
        &mut self,
        account: &str,
        platform: Platform,
        id: &str,
    ) -> Result<Option<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!(
            "JOIN conversations c ON c.workspace_id = w.id WHERE c.account = $1 AND c.platform = $2 AND c.id = $3"
        ));
        let query = query.bind(account).bind(platform.as_str()).bind(id);
        self.fetch_optional(query).await?.as_ref().map(workspace).transpose()
    }

    /// Loads the conversations that point at a workspace.
    pub async fn conversations_of(&mut self, workspace: &WorkspaceId) -> Result<Vec<(Platform, String)>, Error> {
        let query = sqlx::query(
            "SELECT workspace_id, platform, id FROM conversations WHERE workspace_id = $1 ORDER BY platform, id",
        );
        let rows = self.fetch_all(query.bind(workspace.as_str())).await?;
        let conversation = |row| {
            let mut row = Reader::new("conversations", row);
            row.text()?;
            Ok((row.parsed()?, row.text()?))
        };
        rows.iter().map(conversation).collect()
    }

    /// Lets go of every conversation of a workspace.
    pub async fn unbind_conversations(&mut self, workspace: &WorkspaceId) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM conversations WHERE workspace_id = $1").bind(workspace.as_str());
        self.execute(query).await.map(drop)
    }
}
