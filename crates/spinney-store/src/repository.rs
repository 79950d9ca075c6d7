//! Repositories.

use std::path::Path;

use spinney_core::{NodeId, Repository, RepositoryId, RepositoryName};
use sqlx::any::AnyRow;

use crate::row::Reader;
use crate::url::utf8;
use crate::{Connection, Error};

macro_rules! select_repositories {
    ($rest:literal) => {
        sqlx::query(concat!(
            "SELECT id, account, node, owner, name, common_dir, root, url, managed, token_env, tree_bytes, created_at
             FROM repositories ",
            $rest
        ))
    };
}

fn repository(row: &AnyRow) -> Result<Repository, Error> {
    let mut row = Reader::new("repositories", row);
    Ok(Repository {
        id: row.parsed()?,
        account: row.text()?,
        node: row.parsed()?,
        name: row.repository_name()?,
        common_dir: row.path()?,
        root: row.optional_path()?,
        url: row.optional_text()?,
        managed: row.boolean()?,
        token_env: row.optional_text()?,
        tree_bytes: row.optional_unsigned()?,
        created_at: row.time()?,
    })
}

/// A size as the store keeps it.
fn stored_bytes(bytes: Option<u64>) -> Option<i64> {
    bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
}

impl Connection {
    /// Inserts a repository; `false` when its git dir or its name is taken on its node.
    pub async fn insert_repository(&mut self, repository: &Repository) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO repositories
                 (id, account, node, owner, name, common_dir, root, url, managed, token_env, tree_bytes, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
             ON CONFLICT DO NOTHING",
        )
        .bind(repository.id.as_str())
        .bind(&repository.account)
        .bind(repository.node.as_str())
        .bind(repository.name.owner())
        .bind(repository.name.name())
        .bind(utf8(&repository.common_dir)?)
        .bind(repository.root.as_deref().map(utf8).transpose()?)
        .bind(repository.url.as_deref())
        .bind(i64::from(repository.managed))
        .bind(repository.token_env.as_deref())
        .bind(stored_bytes(repository.tree_bytes))
        .bind(repository.created_at.as_millisecond());
        Ok(self.execute(query).await? > 0)
    }

    /// Loads a repository by its id.
    pub async fn repository(&mut self, id: &RepositoryId) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE id = $1").bind(id.as_str());
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads a repository by its identity: the common git dir on a node.
    pub async fn repository_at(
        &mut self,
        account: &str,
        node: &NodeId,
        common_dir: &Path,
    ) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE account = $1 AND node = $2 AND common_dir = $3")
            .bind(account)
            .bind(node.as_str())
            .bind(utf8(common_dir)?);
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads a repository by its name on a node.
    pub async fn repository_named(
        &mut self,
        account: &str,
        node: &NodeId,
        name: &RepositoryName,
    ) -> Result<Option<Repository>, Error> {
        let query = select_repositories!("WHERE account = $1 AND node = $2 AND owner = $3 AND name = $4")
            .bind(account)
            .bind(node.as_str())
            .bind(name.owner())
            .bind(name.name());
        self.fetch_optional(query).await?.as_ref().map(repository).transpose()
    }

    /// Loads an account's repositories on a node, by name.
    pub async fn repositories(&mut self, account: &str, node: &NodeId) -> Result<Vec<Repository>, Error> {
        let query = select_repositories!("WHERE account = $1 AND node = $2 ORDER BY owner, name")
            .bind(account)
            .bind(node.as_str());
        self.fetch_all(query).await?.iter().map(repository).collect()
    }

    /// Loads the names of the variables with tokens, which the repositories of all accounts on a node name.
    pub async fn token_variables(&mut self, node: &NodeId) -> Result<Vec<String>, Error> {
        let query =
            sqlx::query("SELECT DISTINCT token_env FROM repositories WHERE node = $1 AND token_env IS NOT NULL");
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

    /// Writes what may change of a repository: its name, places, URL, token's name and size.
    pub async fn update_repository(&mut self, repository: &Repository) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE repositories
             SET owner = $2, name = $3, common_dir = $4, root = $5, url = $6, managed = $7, token_env = $8,
                 tree_bytes = $9
             WHERE id = $1",
        )
        .bind(repository.id.as_str())
        .bind(repository.name.owner())
        .bind(repository.name.name())
        .bind(utf8(&repository.common_dir)?)
        .bind(repository.root.as_deref().map(utf8).transpose()?)
        .bind(repository.url.as_deref())
        .bind(i64::from(repository.managed))
        .bind(repository.token_env.as_deref())
        .bind(stored_bytes(repository.tree_bytes));
        self.execute(query).await.map(drop)
    }

    /// Forgets a repository and all that is in the trash of it, in the caller's transaction; `false` when it is unknown.
    ///
    /// A workspace that is not in the trash keeps it: that is [`Error::Referenced`], told by the foreign key itself, so
    /// that one which is inserted at the same moment counts too.
    pub async fn delete_repository(&mut self, id: &RepositoryId) -> Result<bool, Error> {
        self.require_transaction()?;
        macro_rules! of_the_trash {
            ($table:literal) => {
                concat!(
                    "DELETE FROM ",
                    $table,
                    " WHERE workspace_id IN (SELECT id FROM workspaces
                       WHERE repository_id = $1 AND status IN ('trashed', 'purged'))"
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
            "DELETE FROM workspaces WHERE repository_id = $1 AND status IN ('trashed', 'purged')",
            "DELETE FROM trusts WHERE repository_id = $1",
            "DELETE FROM sessions WHERE job_id IN (SELECT id FROM jobs
                   WHERE repository_id = $1 AND status NOT IN ('pending', 'running'))",
            "DELETE FROM jobs WHERE repository_id = $1 AND status NOT IN ('pending', 'running')",
        ] {
            self.execute(sqlx::query(statement).bind(id.as_str())).await?;
        }
        let query = sqlx::query("DELETE FROM repositories WHERE id = $1").bind(id.as_str());
        Ok(self.execute(query).await? > 0)
    }
}
