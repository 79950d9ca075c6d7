//! Repositories, each with its clone on one node.

use std::path::Path;

use spinney_core::{CloneId, NodeId, Repository, RepositoryId, RepositoryName, remote_slug};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::database::url::utf8;
use crate::{Connection, Error};

macro_rules! select_repositories {
    ($rest:literal) => {
        sqlx::query(concat!(
            "SELECT r.id, r.account, r.owner, r.name, r.url, r.token_env, c.node, c.id AS clone_id, c.common_dir, c.root,
                    c.managed, c.tree_bytes, c.created_at
             FROM repositories r JOIN clones c ON c.repository_id = r.id ",
            $rest
        ))
    };
}

fn repository(row: &AnyRow) -> Result<Repository, Error> {
    let mut row = Reader::new("repositories", row);
    Ok(Repository {
        id: row.parsed()?,
        account: row.text()?,
        name: row.repository_name()?,
        url: row.optional_text()?,
        token_env: row.optional_text()?,
        node: row.parsed()?,
        clone: row.optional_parsed()?,
        common_dir: row.path()?,
        root: row.optional_path()?,
        managed: row.boolean()?,
        tree_bytes: row.optional_unsigned()?,
        created_at: row.time()?,
    })
}

/// A size as the store keeps it.
fn stored_bytes(bytes: Option<u64>) -> Option<i64> {
    bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
}

