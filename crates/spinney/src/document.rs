//! The JSON documents: the same words and shapes wherever a workspace or a job is told of.

use std::path::Path;

use serde_json::{Value, json};
use spinney_core::{Job, Push, Repository, Session, Timestamp, Verdict, Workspace, WorkspaceStatus};
use spinney_engine::{Conflict, Conflicts, Details, Engine, Opponent, Sizes, has_tree};

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

/// One job. What an agent said is in it as it is: JSON has no terminal to steer.
pub fn job(job: &Job, sessions: &[Session], workspace: Option<&Workspace>, log: &Path) -> Value {
    let outcome = &job.outcome;
    let ended = job.ended_at.unwrap_or_else(Timestamp::now);
    let duration_ms = job.started_at.map(|started| ended.as_millisecond().saturating_sub(started.as_millisecond()));
    json!({
        "id": job.id,
        "repository": job.repository,
        "agent": job.agent,
        "kind": job.work.kind,
        "key": job.work.key,
        "title": job.title,
        "prompt": job.prompt,
        "trigger": job.trigger,
        "status": job.status,
        "waits_for": job.waits_for,
        "cancel": job.cancel,
        "attempt": job.attempt,
        "workspace": workspace.map(|workspace| &workspace.name),
        "workspace_id": job.workspace_id,
        "path": workspace.filter(|workspace| workspace.status.is_live()).map(|workspace| &workspace.path),
        "branch": outcome.branch,
        "base_commit": outcome.base_commit,
        "commit": outcome.commit,
        "commits": outcome.commits,
        "files": outcome.files,
        "insertions": outcome.insertions,
        "deletions": outcome.deletions,
        "pushed": outcome.push == Some(Push::Pushed),
        "push": outcome.push,
        "pull_request": outcome.pull_request,
        "sessions": sessions.iter().map(session).collect::<Vec<_>>(),
        "escaped": outcome.escaped,
        "denied": outcome.denied,
        "summary": outcome.summary,
        "error": outcome.error,
        "duration_ms": duration_ms,
        "usage": outcome.usage,
        "log": log,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    })
}

fn session(session: &Session) -> Value {
    json!({
        "id": session.id,
        "runtime": session.runtime,
        "conversation": session.conversation,
        "resumed": session.resumed,
        "status": session.status,
        "usage": session.usage,
        "context_tokens": session.context_tokens,
        "context_window": session.context_window,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
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

/// Who would conflict with whom, each in full.
pub fn conflicts(conflicts: &Conflicts) -> Value {
    let conflict = |Conflict { workspace, with, files }: &Conflict| {
        let (with, base) = match with {
            Opponent::Workspace(name) => (name.as_str(), None),
            Opponent::Base(branch) => ("base", Some(branch)),
        };
        // A name that is no UTF-8 is shown as near to it as can be.
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        json!({ "workspaces": [workspace.as_str(), with], "base": base, "files": files })
    };
    let uncommitted = conflicts.uncommitted.iter().map(|(name, files)| json!({ "workspace": name, "files": files }));
    let unknown = conflicts.unknown.iter().map(|(name, detail)| json!({ "workspace": name, "detail": detail }));
    json!({
        "conflicts": conflicts.found.iter().map(conflict).collect::<Vec<_>>(),
        "compared": conflicts.compared,
        "uncommitted": uncommitted.collect::<Vec<_>>(),
        "unknown": unknown.collect::<Vec<_>>(),
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
