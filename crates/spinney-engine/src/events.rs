//! The audit log: what happened to which workspace, repository, account or token. Each entry is written with the change that it tells of.

use serde_json::{Value, json};
use spinney_core::{Account, Repository, Timestamp, Token, Workspace, WorkspaceStatus};
use spinney_store::{Connection, Event};

use crate::cleanup::{Report, What};
use crate::deliver::Delivery;
use crate::{Engine, Result};

pub(crate) fn record(db: &mut Connection, workspace: &Workspace, kind: &str) -> Result<()> {
    write(db, workspace, kind, about(workspace))
}

/// `warm` tells whether it came from the pool; nothing where no pool was asked.
pub(crate) fn record_created(db: &mut Connection, workspace: &Workspace, warm: Option<bool>) -> Result<()> {
    let mut detail = about(workspace);
    detail["warm"] = json!(warm);
    detail["platform"] = json!(workspace.platform);
    write(db, workspace, "workspace.created", detail)
}

pub(crate) fn record_delivery(db: &mut Connection, workspace: &Workspace, delivery: &Delivery<'_>) -> Result<()> {
    let mut detail = about(workspace);
    detail["pushed"] = json!(delivery.pushed);
    detail["pull_request"] = json!(delivery.pull_request);
    write(db, workspace, "workspace.delivered", detail)
}

/// What somebody found a workspace to be who looked at the disk, or had a failure with it.
pub(crate) fn record_found(db: &mut Connection, workspace: &Workspace) -> Result<()> {
    let kind = match workspace.status {
        WorkspaceStatus::Active => "workspace.found",
        WorkspaceStatus::Lost => "workspace.lost",
        WorkspaceStatus::Broken => "workspace.broken",
        WorkspaceStatus::Trashed => "workspace.removed",
        WorkspaceStatus::Purged => "workspace.purged",
        WorkspaceStatus::Warm | WorkspaceStatus::Reading | WorkspaceStatus::Creating | WorkspaceStatus::Removing => {
            return Ok(());
        }
    };
    let mut detail = about(workspace);
    detail["error"] = json!(workspace.error);
    write(db, workspace, kind, detail)
}

pub(crate) fn record_repository(db: &mut Connection, repository: &Repository, kind: &str) -> Result<()> {
    db.record_event(Event {
        account: repository.account.clone(),
        kind: kind.to_owned(),
        workspace_id: None,
        repository_id: Some(repository.id.clone()),
        job_id: None,
        detail: json!({ "name": repository.name }),
        at: Timestamp::now(),
    })?;
    Ok(())
}

/// Told to whoever did it: the account itself has seen nothing yet.
pub(crate) fn record_account(db: &mut Connection, by: &str, account: &Account, kind: &str) -> Result<()> {
    db.record_event(Event {
        account: by.to_owned(),
        kind: kind.to_owned(),
        workspace_id: None,
        repository_id: None,
        job_id: None,
        detail: json!({ "name": account.name }),
        at: Timestamp::now(),
    })?;
    Ok(())
}

pub(crate) fn record_token(db: &mut Connection, token: &Token, kind: &str) -> Result<()> {
    db.record_event(Event {
        account: token.account.to_string(),
        kind: kind.to_owned(),
        workspace_id: None,
        repository_id: None,
        job_id: None,
        detail: json!({ "id": token.id, "kind": token.kind, "name": token.name, "scope": token.scope }),
        at: Timestamp::now(),
    })?;
    Ok(())
}

impl Engine {
    /// Notes what a sweep did; the caller has added to its report what others did in the same sweep.
    pub async fn record_sweep(&self, what: What, report: &Report) -> Result<()> {
        let removed: Vec<_> = report
            .removed
            .iter()
            .map(|(workspace, why)| json!({ "workspace_id": workspace.id, "name": workspace.name, "why": why }))
            .collect();
        let failed: Vec<_> =
            report.failed.iter().map(|(name, error)| json!({ "name": name, "error": error })).collect();
        let detail = json!({
            "merged": what.merged,
            "stale": what.stale,
            "orphans": what.orphans,
            "caches": what.caches,
            "removed": removed,
            "kept": report.kept.len(),
            "failed": failed,
            "findings": report.findings,
            "freed_bytes": report.caches.iter().map(|cleaned| cleaned.bytes).sum::<u64>(),
        });
        let mut db = self.store.write().await?;
        db.record_event(Event {
            account: self.account.clone(),
            kind: "cleanup.swept".to_owned(),
            workspace_id: None,
            repository_id: None,
            job_id: None,
            detail,
            at: Timestamp::now(),
        })?;
        Ok(db.commit().await?)
    }
}

fn about(workspace: &Workspace) -> Value {
    json!({ "name": workspace.name, "branch": workspace.branch, "work": workspace.work })
}

fn write(db: &mut Connection, workspace: &Workspace, kind: &str, detail: Value) -> Result<()> {
    db.record_event(Event {
        account: workspace.account.clone(),
        kind: kind.to_owned(),
        workspace_id: Some(workspace.id.clone()),
        repository_id: Some(workspace.repository_id.clone()),
        job_id: None,
        detail,
        at: Timestamp::now(),
    })?;
    Ok(())
}
