//! Which contents of a repository's own configuration a person has trusted.

use spinney_core::{RepositoryId, Timestamp};

use crate::{Connection, Error};

impl Connection {
    /// Remembers that a person trusted this content.
    pub async fn trust(&mut self, repository: &RepositoryId, hash: &str) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO trusts (repository_id, hash, trusted_at) VALUES ($1, $2, $3) ON CONFLICT (repository_id, hash) DO NOTHING",
        );
        self.execute(query.bind(repository.as_str()).bind(hash).bind(Timestamp::now().as_millisecond())).await.map(drop)
    }

    /// Tells whether a person trusted this content.
    pub async fn is_trusted(&mut self, repository: &RepositoryId, hash: &str) -> Result<bool, Error> {
        let query = sqlx::query("SELECT hash FROM trusts WHERE repository_id = $1 AND hash = $2");
        Ok(self.fetch_optional(query.bind(repository.as_str()).bind(hash)).await?.is_some())
    }
}
