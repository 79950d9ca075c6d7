//! A repository that Spinney knows.

use std::path::PathBuf;

use serde::Serialize;

use crate::{NodeId, RepositoryId, RepositoryName, Timestamp};

/// One row of the store. Its identity is the canonical common git dir on its node, not its name or URL: two clones of
/// one remote are two repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repository {
    pub id: RepositoryId,
    pub account: String,
    pub node: NodeId,
    pub name: RepositoryName,
    pub common_dir: PathBuf,
    /// The main checkout; none for a bare repository.
    pub root: Option<PathBuf>,
    /// The remote's URL, without any credentials.
    pub url: Option<String>,
    /// Whether Spinney made the clone (`repo add URL`), in its home.
    pub managed: bool,
    /// The name of the environment variable that holds the token for this repository; never the token.
    pub token_env: Option<String>,
    /// The size of its tree when it was last measured.
    pub tree_bytes: Option<u64>,
    pub created_at: Timestamp,
}
