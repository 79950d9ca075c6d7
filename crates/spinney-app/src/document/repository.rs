//! A repository.

use serde::Serialize;
use spinney_core::RepositoryName;
use spinney_git::Known;
use utoipa::ToSchema;

use super::{Timestamp, path_text};
use crate::repositories::Populated;

/// A repository that Spinney knows.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Repository {
    pub id: String,
    pub account: String,
    /// The machine that it is on.
    pub node: String,
    /// `owner/name`.
    pub name: String,
    pub common_dir: String,
    /// The main checkout; none for a bare repository.
    #[schema(required)]
    pub root: Option<String>,
    /// The remote's URL, without any credentials.
    #[schema(required)]
    pub url: Option<String>,
    /// Whether Spinney made the clone.
    pub managed: bool,
    /// The name of the environment variable that holds its token.
    #[schema(required)]
    pub token_env: Option<String>,
    /// The size of its tree when it was last measured.
    #[schema(required)]
    pub tree_bytes: Option<u64>,
    pub created_at: Timestamp,
    /// How many live workspaces it has.
    pub workspaces: usize,
}

impl Repository {
    #[must_use]
    pub fn populated(known: &Populated) -> Self {
        Self::of(&known.repository, known.live)
    }

    #[must_use]
    pub fn of(repository: &spinney_core::Repository, workspaces: usize) -> Self {
        Self {
            id: repository.id.to_string(),
            account: repository.account.clone(),
            node: repository.node.to_string(),
            name: repository.name.to_string(),
            common_dir: path_text(&repository.common_dir),
            root: repository.root.as_deref().map(path_text),
            url: repository.url.clone(),
            managed: repository.managed,
            token_env: repository.token_env.clone(),
            tree_bytes: repository.tree_bytes,
            created_at: repository.created_at.into(),
            workspaces,
        }
    }
}

/// What was learnt of a repository's remote just now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FetchedRepository {
    /// `owner/name`.
    pub repository: String,
    /// The branch that the remote's HEAD is on.
    #[schema(required)]
    pub default_branch: Option<String>,
    pub fetched_at: Timestamp,
}

impl FetchedRepository {
    #[must_use]
    pub fn of(repository: &RepositoryName, known: &Known) -> Self {
        Self {
            repository: repository.to_string(),
            default_branch: known.default_branch.as_ref().map(ToString::to_string),
            fetched_at: known.at.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_repository_is_what_its_schema_says() {
        assert_described(
            &Repository::of(&sample::full_repository(), 3),
            &Repository::of(&sample::bare_repository(), 0),
        );
    }

    #[test]
    fn what_was_fetched_is_what_its_schema_says() {
        let fetched = |default_branch: Option<&str>| FetchedRepository {
            repository: "acme/app".to_owned(),
            default_branch: default_branch.map(str::to_owned),
            fetched_at: sample::at(1).into(),
        };
        assert_described(&fetched(Some("main")), &fetched(None));
    }
}
