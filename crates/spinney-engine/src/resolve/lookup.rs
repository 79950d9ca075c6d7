//! Finds workspaces by what a person types: a name, an id, an id's beginning, a branch, and what else can be said of one.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::config::nearest;
use spinney_core::{RepositoryId, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_store::WorkspaceFilter;

use super::spoken::Spoken;
use crate::home::disk::resolved;
use crate::repositories::context::Context;
use crate::tree;
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
    #[boxed]
    pub async fn workspaces(&self, repository: Option<&RepositoryId>, among: Among) -> Result<Vec<Workspace>> {
        Ok(self.store.read().await?.workspaces(&self.filter(repository, among)).await?)
    }

    /// Finds the one workspace that a person means. In a repository a name, a number or a part of a name means a workspace of
    /// that repository alone; only an id or an address leads to another one. With [`Among::All`] a live one wins over those in
    /// the trash.
    #[boxed]
    pub async fn find_workspace(
        &self,
        repository: Option<&RepositoryId>,
        name: &str,
        among: Among,
    ) -> Result<Workspace> {
        self.find_among(repository, true, name, among).await
    }

    /// The same in one repository, for a caller that may know of no other.
    #[boxed]
    pub async fn find_workspace_in(&self, repository: &RepositoryId, name: &str, among: Among) -> Result<Workspace> {
        self.find_among(Some(repository), false, name, among).await
    }

    /// Looks for whole names and numbers, then for what means one workspace wherever it is, then for parts of names.
    async fn find_among(
        &self,
        repository: Option<&RepositoryId>,
        leaves_it: bool,
        name: &str,
        among: Among,
    ) -> Result<Workspace> {
        let rounds = match among {
            Among::All => vec![Among::Live, Among::Trashed, Among::All],
            Among::Removed => vec![Among::Trashed, Among::Removed],
            Among::Live | Among::Warm | Among::Reading | Among::Trashed => vec![among],
        };
        let spoken = Spoken::read(name);
        let is_part = matches!(spoken, Some(Spoken::Part(_)));
        let repositories = match spoken {
            Some(Spoken::Address(_)) => self.repositories().await?,
            _ => Vec::new(),
        };
        let mut db = self.store.read().await?;
        for among in &rounds {
            let filter = self.filter(repository, *among);
            let mut found = db.find_workspaces(&filter, name).await?;
            if let Some(spoken) = spoken.as_ref().filter(|_| !is_part) {
                let rows = db.workspaces(&filter).await?;
                let meant = spoken.select(&mut db, &repositories, rows).await?;
                let others: Vec<_> = meant.into_iter().filter(|row| found.iter().all(|one| one.id != row.id)).collect();
                found.extend(others);
            }
            if let Some(one) = only(name, found)? {
                return Ok(one);
            }
        }
        if repository.is_some() && leaves_it {
            for among in &rounds {
                let filter = self.filter(None, *among);
                let found = match spoken.as_ref() {
                    Some(address @ Spoken::Address(_)) => {
                        let rows = db.workspaces(&filter).await?;
                        address.select(&mut db, &repositories, rows).await?
                    }
                    _ => {
                        let mut found = db.find_workspaces(&filter, name).await?;
                        found.retain(|row| row.id.as_str().starts_with(name));
                        found
                    }
                };
                if let Some(one) = only(name, found)? {
                    return Ok(one);
                }
            }
        }
        // The whole name of one that was removed means no other, whose name it is a part of.
        let other = if among == Among::Live { Among::Removed } else { Among::Live };
        let names_another = !db.find_workspaces(&self.filter(repository, other), name).await?.is_empty();
        if let Some(spoken) = spoken.filter(|_| is_part && !names_another) {
            for among in &rounds {
                let rows = db.workspaces(&self.filter(repository, *among)).await?;
                if let Some(one) = only(name, spoken.select(&mut db, &repositories, rows).await?)? {
                    return Ok(one);
                }
            }
        }
        Err(self.elsewhere(&mut db, repository, leaves_it, name, among).await?)
    }

    /// Why a name was not found: it is on the other side of the trash, in another repository, or nowhere.
    async fn elsewhere(
        &self,
        db: &mut spinney_store::Connection,
        repository: Option<&RepositoryId>,
        leaves_it: bool,
        name: &str,
        among: Among,
    ) -> Result<Error> {
        let other = if among == Among::Live { Among::Trashed } else { Among::Live };
        let found = db.find_workspaces(&self.filter(repository, other), name).await?;
        Ok(match found.into_iter().next() {
            Some(Workspace { name, id, status: WorkspaceStatus::Trashed, .. }) => Error::InTrash { name, id },
            Some(Workspace { name, status, .. }) => Error::NotInTrash { name, status },
            None => {
                let rows = db.workspaces(&self.filter(repository, among)).await?;
                // One of that very name was made in this moment.
                let nearest = nearest(name, rows.iter().map(|row| row.name.as_str())).filter(|near| *near != name);
                let of_others = match repository.filter(|_| leaves_it) {
                    Some(_) => self.of_that_name(db, name, among).await?,
                    None => None,
                };
                match of_others {
                    Some(other) => Error::InOtherRepository {
                        name: name.to_owned(),
                        workspace: other.name,
                        repository: other.repository,
                    },
                    None => Error::UnknownWorkspace { name: name.to_owned(), nearest: nearest.map(str::to_owned) },
                }
            }
        })
    }

    /// A workspace of any repository with that whole name or number.
    async fn of_that_name(
        &self,
        db: &mut spinney_store::Connection,
        name: &str,
        among: Among,
    ) -> Result<Option<Workspace>> {
        let filter = self.filter(None, among);
        if let Some(found) = db.find_workspaces(&filter, name).await?.into_iter().next() {
            return Ok(Some(found));
        }
        let Some(number @ Spoken::Number(_)) = Spoken::read(name) else { return Ok(None) };
        let rows = db.workspaces(&filter).await?;
        Ok(number.select(db, &[], rows).await?.into_iter().next())
    }

    /// Finds the workspace that a directory is in: its tree, or where that lies in the trash.
    pub async fn workspace_around(&self, directory: &Path, among: Among) -> Result<Workspace> {
        let directory = resolved(directory);
        let place = |row: &Workspace| match row.status {
            WorkspaceStatus::Trashed => tree::trash_place(&self.home, &row.path, row.id.as_str()),
            _ => row.path.clone(),
        };
        let depth = |row: &Workspace| {
            let place: PathBuf = resolved(&place(row));
            directory.starts_with(&place).then(|| place.components().count())
        };
        for (statuses, is_asked) in [(among, true), (Among::Trashed, among == Among::Trashed)] {
            let rows = self.workspaces(None, statuses).await?;
            // A tree can lie in another one's; the innermost is meant.
            let around = rows.into_iter().filter_map(|row| Some((depth(&row)?, row))).max_by_key(|(depth, _)| *depth);
            match around {
                Some((_, row)) if is_asked => return Ok(row),
                Some((_, Workspace { name, id, .. })) => return Err(Error::InTrash { name, id }),
                None => {}
            }
        }
        Err(Error::OutsideWorkspaces { path: directory })
    }

    /// Loads a workspace of this account and node by its id, whatever its status.
    #[boxed]
    pub async fn require_workspace(&self, id: &WorkspaceId) -> Result<Workspace> {
        let row = self.store.read().await?.workspace(id).await?;
        row.filter(|row| row.account == self.account && row.node == *self.home.node())
            .ok_or_else(|| Error::UnknownWorkspace { name: id.to_string(), nearest: None })
    }

    /// Opens a repository of this account and node by its id.
    #[boxed]
    pub async fn require_repository(&self, id: &RepositoryId) -> Result<Context> {
        let row = self.store.read().await?.repository(self.home.node(), id).await?;
        let row = row.filter(|row| row.account == self.account && row.node == *self.home.node());
        self.known_repository(row.ok_or_else(|| Error::UnknownRepository { name: id.to_string() })?).await
    }

    /// Finds the workspace whose directory this is, itself and not something inside of it.
    #[boxed]
    pub async fn workspace_at(&self, path: &Path, among: Among) -> Result<Option<Workspace>> {
        let place = resolved(path);
        let is_it = |workspace: &Workspace| workspace.path == path || resolved(&workspace.path) == place;
        Ok(self.workspaces(None, among).await?.into_iter().find(is_it))
    }

    /// The repository that a workspace belongs to.
    #[boxed]
    pub async fn context_of(&self, workspace: &Workspace) -> Result<Context> {
        let row = self.store.read().await?.repository(&workspace.node, &workspace.repository_id).await?;
        let row = row.filter(|row| row.account == self.account);
        self.known_repository(row.ok_or_else(|| Error::UnknownRepository { name: workspace.repository.to_string() })?)
            .await
    }
}

/// The one that was found, if any.
fn only(name: &str, mut found: Vec<Workspace>) -> Result<Option<Workspace>> {
    // One of which nothing is left gives way to those that can come back.
    if found.iter().any(|workspace| workspace.metadata.erased.is_none()) {
        found.retain(|workspace| workspace.metadata.erased.is_none());
    }
    if found.len() > 1 {
        return Err(Error::AmbiguousWorkspace { name: name.to_owned(), candidates: candidates(&found) });
    }
    Ok(found.pop())
}

fn candidates(found: &[Workspace]) -> Vec<String> {
    found.iter().map(|workspace| format!("{} {} of {}", workspace.id, workspace.name, workspace.repository)).collect()
}
