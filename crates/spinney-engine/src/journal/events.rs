//! The audit log: what happened to which workspace, repository, account or token. Each entry is written with the change that it tells of.

use async_recursion::async_recursion as boxed;
use spinney_core::event::{
    AboutAccount, AboutRepository, AboutToken, AboutWorkspace, SweepFailure, SweptAway, SweptBranch,
};
use spinney_core::{Account, Event, Repository, Token, Workspace, WorkspaceStatus};
use spinney_store::{Connection, Subject};

use crate::cleanup::{DroppedBranch, Report, What};
use crate::deliver::Delivery;
use crate::{Engine, Result};

/// What happened to a workspace, where its kind says it all.
pub(crate) fn record(db: &mut Connection, workspace: &Workspace, what: fn(AboutWorkspace) -> Event) -> Result<()> {
    Ok(db.record(Subject::workspace(workspace), what(AboutWorkspace::of(workspace)))?)
}

/// `warm` tells whether it came from the pool; nothing where no pool was asked.
pub(crate) fn record_created(db: &mut Connection, workspace: &Workspace, warm: Option<bool>) -> Result<()> {
    let about = AboutWorkspace::of(workspace);
    let event = Event::WorkspaceCreated { about, platform: workspace.platform, warm };
    Ok(db.record(Subject::workspace(workspace), event)?)
}

pub(crate) fn record_delivery(db: &mut Connection, workspace: &Workspace, delivery: &Delivery<'_>) -> Result<()> {
    let event = Event::WorkspaceDelivered {
        about: AboutWorkspace::of(workspace),
        pushed: delivery.pushed.cloned(),
        pull_request: delivery.pull_request.map(ToOwned::to_owned),
    };
    Ok(db.record(Subject::workspace(workspace), event)?)
}

/// What somebody found a workspace to be who looked at the disk, or had a failure with it.
pub(crate) fn record_found(db: &mut Connection, workspace: &Workspace) -> Result<()> {
    let about = AboutWorkspace::with_error(workspace);
    let event = match workspace.status {
        WorkspaceStatus::Active => Event::WorkspaceFound(about),
        WorkspaceStatus::Lost => Event::WorkspaceLost(about),
        WorkspaceStatus::Broken => Event::WorkspaceBroken(about),
        WorkspaceStatus::Trashed => Event::WorkspaceRemoved(about),
        WorkspaceStatus::Purged => Event::WorkspacePurged(about),
        WorkspaceStatus::Warm | WorkspaceStatus::Reading | WorkspaceStatus::Creating | WorkspaceStatus::Removing => {
            return Ok(());
        }
    };
    Ok(db.record(Subject::workspace(workspace), event)?)
}

pub(crate) fn record_repository(
    db: &mut Connection,
    repository: &Repository,
    what: fn(AboutRepository) -> Event,
) -> Result<()> {
    Ok(db.record(Subject::repository(repository), what(AboutRepository::of(repository)))?)
}

/// Told to whoever did it: the account itself has seen nothing yet.
pub(crate) fn record_account_added(db: &mut Connection, by: &str, account: &Account) -> Result<()> {
    let event = Event::AccountAdded(AboutAccount { name: account.name.clone() });
    Ok(db.record(Subject::account(by), event)?)
}

pub(crate) fn record_token(db: &mut Connection, token: &Token, what: fn(AboutToken) -> Event) -> Result<()> {
    Ok(db.record(Subject::account(token.account.as_str()), what(AboutToken::of(token)))?)
}

impl Engine {
    /// Notes what a sweep did; the caller has added to its report what others did in the same sweep.
    #[boxed]
    pub async fn record_sweep(&self, what: What, report: &Report) -> Result<()> {
        let swept = |(workspace, why): &(Workspace, String)| SweptAway {
            workspace_id: workspace.id.clone(),
            name: workspace.name.clone(),
            why: why.clone(),
        };
        let branch = |dropped: &DroppedBranch| SweptBranch {
            workspace_id: dropped.workspace.id.clone(),
            branch: dropped.branch.clone(),
            commit: dropped.commit.clone(),
            why: dropped.why.clone(),
        };
        let failed = |(name, error): &(String, String)| SweepFailure { name: name.clone(), error: error.clone() };
        let event = Event::Swept {
            merged: what.merged,
            stale: what.stale,
            orphans: what.orphans,
            caches: what.caches,
            removed: report.removed.iter().map(swept).collect(),
            branches: report.branches.iter().map(branch).collect(),
            kept: report.kept.len(),
            failed: report.failed.iter().map(failed).collect(),
            findings: report.findings.clone(),
            freed_bytes: report.caches.iter().map(|cleaned| cleaned.bytes).sum(),
        };
        let mut db = self.store.write().await?;
        db.record(Subject::account(&self.account), event)?;
        Ok(db.commit().await?)
    }
}
