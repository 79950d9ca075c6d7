//! A workspace's delivery: its commits go to the remote, and the row tells what the remote has.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, CommitId, Timestamp, Workspace};
use spinney_git::{Lease, Pushed, Wanted};

use crate::journal::events;
use crate::repositories::context::Context;
use crate::tree::marker::Marker;
use crate::tree::{self, Opened, open};
use crate::{Engine, Error, Result};

/// What a delivery found or did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivery<'a> {
    /// The branch that the work is on; an agent may have renamed it.
    pub branch: Option<&'a BranchName>,
    /// The commit that the remote has now.
    pub pushed: Option<&'a CommitId>,
    pub pull_request: Option<&'a str>,
}

impl Engine {
    /// Where a push would go, without credentials; none where there is no remote.
    #[boxed]
    pub async fn push_url(&self, context: &Context) -> Result<Option<String>> {
        let Some(remote) = self.remote(context).await? else { return Ok(None) };
        Ok(Some(context.load_push_url(&remote.name).await?))
    }

    /// The commits that the remote had when it was asked last, as far as they are here, by Spinney's own record: what
    /// `refs/remotes` says anybody could have written. None where there is no remote, or where a push goes to another place
    /// than was asked.
    #[boxed]
    pub async fn fetched_tips(&self, context: &Context) -> Result<Vec<CommitId>> {
        let Some(remote) = self.remote(context).await? else { return Ok(Vec::new()) };
        if context.load_push_url(&remote.name).await? != remote.url {
            return Ok(Vec::new());
        }
        Ok(context.load_fetched_tips(&remote.name).await?)
    }

    /// The same by the remote's word of now. Its base branch is brought here first: it may have gone on.
    #[boxed]
    pub async fn remote_tips_with_base(&self, context: &Context, base: Option<&BranchName>) -> Result<Vec<CommitId>> {
        if let (Some(remote), Some(base)) = (self.remote(context).await?, base) {
            let wanted = Wanted { branches: vec![base.clone()], ..Wanted::default() };
            if let Err(error) = self.fetch_from(context, &remote.name, &wanted, Duration::ZERO).await {
                tracing::debug!(%error, "the base could not be fetched");
            }
        }
        self.remote_tips(context).await
    }

    /// The commits that the remote says it has, as far as they are here; none where there is no remote.
    #[boxed]
    pub async fn remote_tips(&self, context: &Context) -> Result<Vec<CommitId>> {
        let Some(remote) = self.remote(context).await? else { return Ok(Vec::new()) };
        let mut asking = self.asking(context)?;
        loop {
            match context.load_remote_tips(&remote.name, asking.credential()).await {
                Ok(tips) => return Ok(tips),
                Err(error) => self.ask_with_more(context, &mut asking, error.into()).await?,
            }
        }
    }

    /// Pushes a commit of a workspace to a branch of its remote; none where there is no remote. What was pushed from this
    /// workspace to this very branch before may be replaced; a branch that somebody else pushed is never overwritten.
    #[boxed]
    pub async fn push(
        &self,
        context: &Context,
        workspace: &Workspace,
        commit: &CommitId,
        branch: &BranchName,
    ) -> Result<Option<Pushed>> {
        let Some(remote) = self.remote(context).await? else { return Ok(None) };
        if workspace.branch != *branch {
            // An agent may rename its branch; one that the remote has already is somebody else's.
            let wanted = Wanted { branches: vec![branch.clone()], ..Wanted::default() };
            self.fetch_from(context, &remote.name, &wanted, Duration::ZERO).await?;
            let theirs = context.load_remote_branch(&remote.name, branch).await?;
            if theirs.is_some_and(|tip| tip != *commit) {
                return Err(Error::ForeignBranch { branch: branch.clone(), remote: remote.name });
            }
        }
        tree::bring_in(context, workspace).await?;
        let ours = workspace.metadata.pushed_commit.clone().filter(|_| workspace.branch == *branch);
        let lease = ours.map_or(Lease::Absent, Lease::At);
        let mut asking = self.asking(context)?;
        loop {
            match tree::push(context, &remote.name, commit, branch, &lease, asking.credential()).await {
                Ok(pushed) => return Ok(Some(pushed)),
                Err(error) => self.ask_with_more(context, &mut asking, error).await?,
            }
        }
    }

    /// Notes how long a workspace is kept after its job: from then on it counts as stale.
    #[boxed]
    pub async fn keep_for(&self, workspace: &Workspace, time: Duration) -> Result<()> {
        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        if let Some(mut row) = db.workspace(&workspace.id).await? {
            row.metadata.keep_until_ms = Some(Timestamp::now().plus(time).as_millisecond());
            db.update_workspace(&row, &[row.status]).await?;
            db.commit().await?;
        }
        Ok(())
    }

    /// Notes what was delivered. The row's branch follows git's, unless another workspace has that one.
    #[boxed]
    pub async fn record_delivery(
        &self,
        context: &Context,
        workspace: &Workspace,
        delivery: &Delivery<'_>,
    ) -> Result<Workspace> {
        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        let row = db.workspace(&workspace.id).await?.filter(|row| row.status.is_live());
        let Some(mut row) = row else { return Err(Error::Busy { name: workspace.name.clone() }) };
        let renamed = delivery.branch.filter(|branch| **branch != row.branch);
        if let Some(branch) = renamed
            && db.workspace_on_branch(&row.repository_id, branch).await?.is_none()
        {
            row.branch = branch.clone();
        }
        if let Some(commit) = delivery.pushed {
            row.pushed = true;
            row.metadata.pushed_commit = Some(commit.clone());
        }
        if let Some(pull_request) = delivery.pull_request {
            row.pull_request = Some(pull_request.to_owned());
        }
        row.last_activity_at = Timestamp::now();
        db.update_workspace(&row, &[row.status]).await?;
        events::record_delivery(&mut db, &row, delivery)?;
        db.commit().await?;
        if renamed.is_some()
            && let Opened::Whole(tree) = open(context, &row)
        {
            Marker::of(&row).write(tree.admin_dir())?;
        }
        Ok(row)
    }
}
