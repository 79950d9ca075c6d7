//! Which workspace a conversation on a platform talks about.

use spinney_core::{Platform, RepositoryName, Timestamp, Workspace, WorkspaceId};

use crate::database::row::Reader;
use crate::workspaces::workspace::{workspace, workspaces_sql};
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
            "INSERT INTO conversations (account, platform, id, workspace_id, last_activity_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (account, platform, id)
             DO UPDATE SET workspace_id = excluded.workspace_id, last_activity_at = excluded.last_activity_at",
        );
        let now = Timestamp::now().as_millisecond();
        let query = query.bind(account).bind(platform.as_str()).bind(id).bind(workspace.as_str()).bind(now);
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

    /// Lets go of every conversation of a workspace; what else is known of them stays.
    pub async fn unbind_conversations(&mut self, workspace: &WorkspaceId) -> Result<(), Error> {
        let query = sqlx::query("UPDATE conversations SET workspace_id = NULL WHERE workspace_id = $1");
        self.execute(query.bind(workspace.as_str())).await.map(drop)
    }

    /// Lets go of one conversation; `false` when it pointed nowhere.
    pub async fn unbind_conversation(&mut self, account: &str, platform: Platform, id: &str) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE conversations SET workspace_id = NULL
             WHERE account = $1 AND platform = $2 AND id = $3 AND workspace_id IS NOT NULL",
        );
        Ok(self.execute(query.bind(account).bind(platform.as_str()).bind(id)).await? > 0)
    }

    /// Forgets conversations in which nobody spoke since a time, and of which nothing is known: neither a workspace nor a
    /// repository that people named. Tells how many.
    pub async fn delete_conversations_before(&mut self, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query(
            "DELETE FROM conversations WHERE last_activity_at < $1 AND workspace_id IS NULL AND repository IS NULL",
        );
        self.execute(query.bind(before.as_millisecond())).await
    }

    /// Loads the repository that people named in a conversation.
    pub async fn repository_of_conversation(
        &mut self,
        account: &str,
        platform: Platform,
        id: &str,
    ) -> Result<Option<RepositoryName>, Error> {
        let query =
            sqlx::query("SELECT id, repository FROM conversations WHERE account = $1 AND platform = $2 AND id = $3");
        let row = self.fetch_optional(query.bind(account).bind(platform.as_str()).bind(id)).await?;
        let Some(row) = row else { return Ok(None) };
        let mut row = Reader::new("conversations", &row);
        row.text()?;
        row.optional_parsed()
    }

    /// Writes down which repository a conversation is about; it lets go of a workspace of another.
    pub async fn set_repository_of_conversation(
        &mut self,
        account: &str,
        platform: Platform,
        id: &str,
        repository: &RepositoryName,
    ) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO conversations (account, platform, id, repository, last_activity_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (account, platform, id)
             DO UPDATE SET repository = excluded.repository, last_activity_at = excluded.last_activity_at, workspace_id = NULL",
        );
        let now = Timestamp::now().as_millisecond();
        let query = query.bind(account).bind(platform.as_str()).bind(id).bind(repository.to_string()).bind(now);
        self.execute(query).await.map(drop)
    }

    /// Notes that people talk there: their workspace is not left alone.
    pub async fn touch_conversation(&mut self, account: &str, platform: Platform, id: &str) -> Result<(), Error> {
        let now = Timestamp::now();
        let query = sqlx::query(
            "INSERT INTO conversations (account, platform, id, last_activity_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (account, platform, id) DO UPDATE SET last_activity_at = excluded.last_activity_at",
        );
        let query = query.bind(account).bind(platform.as_str()).bind(id).bind(now.as_millisecond());
        self.execute(query).await?;
        if let Some(workspace) = self.workspace_of_conversation(account, platform, id).await? {
            self.touch_workspace(&workspace.id, now).await?;
        }
        Ok(())
    }
}
