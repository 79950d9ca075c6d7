//! The audit log: what happened to which workspace.

use serde_json::{Value, json};
use spinney_core::{Timestamp, Workspace};
use spinney_store::{Connection, Event};

use crate::Result;
use crate::deliver::Delivery;

pub(crate) async fn record(db: &mut Connection, workspace: &Workspace, kind: &str) -> Result<()> {
    write(db, workspace, kind, about(workspace)).await
}

pub(crate) async fn record_delivery(db: &mut Connection, workspace: &Workspace, delivery: &Delivery<'_>) -> Result<()> {
    let mut detail = about(workspace);
    detail["pushed"] = json!(delivery.pushed);
    detail["pull_request"] = json!(delivery.pull_request);
    write(db, workspace, "workspace.delivered", detail).await
}

fn about(workspace: &Workspace) -> Value {
    json!({ "name": workspace.name, "branch": workspace.branch, "work": workspace.work })
}

async fn write(db: &mut Connection, workspace: &Workspace, kind: &str, detail: Value) -> Result<()> {
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
