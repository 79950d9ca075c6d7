//! `setup` in a tree that a stranger wrote: of a fork, or under review.
//!
//! The lines are the repository's or the person's, and trusted; the scripts that they run are the tree's. So they run only
//! where a person asked for that (`--setup`), or trusted the very commit.

use async_recursion::async_recursion as boxed;
use spinney_core::{CommitId, OperationId, Workspace};

use crate::create::plan::is_foreign;
use crate::notice::{Observer, Warning};
use crate::repositories::context::Context;
use crate::resolve::request::Request;
use crate::tree::{Opened, open};
use crate::{Engine, Result};

impl Engine {
    /// Whether `setup` must not run for a request that checks a commit out.
    pub(crate) async fn withholds_setup(
        &self,
        context: &Context,
        request: &Request,
        commit: &CommitId,
    ) -> Result<bool> {
        let runs = !context.config().workspace.setup.is_empty();
        Ok(runs && is_foreign(request) && !request.setup && !self.is_trusted_commit(context, commit).await?)
    }

    /// Runs what was withheld, in a workspace that is there, once somebody agreed to it.
    pub(crate) async fn set_up_later(
        &self,
        context: &Context,
        request: &Request,
        workspace: &mut Workspace,
        observer: &dyn Observer,
    ) -> Result<()> {
        if !workspace.metadata.setup_withheld {
            return Ok(());
        }
        let agreed = request.setup
            || match head(context, workspace).await {
                Some(commit) => self.is_trusted_commit(context, &commit).await?,
                None => false,
            };
        if !agreed {
            return Ok(());
        }
        workspace.metadata.setup_withheld = false;
        self.set_up(context, workspace, &OperationId::generate(), observer).await?;
        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        if let Some(mut row) = db.workspace(&workspace.id).await? {
            row.metadata.setup_withheld = false;
            db.update_workspace(&row, &[row.status]).await?;
            db.commit().await?;
        }
        Ok(())
    }

    /// Remembers that a person agreed to run what this commit holds.
    #[boxed]
    pub async fn trust_commit(&self, context: &Context, commit: &CommitId) -> Result<()> {
        let mut db = self.store.write().await?;
        db.trust(&context.repository.id, &key(commit)).await?;
        Ok(db.commit().await?)
    }

    async fn is_trusted_commit(&self, context: &Context, commit: &CommitId) -> Result<bool> {
        Ok(self.store.read().await?.is_trusted(&context.repository.id, &key(commit)).await?)
    }
}

/// What a person is told where it does not run.
pub(super) async fn warning(context: &Context, workspace: &Workspace) -> Warning {
    let commit = head(context, workspace).await.map_or_else(|| "SHA".to_owned(), |commit| commit.to_string());
    let flag = format!("--{} {}", workspace.work.kind, workspace.work.key);
    Warning::ForeignSetupWithheld { lines: context.config().workspace.setup.len(), flag, commit }
}

async fn head(context: &Context, workspace: &Workspace) -> Option<CommitId> {
    let Opened::Whole(tree) = open(context, workspace) else { return None };
    tree.load_head().await.ok()?.commit().cloned()
}

/// As it stands among the hashes of contents.
fn key(commit: &CommitId) -> String {
    format!("commit:{commit}")
}
