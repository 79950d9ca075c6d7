//! Workspaces.

use std::path::Path;

use spinney_core::{
    BranchName, CommitId, NodeId, RepositoryId, Size, Timestamp, Work, WorkKind, Workspace, WorkspaceId,
    WorkspaceStatus,
};
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};

use crate::database::page::{Page, anywhere};
use crate::database::row::Reader;
use crate::database::url::utf8;
use crate::{Connection, Error};

/// Shorter texts are no prefix of an id: too many would match.
pub(crate) const MIN_PREFIX_CHARS: usize = 3;

/// Starts a query for whole workspaces, each with its repository's name.
macro_rules! workspaces_sql {
    ($rest:literal) => {
        concat!(
            "SELECT w.id, w.account, w.node, w.repository_id, r.owner, r.name AS repository_name, w.kind, w.key, w.name,
                    w.title, w.provider, w.populate, w.path, w.branch, w.base_branch, w.base_commit, w.status, w.error,
                    w.pushed, w.pull_request, w.platform, w.pinned, w.adopted_from, w.metadata, w.created_at,
                    w.last_activity_at, w.removed_at, w.size_bytes, w.size_at
             FROM workspaces w JOIN repositories r ON r.id = w.repository_id ",
            $rest
        )
    };
}
pub(crate) use workspaces_sql;

/// Reads what [`workspaces_sql`] selects.
pub(crate) fn workspace(row: &AnyRow) -> Result<Workspace, Error> {
    let mut row = Reader::new("workspaces", row);
    Ok(Workspace {
        id: row.parsed()?,
        account: row.text()?,
        node: row.parsed()?,
        repository_id: row.parsed()?,
        repository: row.repository_name()?,
        work: Work { kind: row.parsed()?, key: row.text()? },
        name: spinney_core::WorkspaceName::new(row.text()?),
        title: row.optional_text()?,
        provider: row.parsed()?,
        populate: row.parsed()?,
        path: row.path()?,
        branch: row.parsed()?,
        base_branch: row.optional_parsed()?,
        base_commit: row.parsed()?,
        status: row.parsed()?,
        error: row.optional_text()?,
        pushed: row.boolean()?,
        pull_request: row.optional_text()?,
        platform: row.parsed()?,
        pinned: row.boolean()?,
        adopted_from: row.optional_text()?,
        metadata: row.json()?,
        created_at: row.time()?,
        last_activity_at: row.time()?,
        removed_at: row.optional_time()?,
        size: size(&mut row)?,
    })
}

/// Both columns of a size, or neither.
fn size(row: &mut Reader<'_>) -> Result<Option<Size>, Error> {
    let (bytes, at) = (row.optional_unsigned()?, row.optional_time()?);
    Ok(bytes.zip(at).map(|(bytes, at)| Size { bytes, at }))
}

/// Which workspaces are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFilter {
    pub account: String,
    /// On this node only.
    pub node: Option<NodeId>,
    /// Of this repository only.
    pub repository: Option<RepositoryId>,
    /// In one of these; none at all when it is empty.
    pub statuses: Vec<WorkspaceStatus>,
}

impl WorkspaceFilter {
    /// The condition, and the values of its parameters from `$1` on.
    fn condition(&self) -> (String, Vec<&str>) {
        let mut values = vec![self.account.as_str()];
        let mut condition = String::from("WHERE w.account = $1");
        if let Some(node) = &self.node {
            values.push(node.as_str());
            condition.push_str(&format!(" AND w.node = ${}", values.len()));
        }
        if let Some(repository) = &self.repository {
            values.push(repository.as_str());
            condition.push_str(&format!(" AND w.repository_id = ${}", values.len()));
        }
        condition.push_str(&format!(" AND w.status IN ({})", parameters(values.len() + 1, self.statuses.len())));
        values.extend(self.statuses.iter().map(|status| status.as_str()));
        (condition, values)
    }
}

