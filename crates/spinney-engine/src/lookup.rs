//! Finds workspaces by what a person types: a name, an id, an id's beginning, or a branch.

use std::path::Path;

use spinney_core::{RepositoryId, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_store::WorkspaceFilter;

use crate::context::Context;
use crate::{Engine, Error, Result};

/// Where to look for a name, in order: what lives first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Somebody's, before the trash: those in the pool and those to read in are nobody's.
    Live,
    /// In the pool.
    Warm,
    /// To read in.
    Reading,
    Trashed,
    /// In the trash, or purged from it.
    Removed,
    All,
}

impl Among {
    #[must_use]
    pub fn statuses(self) -> Vec<WorkspaceStatus> {
        let fits = |status: &WorkspaceStatus| match self {
            Self::Live => status.is_of_work(),
            Self::Warm => *status == WorkspaceStatus::Warm,
            Self::Reading => *status == WorkspaceStatus::Reading,
            Self::Trashed => *status == WorkspaceStatus::Trashed,
            Self::Removed => matches!(status, WorkspaceStatus::Trashed | WorkspaceStatus::Purged),
            Self::All => true,
        };
        WorkspaceStatus::ALL.iter().copied().filter(fits).collect()
    }
}

impl Engine {
    fn filter(&self, repository: Option<&RepositoryId>, among: Among) -> WorkspaceFilter {
        WorkspaceFilter {
            account: self.account.clone(),
            node: Some(self.home.node().clone()),
            repository: repository.cloned(),
            statuses: among.statuses(),
        }
    }

    /// Lists workspaces from the store alone, newest first.
    pub async fn workspaces(&self, repository: Option<&RepositoryId>, among: Among) -> Result<Vec<Workspace>> {
        Ok(self.store.read().await?.workspaces(&self.filter(repository, among)).await?)
    }

    /// Finds the one workspace of a name: in this repository first, then in all. With [`Among::All`] a live one wins
    /// over those in the trash.
    pub async fn find_workspace(
        &self,
        repository: Option<&RepositoryId>,
        name: &str,
        among: Among,
    ) -> Result<Workspace> {
        let scopes = if repository.is_some() { vec![repository, None] } else { vec![None] };
        self.find_among(&scopes, repository, name, among).await
    }

    /// The same in one repository, for who may know of no other.
    pub async fn find_workspace_in(&self, repository: &RepositoryId, name: &str, among: Among) -> Result<Workspace> {
        self.find_among(&[Some(repository)], Some(repository), name, among).await
    }

    async fn find_among(
        &self,
        scopes: &[Option<&RepositoryId>],
        repository: Option<&RepositoryId>,
        name: &str,
        among: Among,
    ) -> Result<Workspace> {
        let rounds = match among {
            Among::All => vec![Among::Live, Among::Trashed, Among::All],
            Among::Removed => vec![Among::Trashed, Among::Removed],
            Among::Live | Among::Warm | Among::Reading | Among::Trashed => vec![among],
        };
        let mut db = self.store.read().await?;
        for scope in scopes {
            for among in &rounds {
                let mut found = db.find_workspaces(&self.filter(*scope, *among), name).await?;
                match found.len() {
                    0 => {}
                    1 => return Ok(found.remove(0)),
                    _ => {
                        return Err(Error::AmbiguousWorkspace {
                            name: name.to_owned(),
                            candidates: candidates(&found),
                        });
                    }
                }
            }
        }
        Err(self.elsewhere(&mut db, repository, name, among).await?)
    }

    /// Why a name was not found: it is on the other side of the trash, or nowhere.
    async fn elsewhere(
        &self,
        db: &mut spinney_store::Connection,
        repository: Option<&RepositoryId>,
        name: &str,
        among: Among,
    ) -> Result<Error> {
        let other = if among == Among::Live { Among::Trashed } else { Among::Live };
        let found = db.find_workspaces(&self.filter(repository, other), name).await?;
        Ok(match found.into_iter().next() {
            Some(Workspace { name, id, status: WorkspaceStatus::Trashed, .. }) => Error::InTrash { name, id },
            Some(Workspace { name, status, .. }) => Error::NotInTrash { name, status },
            None => Error::UnknownWorkspace { name: name.to_owned() },
        })
    }

    /// Loads a workspace of this account and node by its id, whatever its status.
    pub async fn require_workspace(&self, id: &WorkspaceId) -> Result<Workspace> {
        let row = self.store.read().await?.workspace(id).await?;
        row.filter(|row| row.account == self.account && row.node == *self.home.node())
            .ok_or_else(|| Error::UnknownWorkspace { name: id.to_string() })
    }

    /// Opens a repository of this account and node by its id.
    pub async fn require_repository(&self, id: &RepositoryId) -> Result<Context> {
        let row = self.store.read().await?.repository(self.home.node(), id).await?;
        let row = row.filter(|row| row.account == self.account && row.node == *self.home.node());
        self.known_repository(row.ok_or_else(|| Error::UnknownRepository { name: id.to_string() })?).await
    }

    /// Finds the workspace whose directory this is, itself and not something inside of it.
    pub async fn workspace_at(&self, path: &Path, among: Among) -> Result<Option<Workspace>> {
        let resolved = crate::disk::resolved(path);
        let is_it =
            |workspace: &Workspace| workspace.path == path || crate::disk::resolved(&workspace.path) == resolved;
        Ok(self.workspaces(None, among).await?.into_iter().find(is_it))
    }

    /// The repository that a workspace belongs to.
    pub async fn context_of(&self, workspace: &Workspace) -> Result<Context> {
        let row = self.store.read().await?.repository(&workspace.node, &workspace.repository_id).await?;
        let row = row.filter(|row| row.account == self.account);
        self.known_repository(row.ok_or_else(|| Error::UnknownRepository { name: workspace.repository.to_string() })?)
            .await
    }
}

fn candidates(found: &[Workspace]) -> Vec<String> {
    found.iter().map(|workspace| format!("{} {} of {}", workspace.id, workspace.name, workspace.repository)).collect()
}
