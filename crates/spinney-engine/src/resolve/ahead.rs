//! Whether a request will be admitted, asked before anything is recorded for it: who sits before a terminal learns at once
//! that there is no room.

use async_recursion::async_recursion as boxed;

use super::order::candidates;
use crate::create::make::COUNTED;
use crate::notice::Observer;
use crate::repositories::context::Context;
use crate::resolve::request::Request;
use crate::{Engine, Result};

impl Engine {
    /// Makes room for a request that needs a new workspace; blocked with the counts where there is none. Others may be faster
    /// afterwards, so that the creation asks again.
    #[boxed]
    pub async fn require_room(&self, context: &Context, request: &Request, observer: &dyn Observer) -> Result<()> {
        let request = &self.with_branches_meant(context, request).await?;
        if self.may_be_there(context, request).await? {
            return Ok(());
        }
        let mut db = self.store.read().await?;
        let count = db.count_workspaces(&context.repository.id, self.home.node(), &COUNTED).await?;
        drop(db);
        if count >= u64::from(context.config().limits.max_workspaces) {
            self.make_room(context, &request.done, observer).await?;
        }
        match self.known_start(context, request.base.as_ref()).await {
            Ok(base) => self.check_disk(context, &base.tip).await,
            // What it starts from is still to be fetched, or missing: the creation says which.
            Err(_) => Ok(()),
        }
    }

    /// Whether a workspace or worktree of the work may be there, so that none need be made.
    async fn may_be_there(&self, context: &Context, request: &Request) -> Result<bool> {
        let mut db = self.store.read().await?;
        if let Some(conversation) = &request.conversation
            && let Some(row) = db.workspace_of_conversation(&self.account, request.platform, conversation).await?
            && row.status.is_live()
        {
            return Ok(true);
        }
        for (work, _) in candidates(request) {
            if db.workspace_of_work(&context.repository.id, &work).await?.is_some() {
                return Ok(true);
            }
        }
        drop(db);
        let generated = request.work.default_branch();
        let wanted = [&request.branch, &request.head, &request.suggest, &Some(generated)];
        let entries = context.load_worktrees().await?;
        let is_wanted = |branch| wanted.iter().any(|wanted| **wanted == branch);
        Ok(entries.into_iter().any(|entry| entry.branch.is_some() && is_wanted(entry.branch)))
    }
}