/// Which workspaces somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSearch {
    pub filter: WorkspaceFilter,
    pub kind: Option<WorkKind>,
    /// In the name, the title or the branch.
    pub text: Option<String>,
}

/// How many workspaces of a repository have a status, and what is known of their sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceTally {
    pub repository: RepositoryId,
    pub status: WorkspaceStatus,
    pub count: u64,
    /// How many of them were measured.
    pub known: u64,
    /// The sum of what was measured.
    pub bytes: u64,
    /// How many of them have an archive, and what these take.
    pub archives: u64,
    pub archive_bytes: u64,
}

/// `$3, $4, $5` for a first of 3 and a count of 3; for a count of 0, what matches nothing.
pub(crate) fn parameters(first: usize, count: usize) -> String {
    if count == 0 {
        return "NULL".to_owned();
    }
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// Binds, after `$1`, every column that may change, in the order of the statements below.
fn bind_changeable<'q>(
    query: Query<'q, Any, AnyArguments>,
    workspace: &'q Workspace,
) -> Result<Query<'q, Any, AnyArguments>, Error> {
    Ok(query
        .bind(workspace.work.kind.as_str())
        .bind(&workspace.work.key)
        .bind(workspace.name.as_str())
        .bind(workspace.title.as_deref())
        .bind(workspace.provider.as_str())
        .bind(workspace.populate.as_str())
        .bind(utf8(&workspace.path)?)
        .bind(workspace.branch.as_str())
        .bind(workspace.base_branch.as_ref().map(BranchName::as_str))
        .bind(workspace.base_commit.as_str())
        .bind(workspace.status.as_str())
        .bind(workspace.error.as_deref())
        .bind(i64::from(workspace.pushed))
        .bind(workspace.pull_request.as_deref())
        .bind(workspace.platform.as_str())
        .bind(i64::from(workspace.pinned))
        .bind(workspace.adopted_from.as_deref())
        .bind(serde_json::json!(workspace.metadata).to_string())
        .bind(workspace.last_activity_at.as_millisecond())
        .bind(workspace.removed_at.map(Timestamp::as_millisecond))
        .bind(workspace.created_at.as_millisecond()))
}

/// How many parameters `$1` and [`bind_changeable`] take.
const BOUND: usize = 22;

