//! The audit log: what happened to which workspace.

use spinney_core::{Timestamp, Workspace};
use spinney_store::{Connection, Event};

use crate::Result;

pub(crate) async fn record(db: &mut Connection, workspace: &Workspace, kind: &str) -> Result<()> {
    let detail = serde_json::json!({ "name": workspace.name, "branch": workspace.branch, "work": workspace.work });
    let event = Event {
        account: workspace.account.clone(),
        kind: kind.to_owned(),
        workspace_id: Some(workspace.id.clone()),
        repository_id: Some(workspace.repository_id.clone()),
        detail,
        at: Timestamp::now(),
    };
    Ok(db.record_event(&event).await?)
}
