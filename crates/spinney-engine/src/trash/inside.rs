//! A repository that lies in a workspace's tree, and has live workspaces of its own: they would go with the tree.

use spinney_core::Workspace;

use crate::resolve::lookup::Among;
use crate::{Engine, Error, Result};

impl Engine {
    /// Refuses a workspace in whose tree the repository of another live one is. Nobody can agree to that: it would take work
    /// away that nobody spoke of.
    pub(super) async fn require_no_repository_inside(&self, workspace: &Workspace) -> Result<()> {
        let known = self.store.read().await?.repositories(&self.account, self.home.node()).await?;
        for repository in known.into_iter().filter(|known| known.common_dir.starts_with(&workspace.path)) {
            let live = self.workspaces(Some(&repository.id), Among::Live).await?;
            if let Some(first) = live.into_iter().next() {
                let (name, repository) = (workspace.name.clone(), repository.name);
                return Err(Error::RepositoryInside { name, repository, live: first.name });
            }
        }
        Ok(())
    }
}
