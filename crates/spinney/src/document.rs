//! The JSON documents: the same words and shapes wherever a workspace is told of.

use serde_json::{Value, json};
use spinney_core::{Repository, Verdict, Workspace, WorkspaceStatus};
use spinney_engine::{Details, Engine, Sizes, has_tree};

/// One workspace.
pub fn workspace(engine: &Engine, workspace: &Workspace) -> Value {
    let size = workspace.size.filter(|_| has_tree(workspace));
    json!({
        "id": workspace.id,
        "name": workspace.name,
        "title": workspace.title,
        "repository": workspace.repository,
        "kind": workspace.work.kind,
        "key": workspace.work.key,
        "path": workspace.path,
        "link": engine.link_of(workspace),
        "branch": workspace.branch,
        "base_branch": workspace.base_branch,
        "base_commit": workspace.base_commit,
        "provider": workspace.provider,
        "populate": workspace.populate,
        "status": workspace.status,
        "error": workspace.error,
        "platform": workspace.platform,
        "pushed": workspace.pushed,
        "pull_request": workspace.pull_request,
        "pinned": workspace.pinned,
        "adopted_from": workspace.adopted_from,
        "metadata": workspace.metadata,
        "created_at": workspace.created_at,
        "last_activity_at": workspace.last_activity_at,
        "removed_at": workspace.removed_at,
        "size_bytes": size.map(|size| size.bytes),
        "size_at": size.map(|size| size.at),
    })
}

/// Adds what git said about it.
pub fn with_details(mut document: Value, row: &Workspace, details: &Details) -> Value {
    document["state"] = json!(details.state(row));
    document["changed"] = json!(details.changed);
    document["untracked"] = json!(details.untracked);
    document["ahead"] = json!(details.distance.map(|(ahead, _)| ahead));
    document["behind"] = json!(details.distance.map(|(_, behind)| behind));
    document["fault"] = json!(details.fault);
    document["head"] = json!(details.head);
    document
}

pub fn verdict(engine: &Engine, row: &Workspace, verdict: &Verdict) -> Value {
    json!({
        "workspace": workspace(engine, row),
        "removable": verdict.removable(&spinney_core::Consent::None),
        "reasons": verdict.reasons,
        "evidence": verdict.evidence().collect::<Vec<_>>(),
    })
}

/// What is known of some workspaces' sizes.
pub fn sizes(sizes: &Sizes) -> Value {
    json!({ "bytes": sizes.bytes, "known": sizes.known, "of": sizes.trees })
}

pub fn repository(repository: &Repository, live: usize) -> Value {
    let mut document = json!(repository);
    document["workspaces"] = json!(live);
    document
}

/// Statuses in the order of a workspace's life, with how many there are of each.
pub fn counts(workspaces: &[Workspace]) -> Value {
    let count = |status: WorkspaceStatus| workspaces.iter().filter(|workspace| workspace.status == status).count();
    let pairs = WorkspaceStatus::ALL.iter().map(|status| (status.as_str().to_owned(), json!(count(*status))));
    Value::Object(pairs.collect())
}