impl Connection {
    /// Inserts a workspace; `false` when a live one has its branch or its path.
    pub async fn insert_workspace(&mut self, workspace: &Workspace) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO workspaces
                 (id, kind, key, name, title, provider, populate, path, branch, base_branch, base_commit, status, error,
                  pushed, pull_request, platform, pinned, adopted_from, metadata, last_activity_at, removed_at,
                  created_at, account, node, repository_id)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                     $22, $23, $24, $25)
             ON CONFLICT DO NOTHING",
        );
        let query = bind_changeable(query.bind(workspace.id.as_str()), workspace)?
            .bind(&workspace.account)
            .bind(workspace.node.as_str())
            .bind(workspace.repository_id.as_str());
        Ok(self.execute(query).await? > 0)
    }

    /// Writes a workspace, if its status is still one of those expected; `false` when it is not, or the row is gone.
    ///
    /// [`Error::Conflict`] when another live workspace has its branch or path.
    pub async fn update_workspace(
        &mut self,
        workspace: &Workspace,
        expected: &[WorkspaceStatus],
    ) -> Result<bool, Error> {
        let sql = format!(
            "UPDATE workspaces
             SET kind = $2, key = $3, name = $4, title = $5, provider = $6, populate = $7, path = $8, branch = $9,
                 base_branch = $10, base_commit = $11, status = $12, error = $13, pushed = $14, pull_request = $15,
                 platform = $16, pinned = $17, adopted_from = $18, metadata = $19, last_activity_at = $20,
                 removed_at = $21, created_at = $22
             WHERE id = $1 AND status IN ({})",
            parameters(BOUND + 1, expected.len())
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(workspace.id.as_str());
        let mut query = bind_changeable(query, workspace)?;
        for status in expected {
            query = query.bind(status.as_str());
        }
        Ok(self.execute(query).await? > 0)
    }

    /// Loads a workspace by its id, whatever its status.
    pub async fn workspace(&mut self, id: &WorkspaceId) -> Result<Option<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!("WHERE w.id = $1")).bind(id.as_str());
        self.fetch_optional(query).await?.as_ref().map(workspace).transpose()
    }

    /// Loads the workspaces of some ids, whatever their status.
    pub async fn workspaces_of_all(&mut self, ids: &[&WorkspaceId]) -> Result<Vec<Workspace>, Error> {
        let sql = format!("{} IN ({})", workspaces_sql!("WHERE w.id"), parameters(1, ids.len()));
        let query = ids.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.as_str()));
        self.fetch_all(query).await?.iter().map(workspace).collect()
    }

    /// Loads the live workspace that has a branch.
    pub async fn workspace_on_branch(
        &mut self,
        repository: &RepositoryId,
        branch: &BranchName,
    ) -> Result<Option<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!(
            "WHERE w.repository_id = $1 AND w.branch = $2 AND w.status NOT IN ('trashed', 'purged')"
        ));
        let query = query.bind(repository.as_str()).bind(branch.as_str());
        self.fetch_optional(query).await?.as_ref().map(workspace).transpose()
    }

    /// Loads the live workspace in a directory.
    pub async fn workspace_at(&mut self, node: &NodeId, path: &Path) -> Result<Option<Workspace>, Error> {
        let query =
            sqlx::query(workspaces_sql!("WHERE w.node = $1 AND w.path = $2 AND w.status NOT IN ('trashed', 'purged')"));
        let query = query.bind(node.as_str()).bind(utf8(path)?);
        self.fetch_optional(query).await?.as_ref().map(workspace).transpose()
    }

    /// Loads workspaces, newest first.
    pub async fn workspaces(&mut self, filter: &WorkspaceFilter) -> Result<Vec<Workspace>, Error> {
        let (condition, values) = filter.condition();
        let sql = format!("{}{condition} ORDER BY w.created_at DESC, w.id", workspaces_sql!(""));
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        self.fetch_all(query).await?.iter().map(workspace).collect()
    }

    /// Loads a part of the list of workspaces that somebody looks for, newest first.
    pub async fn workspace_page(&mut self, search: &WorkspaceSearch, page: &Page) -> Result<Vec<Workspace>, Error> {
        let (mut condition, mut values) = search.filter.condition();
        if let Some(kind) = search.kind {
            values.push(kind.as_str());
            condition.push_str(&format!(" AND w.kind = ${}", values.len()));
        }
        let pattern = search.text.as_deref().map(anywhere);
        if let Some(pattern) = &pattern {
            values.push(pattern);
            let found = format!("LIKE lower(${}) ESCAPE '!'", values.len());
            condition.push_str(&format!(
                " AND (lower(w.name) {found} OR lower(w.title) {found} OR lower(w.branch) {found})"
            ));
        }
        let rest = page.rest("w.created_at", "w.id", &mut values);
        let sql = format!("{}{condition}{rest}", workspaces_sql!(""));
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        self.fetch_all(query).await?.iter().map(workspace).collect()
    }

    /// Counts an account's workspaces on a node, by repository and status.
    pub async fn tally_workspaces(&mut self, account: &str, node: &NodeId) -> Result<Vec<WorkspaceTally>, Error> {
        // PostgreSQL adds up to a type of its own.
        let query = sqlx::query(
            "SELECT repository_id, status, COUNT(*), COUNT(size_bytes), CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT),
                    COUNT(archive_bytes), CAST(COALESCE(SUM(archive_bytes), 0) AS BIGINT)
             FROM workspaces WHERE account = $1 AND node = $2 GROUP BY repository_id, status",
        );
        let rows = self.fetch_all(query.bind(account).bind(node.as_str())).await?;
        let tally = |row| {
            let mut row = Reader::new("workspaces", row);
            Ok(WorkspaceTally {
                repository: row.parsed()?,
                status: row.parsed()?,
                count: row.unsigned()?,
                known: row.unsigned()?,
                bytes: row.unsigned()?,
                archives: row.unsigned()?,
                archive_bytes: row.unsigned()?,
            })
        };
        rows.iter().map(tally).collect()
    }

    /// Loads the workspaces that a text can mean, newest first: by name, branch, id or the beginning of an id.
    ///
    /// A whole id means that workspace alone, whatever else is called so.
    pub async fn find_workspaces(&mut self, filter: &WorkspaceFilter, text: &str) -> Result<Vec<Workspace>, Error> {
        let (condition, mut values) = filter.condition();
        let number = values.len() + 1;
        values.push(text);
        let prefix = if text.chars().count() >= MIN_PREFIX_CHARS {
            format!(" OR substr(w.id, 1, length(${number})) = ${number}")
        } else {
            String::new()
        };
        let sql = format!(
            "{}{condition} AND (w.name = ${number} OR w.branch = ${number} OR w.id = ${number}{prefix})
             ORDER BY w.created_at DESC, w.id",
            workspaces_sql!("")
        );
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        let mut found: Vec<Workspace> =
            self.fetch_all(query).await?.iter().map(workspace).collect::<Result<_, Error>>()?;
        if found.iter().any(|workspace| workspace.id.as_str() == text) {
            found.retain(|workspace| workspace.id.as_str() == text);
        }
        Ok(found)
    }

    /// Loads some members of a repository's pool, after as many as were seen already: those at a commit first, then the
    /// oldest.
    pub async fn warm_workspaces(
        &mut self,
        repository: &RepositoryId,
        node: &NodeId,
        commit: &CommitId,
        seen: usize,
    ) -> Result<Vec<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!(
            "WHERE w.repository_id = $1 AND w.node = $2 AND w.status = 'warm'
             ORDER BY CASE WHEN w.base_commit = $3 THEN 0 ELSE 1 END, w.created_at, w.id LIMIT 16 OFFSET $4"
        ));
        let query = query.bind(repository.as_str()).bind(node.as_str()).bind(commit.as_str());
        let query = query.bind(i64::try_from(seen).unwrap_or(i64::MAX));
        self.fetch_all(query).await?.iter().map(workspace).collect()
    }

    /// Counts a repository's workspaces on a node in some statuses.
    pub async fn count_workspaces(
        &mut self,
        repository: &RepositoryId,
        node: &NodeId,
        statuses: &[WorkspaceStatus],
    ) -> Result<u64, Error> {
        let sql = format!(
            "SELECT COUNT(*) FROM workspaces WHERE repository_id = $1 AND node = $2 AND status IN ({})",
            parameters(3, statuses.len())
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(repository.as_str()).bind(node.as_str());
        for status in statuses {
            query = query.bind(status.as_str());
        }
        let row = self.fetch_optional(query).await?;
        row.map_or(Ok(0), |row| Reader::new("workspaces", &row).unsigned())
    }

    /// When the oldest of what is in the trash of a node was removed.
    pub async fn oldest_trashed(&mut self, account: &str, node: &NodeId) -> Result<Option<Timestamp>, Error> {
        let query = sqlx::query(
            "SELECT MIN(COALESCE(removed_at, last_activity_at)) FROM workspaces
             WHERE account = $1 AND node = $2 AND status = 'trashed'",
        );
        let row = self.fetch_optional(query.bind(account).bind(node.as_str())).await?;
        row.map_or(Ok(None), |row| Reader::new("workspaces", &row).optional_time())
    }

    /// Loads some of a node's purged workspaces that were removed before a time, after an id: those that have no archive as
    /// far as the store knows, no open operation, and no job on record.
    pub async fn forgettable_workspaces(
        &mut self,
        node: &NodeId,
        before: Timestamp,
        after: Option<&WorkspaceId>,
        limit: u32,
    ) -> Result<Vec<Workspace>, Error> {
        let query = sqlx::query(workspaces_sql!(
            "WHERE w.node = $1 AND w.status = 'purged' AND w.archive_bytes IS NULL
                 AND COALESCE(w.removed_at, w.last_activity_at) < $2 AND w.id > $3
                 AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.workspace_id = w.id AND o.status = 'open')
                 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.workspace_id = w.id)
             ORDER BY w.id LIMIT $4"
        ));
        let query = query.bind(node.as_str()).bind(before.as_millisecond());
        let query = query.bind(after.map_or("", WorkspaceId::as_str)).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(workspace).collect()
    }

    /// Forgets a workspace that never came to be, or of which nothing is left, with all that points at it, in the caller's transaction.
    pub async fn delete_workspace(&mut self, id: &WorkspaceId) -> Result<bool, Error> {
        self.require_transaction()?;
        for statement in [
            "DELETE FROM works WHERE workspace_id = $1",
            "DELETE FROM ports WHERE workspace_id = $1",
            "DELETE FROM conversations WHERE workspace_id = $1",
            "DELETE FROM operations WHERE workspace_id = $1",
            "DELETE FROM brought WHERE workspace_id = $1",
            "DELETE FROM beginnings WHERE workspace_id = $1",
        ] {
            self.execute(sqlx::query(statement).bind(id.as_str())).await?;
        }
        Ok(self.execute(sqlx::query("DELETE FROM workspaces WHERE id = $1").bind(id.as_str())).await? > 0)
    }

    /// Notes what a workspace takes on disk; nothing else of its row is written.
    pub async fn record_size(&mut self, id: &WorkspaceId, size: Size) -> Result<(), Error> {
        let query = sqlx::query("UPDATE workspaces SET size_bytes = $2, size_at = $3 WHERE id = $1");
        let bytes = i64::try_from(size.bytes).unwrap_or(i64::MAX);
        self.execute(query.bind(id.as_str()).bind(bytes).bind(size.at.as_millisecond())).await.map(drop)
    }

    /// Notes that a workspace's branch was pushed; nothing else of its row is written.
    pub async fn record_pushed(&mut self, id: &WorkspaceId) -> Result<(), Error> {
        let query = sqlx::query("UPDATE workspaces SET pushed = 1 WHERE id = $1 AND pushed = 0");
        self.execute(query.bind(id.as_str())).await.map(drop)
    }

    /// Notes what the archives of a workspace take on disk; none where it has none.
    pub async fn record_archive(&mut self, id: &WorkspaceId, bytes: Option<u64>) -> Result<(), Error> {
        let query = sqlx::query("UPDATE workspaces SET archive_bytes = $2 WHERE id = $1");
        let bytes = bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        self.execute(query.bind(id.as_str()).bind(bytes)).await.map(drop)
    }

    /// Loads what is known of the archives of a node's workspaces.
    pub async fn archive_sizes(&mut self, node: &NodeId) -> Result<Vec<(WorkspaceId, u64)>, Error> {
        let query =
            sqlx::query("SELECT id, archive_bytes FROM workspaces WHERE node = $1 AND archive_bytes IS NOT NULL");
        let rows = self.fetch_all(query.bind(node.as_str())).await?;
        let size = |row| {
            let mut row = Reader::new("workspaces", row);
            Ok((row.parsed()?, row.unsigned()?))
        };
        rows.iter().map(size).collect()
    }

    /// Notes that something happened in a workspace; an earlier time than the known one changes nothing.
    pub async fn touch_workspace(&mut self, id: &WorkspaceId, at: Timestamp) -> Result<(), Error> {
        let query = sqlx::query("UPDATE workspaces SET last_activity_at = $2 WHERE id = $1 AND last_activity_at < $2");
        self.execute(query.bind(id.as_str()).bind(at.as_millisecond())).await.map(drop)
    }
}
