//! A job, with its sessions. What an agent said is in it as it is: JSON has no terminal to steer.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spinney_engine::Engine;
use spinney_jobs::Jobs;
use utoipa::ToSchema;

use crate::{Front, words};

use super::{Cancel, Dropped, Held, JobStatus, LeftOut, Platform, Push, SessionStatus, Timestamp, WorkKind, path_text};

/// One run of an agent on one piece of work.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Job {
    pub id: String,
    /// Its repository, as `owner/name`.
    pub repository: String,
    pub agent: String,
    pub kind: WorkKind,
    pub key: String,
    #[schema(required)]
    pub title: Option<String>,
    pub prompt: String,
    /// Where it was asked for.
    pub trigger: Platform,
    pub status: JobStatus,
    /// What it waits for while it is pending, for people.
    #[schema(required)]
    pub waits_for: Option<String>,
    /// Whether somebody wants it to end.
    pub cancel: Cancel,
    /// How often it was started.
    pub attempt: u32,
    /// The name of its workspace; none for one that only reads.
    #[schema(required)]
    pub workspace: Option<String>,
    #[schema(required)]
    pub workspace_id: Option<String>,
    /// Where its workspace is, or the checkout that it reads in, unless that is gone.
    #[schema(required)]
    pub path: Option<String>,
    /// The branch as git told it at the end.
    #[schema(required)]
    pub branch: Option<String>,
    #[schema(required)]
    pub base_commit: Option<String>,
    #[schema(required)]
    pub commit: Option<String>,
    /// Commits of its own since the base.
    pub commits: u64,
    pub files: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub pushed: bool,
    /// What became of the push.
    #[schema(required)]
    pub push: Option<Push>,
    #[schema(required)]
    pub pull_request: Option<String>,
    pub sessions: Vec<Session>,
    /// Paths of the main checkout that changed while it ran; and, with their directory, of the checkout that it only read in.
    pub escaped: Vec<String>,
    /// Files that differ from its commit and are not in it.
    pub left_out: Vec<LeftOut>,
    /// Paths that somebody had changed before its agent began, and that are in its commits.
    pub shared: Vec<String>,
    /// Commits that were on the branch before it and are not there any more.
    #[schema(required)]
    pub dropped: Option<Dropped>,
    /// What a person has to look at before it is pushed.
    #[schema(required)]
    pub held: Option<Held>,
    /// Tools that its agent was not allowed to use.
    pub denied: Vec<String>,
    #[schema(required)]
    pub summary: Option<String>,
    #[schema(required)]
    pub error: Option<String>,
    /// How long it took, or has taken so far.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    pub usage: Usage,
    /// The file of its log.
    pub log: String,
    pub created_at: Timestamp,
    #[schema(required)]
    pub started_at: Option<Timestamp>,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

impl Job {
    #[must_use]
    pub fn of(
        job: &spinney_core::Job,
        sessions: &[spinney_core::Session],
        workspace: Option<&spinney_core::Workspace>,
        log: &Path,
        front: Front,
    ) -> Self {
        let outcome = &job.outcome;
        // What it read in is no workspace of its own; what it changed there, and is in the trash, can be restored.
        let own = workspace.filter(|workspace| !job.request.reads || !workspace.status.is_live());
        let path = workspace.filter(|workspace| workspace.status.is_live()).map(|workspace| path_text(&workspace.path));
        Self {
            id: job.id.to_string(),
            repository: job.repository.to_string(),
            agent: job.agent.clone(),
            kind: job.work.kind.into(),
            key: job.work.key.clone(),
            title: job.title.clone(),
            prompt: job.prompt.clone(),
            trigger: job.trigger.into(),
            status: job.status.into(),
            waits_for: job.waits_for.as_ref().map(|what| words::waits_for(what, front)),
            cancel: job.cancel.into(),
            attempt: job.attempt,
            workspace: own.map(|workspace| workspace.name.to_string()),
            workspace_id: own.map(|own| &own.id).or(job.own_workspace_id()).map(ToString::to_string),
            path,
            branch: outcome.branch.clone(),
            base_commit: outcome.base_commit.as_ref().map(ToString::to_string),
            commit: outcome.commit.as_ref().map(ToString::to_string),
            commits: outcome.commits,
            files: outcome.files,
            insertions: outcome.insertions,
            deletions: outcome.deletions,
            pushed: outcome.push == Some(spinney_core::Push::Pushed),
            push: outcome.push.map(Into::into),
            pull_request: outcome.pull_request.clone(),
            sessions: sessions.iter().map(Session::of).collect(),
            escaped: outcome.escaped.clone(),
            left_out: outcome.left_out.iter().map(LeftOut::of).collect(),
            shared: outcome.shared.clone(),
            dropped: outcome.dropped.as_ref().map(Dropped::of),
            held: outcome.held.as_ref().map(Held::of),
            denied: outcome.denied.clone(),
            summary: outcome.summary.clone(),
            // Of an attempt before, while it goes on.
            error: words::error_of(job, front).filter(|_| job.status.is_final()),
            duration_ms: duration_ms(job),
            usage: Usage::of(outcome.usage),
            log: path_text(log),
            created_at: job.created_at.into(),
            started_at: job.started_at.map(Into::into),
            ended_at: job.ended_at.map(Into::into),
        }
    }

