//! Whether a workspace's branch was pushed, also by hand: learned where git is asked anyway, and noted in the row.

use async_recursion::async_recursion as boxed;
use spinney_core::Workspace;

use crate::repositories::context::Context;
use crate::{Engine, Result};

impl Engine {
    /// Whether a workspace's branch was pushed: by Spinney, or by hand as far as the remote-tracking branch tells. What is
    /// learned is noted. Who can't tell changes nothing.
    #[boxed]
    pub async fn learn_pushed(&self, context: &Context, workspace: &Workspace) -> bool {
        if workspace.pushed || !workspace.status.is_of_work() {
            return workspace.pushed;
        }
        let is_pushed = self.is_at_remote(context, workspace).await.unwrap_or(false);
        if is_pushed {
            // Nobody waits for it: the next look learns the same.
            let noted = async { self.store.read().await?.record_pushed(&workspace.id).await };
            let _ = noted.await;
        }
        is_pushed
    }

    /// Whether the remote has commits of a workspace's branch under its name, as it was seen last.
    async fn is_at_remote(&self, context: &Context, workspace: &Workspace) -> Result<bool> {
        let Some(tip) = context.load_branch(&workspace.branch).await? else { return Ok(false) };
        // One without commits of its own has nothing that could have been pushed.
        if tip == workspace.base_commit {
            return Ok(false);
        }
        let Some(remote) = self.remote(context).await? else { return Ok(false) };
        let Some(there) = context.load_remote_branch(&remote.name, &workspace.branch).await? else { return Ok(false) };
        Ok(there == tip
            || context.is_ancestor(&tip, &there).await?
            // What was there before the workspace was pushed by somebody else.
            || (workspace.made_its_branch()
                && there != workspace.base_commit
                && context.is_ancestor(&there, &tip).await?))
    }
}
