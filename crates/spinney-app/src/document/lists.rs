//! Lists that are told as a whole.

use serde::Serialize;
use spinney_core::{RepositoryName, Workspace};
use spinney_engine::Engine;
use utoipa::ToSchema;

use super::{
    Account, Agent, ErasableWorkspace, ErasedWorkspace, Failure, Pool, PurgedWorkspace, Repository, Timestamp, Token,
    TrashedWorkspace,
};
use crate::Front;
use crate::housekeeping::{Erasing, ErasureAsked, Purging};

/// All repositories of an account, by name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Repositories {
    pub repositories: Vec<Repository>,
}

/// The agents of a repository's configuration, by name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Agents {
    pub agents: Vec<Agent>,
}

/// All accounts that the caller may see, by name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Accounts {
    pub accounts: Vec<Account>,
}

/// The tokens of an account, oldest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tokens {
    pub tokens: Vec<Token>,
}

/// The pools of repositories.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Pools {
    pub pools: Vec<Pool>,
    /// Repositories whose pools could not be looked at.
    pub failed: Vec<Failure>,
}

impl Pools {
    #[must_use]
    pub fn of(statuses: &spinney_engine::PoolStatuses, front: Front) -> Self {
        let failure = |(name, error): &(RepositoryName, spinney_engine::Error)| Failure {
            name: name.to_string(),
            error: super::Error::of_engine(error, front),
        };
        Self {
            pools: statuses.pools.iter().map(Pool::of).collect(),
            failed: statuses.failed.iter().map(failure).collect(),
        }
    }
}

/// What is in the trash, oldest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Trash {
    pub trash: Vec<TrashedWorkspace>,
}

/// What a purge did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Purge {
    pub purged: Vec<PurgedWorkspace>,
    pub failed: Vec<Failure>,
}

impl Purge {
    #[must_use]
    pub fn of(engine: &Engine, purging: &Purging, front: Front) -> Self {
        Self {
            purged: purging.purged.iter().map(|purged| PurgedWorkspace::of(engine, purged)).collect(),
            failed: failures(&purging.failed, front),
        }
    }
}

/// What an erasure did, or with a dry run would do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Erase {
    pub dry_run: bool,
    /// With a dry run: what is left, and would be gone for good.
    pub would_erase: Vec<ErasableWorkspace>,
    pub erased: Vec<ErasedWorkspace>,
    pub failed: Vec<Failure>,
}

impl Erase {
    /// What would be gone.
    #[must_use]
    pub fn asked(engine: &Engine, asked: &ErasureAsked, front: Front) -> Self {
        Self {
            dry_run: true,
            would_erase: asked.erasable.iter().map(|one| ErasableWorkspace::of(engine, one)).collect(),
            erased: Vec::new(),
            failed: failures(&asked.failed, front),
        }
    }

    /// What is gone.
    #[must_use]
    pub fn done(engine: &Engine, erasing: &Erasing, front: Front) -> Self {
        Self {
            dry_run: false,
            would_erase: Vec::new(),
            erased: erasing.erased.iter().map(|one| ErasedWorkspace::of(engine, one)).collect(),
            failed: failures(&erasing.failed, front),
        }
    }
}

fn failures(failed: &[(Workspace, spinney_engine::Error)], front: Front) -> Vec<Failure> {
    let failure = |(workspace, error): &(Workspace, spinney_engine::Error)| Failure {
        name: workspace.name.to_string(),
        error: super::Error::of_engine(error, front),
    };
    failed.iter().map(failure).collect()
}

/// The machines that work on this store, oldest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Nodes {
    pub nodes: Vec<Node>,
}

/// A machine that works, or worked, on this store.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Node {
    pub id: String,
    pub name: String,
    /// Whether it is the one that answers.
    pub own: bool,
    pub created_at: Timestamp,
}

impl Node {
    #[must_use]
    pub fn of(node: &spinney_store::Node, own: &spinney_core::NodeId) -> Self {
        Self {
            id: node.id.to_string(),
            name: node.name.clone(),
            own: node.id == *own,
            created_at: node.created_at.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::assert_described;

    #[test]
    fn a_node_is_what_its_schema_says() {
        let id = spinney_core::NodeId::generate();
        let created_at = spinney_core::Timestamp::from_millisecond(0);
        let row = spinney_store::Node {
            id: id.clone(),
            name: "box".to_owned(),
            epoch: 1,
            labels: Vec::new(),
            seen_at: None,
            created_at,
        };
        let node = Node::of(&row, &id);
        assert!(node.own);
        assert_described(&node, &node);
    }
}
