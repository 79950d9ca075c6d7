//! A repository that Spinney knows.

use std::sync::Arc;

use spinney_core::RepositoryName;

use super::Workspace;
use crate::resolve::lookup::Among;
use crate::{Context, Engine, Request, Resolution, Result};

/// A repository that Spinney knows, for one account. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Repository {
    engine: Engine,
    context: Arc<Context>,
}

impl Repository {
    pub(super) fn new(engine: Engine, context: Context) -> Self {
        Self { engine, context: Arc::new(context) }
    }

    /// Its name, `owner/name`.
    #[must_use]
    pub fn name(&self) -> &RepositoryName {
        &self.context.repository.name
    }

    /// Its row, git and configuration, as they were when it was found.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Resolves a request to its workspace: one that is there, or a new one. The configuration is read again for it.
    pub async fn resolve(&self, request: &Request) -> Result<(Workspace, Resolution)> {
        let context = self.engine.known_repository(self.context.repository.clone()).await?;
        let (context, resolution) = self.engine.resolve(context, request, &|_| {}).await?;
        let workspace = Workspace::new(self.engine.clone(), Arc::new(context), resolution.workspace.clone());
        Ok((workspace, resolution))
    }

    /// Finds a live workspace by its name, id, branch or number.
    pub async fn workspace(&self, name: &str) -> Result<Workspace> {
        self.find(name, Among::Live).await
    }

    /// Finds a workspace that was removed: in the trash, or purged.
    pub async fn removed_workspace(&self, name: &str) -> Result<Workspace> {
        self.find(name, Among::Removed).await
    }

    /// Lists its live workspaces, newest first.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>> {
        let rows = self.engine.workspaces(Some(&self.context.repository.id), Among::Live).await?;
        Ok(rows.into_iter().map(|row| self.open(row)).collect())
    }

    async fn find(&self, name: &str, among: Among) -> Result<Workspace> {
        Ok(self.open(self.engine.find_workspace_in(&self.context.repository.id, name, among).await?))
    }

    fn open(&self, row: spinney_core::Workspace) -> Workspace {
        Workspace::new(self.engine.clone(), Arc::clone(&self.context), row)
    }
}