    /// Loads all that belongs to a job; its workspace also when that is in the trash by now.
    #[boxed]
    pub async fn load(
        engine: &Engine,
        jobs: &Jobs<'_>,
        job: &spinney_core::Job,
        front: Front,
    ) -> spinney_jobs::Result<Self> {
        let sessions = jobs.sessions(&job.id).await?;
        let workspace = match &job.workspace_id {
            Some(id) => engine.store().read().await?.workspace(id).await?,
            None => None,
        };
        Ok(Self::of(job, &sessions, workspace.as_ref(), &jobs.log_path(&job.id), front))
    }
}

/// Zero where the clock went back meanwhile.
fn duration_ms(job: &spinney_core::Job) -> Option<u64> {
    let ended = job.ended_at.unwrap_or_else(spinney_core::Timestamp::now);
    let passed = ended.as_millisecond().saturating_sub(job.started_at?.as_millisecond());
    Some(u64::try_from(passed).unwrap_or(0))
}

/// A job of a workspace, in brief.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JobInBrief {
    pub id: String,
    pub agent: String,
    pub status: JobStatus,
    pub created_at: Timestamp,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

impl JobInBrief {
    #[must_use]
    pub fn of(job: &spinney_core::Job) -> Self {
        Self {
            id: job.id.to_string(),
            agent: job.agent.clone(),
            status: job.status.into(),
            created_at: job.created_at.into(),
            ended_at: job.ended_at.map(Into::into),
        }
    }
}

/// One conversation of a runtime inside a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Session {
    pub id: String,
    pub runtime: String,
    /// The runtime's own name for the conversation.
    #[schema(required)]
    pub conversation: Option<String>,
    pub resumed: bool,
    pub status: SessionStatus,
    pub usage: Usage,
    /// How much of the context window was used last.
    #[schema(required)]
    pub context_tokens: Option<u64>,
    #[schema(required)]
    pub context_window: Option<u64>,
    pub started_at: Timestamp,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
}

impl Session {
    #[must_use]
    pub fn of(session: &spinney_core::Session) -> Self {
        Self {
            id: session.id.to_string(),
            runtime: session.runtime.clone(),
            conversation: session.conversation.clone(),
            resumed: session.resumed,
            status: session.status.into(),
            usage: Usage::of(session.usage),
            context_tokens: session.context_tokens,
            context_window: session.context_window,
            started_at: session.started_at.into(),
            ended_at: session.ended_at.map(Into::into),
        }
    }
}

/// What an agent's model took.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Usage {
    /// Read by the model, without what came from its cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// In millionths of a dollar, where the runtime tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cost_micros: Option<u64>,
}

impl Usage {
    #[must_use]
    pub fn of(usage: spinney_core::Usage) -> Self {
        let spinney_core::Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micros } =
            usage;
        Self { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micros }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_job_is_what_its_schema_says() {
        let (full, bare, log) = (sample::full_job(), sample::bare_job(), Path::new("/logs/job"));
        let (one, two) = (sample::full_session(), sample::bare_session());
        let workspace = sample::full_workspace();
        let told = Job::of(&full, &[one.clone(), two.clone()], Some(&workspace), log, Front::Api);
        assert!(told.pushed && told.path.is_some() && told.duration_ms == Some(2000));
        assert_described(&told, &Job::of(&bare, &[], None, log, Front::Api));
        assert_described(&JobInBrief::of(&full), &JobInBrief::of(&bare));
        assert_described(&Session::of(&one), &Session::of(&two));
        assert_described(&Usage::of(one.usage), &Usage::of(two.usage));
    }

    #[test]
    fn a_path_to_the_trash_is_not_told() {
        let trashed =
            spinney_core::Workspace { status: spinney_core::WorkspaceStatus::Trashed, ..sample::full_workspace() };
        let told = Job::of(&sample::full_job(), &[], Some(&trashed), Path::new("/logs/job"), Front::Api);
        assert!(told.path.is_none() && told.workspace.is_some());
    }

    #[test]
    fn a_job_never_took_less_than_nothing() {
        let mut job = sample::full_job();
        job.ended_at = Some(spinney_core::Timestamp::from_millisecond(0));
        assert_eq!(duration_ms(&job), Some(0));
    }
}