impl Connection {
    /// Inserts a repository with its first clone, in the caller's transaction; `false` when the name or the clone is known
    /// already, and then nothing of that transaction may be kept.
    pub async fn insert_repository(&mut self, repository: &Repository) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO repositories (id, account, owner, name, url, remote, slug, token_env, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT DO NOTHING",
        )
        .bind(repository.id.as_str())
        .bind(&repository.account)
        .bind(repository.name.owner())
        .bind(repository.name.name())
        .bind(repository.url.as_deref())
        .bind(repository.remote())
        .bind(repository.remote().as_deref().and_then(remote_slug))
        .bind(repository.token_env.as_deref())
        .bind(repository.created_at.as_millisecond());
        Ok(self.execute(query).await? > 0 && self.insert_clone(repository).await?)
    }

    /// Inserts a clone of a repository that is known; `false` when it has one on that node, or the clone is another's.
    pub async fn insert_clone(&mut self, repository: &Repository) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO clones (repository_id, account, node, id, common_dir, root, managed, tree_bytes, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT DO NOTHING",
        )
        .bind(repository.id.as_str())
        .bind(&repository.account)
        .bind(repository.node.as_str())
        .bind(repository.clone.as_ref().map(CloneId::as_str))
        .bind(utf8(&repository.common_dir)?)
        .bind(repository.root.as_deref().map(utf8).transpose()?)
        .bind(i64::from(repository.managed))
        .bind(stored_bytes(repository.tree_bytes))
        .bind(repository.created_at.as_millisecond());
        Ok(self.execute(query).await? > 0)
    }

    /// Loads a repository by its id, with its clone on a node; none where it has none there.
    pub async fn repository(&mut self, node: &NodeId, id: &RepositoryId) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE r.id = $1 AND c.node = $2").bind(id.as_str()).bind(node.as_str());
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads the repository whose clone this is, wherever it stood when it was last seen.
    pub async fn repository_of_clone(
        &mut self,
        account: &str,
        node: &NodeId,
        clone: &CloneId,
    ) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE c.account = $1 AND c.node = $2 AND c.id = $3")
            .bind(account)
            .bind(node.as_str())
            .bind(clone.as_str());
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads the repositories whose clones were last seen in a directory of a node: one, and those that it took the place of.
    pub async fn repositories_at(
        &mut self,
        account: &str,
        node: &NodeId,
        common_dir: &Path,
    ) -> Result<Vec<Repository>, Error> {
        let query = select_repositories!(
            "WHERE c.account = $1 AND c.node = $2 AND c.common_dir = $3 ORDER BY c.created_at DESC"
        )
        .bind(account)
        .bind(node.as_str())
        .bind(utf8(common_dir)?);
        self.fetch_all(query).await?.iter().map(repository).collect()
    }

    /// Loads a repository by its name, with its clone on a node.
    pub async fn repository_named(
        &mut self,
        account: &str,
        node: &NodeId,
        name: &RepositoryName,
    ) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE r.account = $1 AND c.node = $2 AND r.owner = $3 AND r.name = $4")
            .bind(account)
            .bind(node.as_str())
            .bind(name.owner())
            .bind(name.name());
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads the repositories with clones on a node whose remote ends in `owner/name`, in any case; oldest first.
    pub async fn repositories_of_slug(
        &mut self,
        account: &str,
        node: &NodeId,
        slug: &str,
    ) -> Result<Vec<Repository>, Error> {
        let query =
            select_repositories!("WHERE r.account = $1 AND r.slug = $2 AND c.node = $3 ORDER BY r.created_at, r.id")
                .bind(account)
                .bind(slug.to_lowercase())
                .bind(node.as_str());
        self.fetch_all(query).await?.iter().map(repository).collect()
    }

    /// Finds the oldest repository of a remote that has no clone on a node yet: its id and name.
    pub async fn repository_to_join(
        &mut self,
        account: &str,
        node: &NodeId,
        remote: &str,
    ) -> Result<Option<(RepositoryId, RepositoryName)>, Error> {
        let query = sqlx::query(
            "SELECT id, owner, name FROM repositories r WHERE account = $1 AND remote = $2
             AND NOT EXISTS (SELECT 1 FROM clones c WHERE c.repository_id = r.id AND c.node = $3)
             ORDER BY created_at, id LIMIT 1",
        );
        let row = self.fetch_optional(query.bind(account).bind(remote).bind(node.as_str())).await?;
        let found = |row: &AnyRow| {
            let mut row = Reader::new("repositories", row);
            Ok((row.parsed()?, row.repository_name()?))
        };
        row.as_ref().map(found).transpose()
    }

    /// Loads an account's repositories with clones on a node, by name.
    pub async fn repositories(&mut self, account: &str, node: &NodeId) -> Result<Vec<Repository>, Error> {
        let query = select_repositories!("WHERE r.account = $1 AND c.node = $2 ORDER BY r.owner, r.name")
            .bind(account)
            .bind(node.as_str());
        self.fetch_all(query).await?.iter().map(repository).collect()
    }

    /// Loads the names of the variables with tokens, which the repositories of all accounts on a node name.
    pub async fn token_variables(&mut self, node: &NodeId) -> Result<Vec<String>, Error> {
        let query = sqlx::query(
            "SELECT DISTINCT token_env FROM repositories r JOIN clones c ON c.repository_id = r.id
             WHERE c.node = $1 AND token_env IS NOT NULL",
        );
        let rows = self.fetch_all(query.bind(node.as_str())).await?;
        rows.iter().map(|row| Reader::new("repositories", row).text()).collect()
    }

    /// Makes others that decide about the same repository wait until this transaction ends. A write that changes
    /// nothing takes the row's lock on every database.
    pub async fn lock_repository(&mut self, id: &RepositoryId) -> Result<(), Error> {
        self.require_transaction()?;
        let query = sqlx::query("UPDATE repositories SET id = id WHERE id = $1").bind(id.as_str());
        self.execute(query).await.map(drop)
    }

    /// Writes what may change of a repository and its clone: name, URL, token's name, and where the clone is.
    pub async fn update_repository(&mut self, repository: &Repository) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE repositories SET owner = $2, name = $3, url = $4, remote = $5, slug = $6, token_env = $7 WHERE id = $1",
        )
        .bind(repository.id.as_str())
        .bind(repository.name.owner())
        .bind(repository.name.name())
        .bind(repository.url.as_deref())
        .bind(repository.remote())
        .bind(repository.remote().as_deref().and_then(remote_slug))
        .bind(repository.token_env.as_deref());
        self.execute(query).await?;
        let query = sqlx::query(
            "UPDATE clones SET id = $3, common_dir = $4, root = $5, managed = $6, tree_bytes = $7
             WHERE repository_id = $1 AND node = $2",
        )
        .bind(repository.id.as_str())
        .bind(repository.node.as_str())
        .bind(repository.clone.as_ref().map(CloneId::as_str))
        .bind(utf8(&repository.common_dir)?)
        .bind(repository.root.as_deref().map(utf8).transpose()?)
        .bind(i64::from(repository.managed))
        .bind(stored_bytes(repository.tree_bytes));
        self.execute(query).await.map(drop)
    }

    /// Forgets a node's clone of a repository and all that is in the trash of it there, in the caller's transaction; with the
    /// last clone, the repository itself. `false` when there is no such clone.
    ///
    /// A workspace that is not in the trash keeps it: that is [`Error::Referenced`], told by the foreign key itself, so
    /// that one which is inserted at the same moment counts too.
    pub async fn delete_repository(&mut self, node: &NodeId, id: &RepositoryId) -> Result<bool, Error> {
        self.require_transaction()?;
        self.lock_repository(id).await?;
        macro_rules! of_the_trash {
            ($table:literal) => {
                concat!(
                    "DELETE FROM ",
                    $table,
                    " WHERE workspace_id IN (SELECT id FROM workspaces
                       WHERE repository_id = $1 AND node = $2 AND status IN ('trashed', 'purged'))"
                )
            };
        }
        for statement in [
            of_the_trash!("works"),
            of_the_trash!("conversations"),
            of_the_trash!("ports"),
            of_the_trash!("operations"),
            of_the_trash!("brought"),
            of_the_trash!("beginnings"),
            "DELETE FROM workspaces WHERE repository_id = $1 AND node = $2 AND status IN ('trashed', 'purged')",
            "DELETE FROM sessions WHERE job_id IN (SELECT id FROM jobs
                   WHERE repository_id = $1 AND node = $2 AND status NOT IN ('pending', 'running'))",
            "DELETE FROM jobs WHERE repository_id = $1 AND node = $2 AND status NOT IN ('pending', 'running')",
        ] {
            self.execute(sqlx::query(statement).bind(id.as_str()).bind(node.as_str())).await?;
        }
        let query = sqlx::query("DELETE FROM clones WHERE repository_id = $1 AND node = $2");
        let is_deleted = self.execute(query.bind(id.as_str()).bind(node.as_str())).await? > 0;
        let clones = sqlx::query("SELECT COUNT(*) FROM clones WHERE repository_id = $1").bind(id.as_str());
        let clones = self.fetch_optional(clones).await?;
        let clones: u64 = clones.map_or(Ok(0), |row| Reader::new("clones", &row).unsigned())?;
        let living = sqlx::query("SELECT COUNT(*) FROM workspaces WHERE repository_id = $1 AND node = $2");
        let living = self.fetch_optional(living.bind(id.as_str()).bind(node.as_str())).await?;
        let living: u64 = living.map_or(Ok(0), |row| Reader::new("workspaces", &row).unsigned())?;
        // Where one is left, the last statement fails.
        if clones == 0 || living > 0 {
            for statement in ["DELETE FROM trusts WHERE repository_id = $1", "DELETE FROM repositories WHERE id = $1"] {
                self.execute(sqlx::query(statement).bind(id.as_str())).await?;
            }
        }
        Ok(is_deleted)
    }
}
