//! What vanished, or came back, since anybody looked: noticed by whoever lists workspaces.
//!
//! A list comes from the store. One look at each directory, which costs next to nothing, says where the store is behind; only
//! there a repository is opened, and the row reconciled as `cleanup orphans` does it.

use std::fs;
use std::io::ErrorKind;

use async_recursion::async_recursion as boxed;
use spinney_core::{RepositoryId, Workspace, WorkspaceStatus};

use super::Findings;
use crate::home::links;
use crate::resolve::lookup::Among;
use crate::{Engine, Result};

impl Engine {
    /// Marks the workspaces of a repository, or of all, whose directory vanished, and those whose directory is back. What can't
    /// be looked at stays as it is.
    #[boxed]
    pub async fn notice_vanished(&self, repository: Option<&RepositoryId>) -> Result<()> {
        let rows = self.workspaces(repository, Among::Live).await?;
        for row in rows.iter().filter(|row| is_behind(row)) {
            if let Err(error) = self.catch_up(row).await {
                tracing::debug!(workspace = %row.name, %error, "a directory that vanished could not be looked after");
            }
        }
        Ok(())
    }
}

impl Engine {
    async fn catch_up(&self, row: &Workspace) -> Result<()> {
        let context = self.context_of(row).await?;
        self.reconcile_row(&context, row, &mut Findings { list: Vec::new(), dry_run: false }).await?;
        links::mend(&self.home, &self.require_workspace(&row.id).await?);
        Ok(())
    }
}

/// Whether the store says of a directory what the disk does not.
fn is_behind(row: &Workspace) -> bool {
    let found = fs::symlink_metadata(&row.path);
    match row.status {
        WorkspaceStatus::Active => found.is_err_and(|error| error.kind() == ErrorKind::NotFound),
        WorkspaceStatus::Lost => found.is_ok(),
        _ => false,
    }
}
