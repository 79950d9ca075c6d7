//! Jobs and workspaces as rows of tables: made from the store alone.

use std::collections::HashSet;

use spinney_app::{Front, words};
use spinney_core::{Job, JobStatus, Outcome, Push, Timestamp, Workspace, WorkspaceId};
use spinney_engine::{has_tree, plural, size};

use super::mark::Mark;

/// A job in a list.
#[derive(Debug)]
pub(crate) struct JobRow {
    pub id: String,
    pub agent: String,
    /// The name of its work.
    pub name: String,
    pub workspace: Option<String>,
    pub repository: String,
    pub repository_id: String,
    pub mark: Mark,
    /// What it is about, or what came of it.
    pub about: String,
    pub took: String,
    /// For how many milliseconds it runs by now; none when it does not.
    pub runs_ms: Option<u128>,
    pub age: String,
    pub at: String,
    pub cost: String,
}

impl JobRow {
    pub(crate) fn new(job: &Job) -> Self {
        let usage = &job.outcome.usage;
        Self {
            id: job.id.to_string(),
            agent: job.agent.clone(),
            name: job.work.workspace_name().to_string(),
            workspace: job.own_workspace_id().map(ToString::to_string),
            repository: job.repository.to_string(),
            repository_id: job.repository_id.to_string(),
            mark: Mark::job(job.status),
            about: about(job),
            took: took(job),
            runs_ms: job.started_at.filter(|_| job.status == JobStatus::Running).map(|at| at.elapsed().as_millis()),
            age: words::age(job.ended_at.unwrap_or(job.created_at)),
            at: job.created_at.to_string(),
            cost: usage.cost_micros.map(words::cost).unwrap_or_default(),
        }
    }
}

/// How long it ran, or runs by now.
pub(crate) fn took(job: &Job) -> String {
    let Some(started) = job.started_at else { return String::new() };
    words::lasted(words::between(started, job.ended_at.unwrap_or_else(Timestamp::now)))
}

/// The most telling thing about a job.
fn about(job: &Job) -> String {
    let said = match job.status {
        JobStatus::Pending => {
            job.waits_for.as_ref().map(|what| format!("waits for {}", words::waits_for(what, Front::CommandLine)))
        }
        JobStatus::Completed => Some(came_of(&job.outcome)).filter(|text| !text.is_empty()),
        JobStatus::Running => None,
        _ => words::error_of(job, Front::CommandLine),
    };
    let text = said.or_else(|| job.title.clone()).unwrap_or_else(|| job.prompt.clone());
    words::first_line(&text).into_owned()
}

/// `2 commits, 3 files, +48 −12, pushed`.
pub(crate) fn came_of(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    if outcome.commits > 0 {
        parts.push(counted(outcome.commits, "commit"));
    }
    if outcome.files > 0 {
        parts.push(counted(outcome.files, "file"));
        parts.push(format!("+{} −{}", outcome.insertions, outcome.deletions));
    }
    match outcome.push {
        Some(Push::Pushed) => parts.push("pushed".to_owned()),
        Some(Push::Nothing) => parts.push("nothing changed".to_owned()),
        Some(Push::NoRemote) => parts.push("there is no remote".to_owned()),
        Some(Push::Refused) => parts.push("the remote refused the push".to_owned()),
        Some(Push::Held) => parts.push("not pushed: held until a person accepts the commit".to_owned()),
        Some(Push::Off) => parts.push("not pushed: push_on_success is false".to_owned()),
        None => {}
    }
    parts.join(", ")
}

fn counted(number: u64, noun: &str) -> String {
    plural(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// A workspace in a list.
#[derive(Debug)]
pub(crate) struct WorkspaceRow {
    pub id: String,
    pub name: String,
    pub title: String,
    pub repository: String,
    pub repository_id: String,
    pub mark: Mark,
    pub error: String,
    pub branch: String,
    pub base: String,
    pub size: String,
    pub age: String,
    pub at: String,
    pub by: String,
    pub pinned: bool,
}

impl WorkspaceRow {
    pub(crate) fn new(workspace: &Workspace, running: &HashSet<WorkspaceId>) -> Self {
        Self {
            id: workspace.id.to_string(),
            name: workspace.name.to_string(),
            title: workspace.title.clone().unwrap_or_default(),
            repository: workspace.repository.to_string(),
            repository_id: workspace.repository_id.to_string(),
            mark: Mark::workspace(workspace.status, running.contains(&workspace.id)),
            error: workspace.error.clone().unwrap_or_default(),
            branch: workspace.branch.to_string(),
            base: base_of(workspace),
            size: size_of(workspace),
            age: words::age(workspace.last_activity_at),
            at: workspace.last_activity_at.to_string(),
            by: workspace.platform.to_string(),
            pinned: workspace.pinned,
        }
    }
}

/// `main 3f2a91c`.
pub(crate) fn base_of(workspace: &Workspace) -> String {
    let commit = short(workspace.base_commit.as_str());
    workspace.base_branch.as_ref().map_or_else(|| commit.to_owned(), |branch| format!("{branch} {commit}"))
}

pub(crate) fn size_of(workspace: &Workspace) -> String {
    let known = workspace.size.filter(|_| has_tree(workspace));
    known.map(|known| size(known.bytes)).unwrap_or_default()
}

/// A commit as people write it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

/// The workspaces in which these jobs run.
pub(crate) fn running_in(jobs: &[Job]) -> HashSet<WorkspaceId> {
    let running = jobs.iter().filter(|job| job.status == JobStatus::Running);
    running.filter_map(|job| job.workspace_id.clone()).collect()
}
