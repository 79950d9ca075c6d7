//! Jobs, and one of them: its timeline, its log, what it changed, what it took.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::jobs::{self, Retry};
use spinney_app::workspaces::diff;
use spinney_app::{Front, PageAsked, words};
use spinney_core::{
    Cancel, Job, JobEvent, JobId, JobStatus, LogEntry, Push, Session, SessionStatus, Timestamp, WorkspaceStatus,
};
use spinney_engine::Engine;

use super::answer::{Asked, Form, Id, PageError, Result, filled, lead, within};
use super::bar::Bar;
use super::diff::Diff;
use super::frame::{Did, Frame};
use super::log::{self, Log};
use super::render;
use super::rows::{JobRow, came_of, short, took};
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::operations::Begun;

/// How many jobs a page of the list has.
const LISTED: u32 = 100;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListQuery {
    /// One of [`SHOWN`], else all.
    #[serde(default)]
    show: String,
    /// Of this agent; empty: of all.
    #[serde(default)]
    agent: String,
    /// Where the page before ended; empty: the newest.
    #[serde(default)]
    cursor: String,
}

/// What a list can be narrowed to.
const SHOWN: [(&str, &[JobStatus]); 4] = [
    ("all", JobStatus::ALL),
    ("unfinished", &[JobStatus::Pending, JobStatus::Running]),
    ("completed", &[JobStatus::Completed]),
    ("not completed", &[JobStatus::Failed, JobStatus::TimedOut, JobStatus::Interrupted, JobStatus::Cancelled]),
];

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    frame: Frame,
    shown: Vec<(&'static str, bool)>,
    /// What is shown, for an address.
    show: &'static str,
    agent: String,
    jobs: Vec<JobRow>,
    /// Where the next page begins.
    older: Option<String>,
    is_first: bool,
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(asked): Asked<ListQuery>) -> Result {
    let engine = app.engine_of(&caller);
    let (show, statuses) = SHOWN.into_iter().find(|(name, _)| *name == asked.show).unwrap_or(SHOWN[0]);
    let agent = filled(&asked.agent).map(ToOwned::to_owned);
    let which = jobs::Which { statuses: Some(statuses.to_vec()), agent: agent.clone(), ..jobs::Which::default() };
    let page = PageAsked { limit: Some(LISTED), cursor: filled(&asked.cursor) };
    let found = jobs::page(&engine, which, &page).await?;
    Ok(render(&JobsPage {
        frame: Frame::new(&caller, "Jobs", &Did::default()),
        shown: SHOWN.into_iter().map(|(name, _)| (name, name == show)).collect(),
        show,
        agent: agent.unwrap_or_default(),
        jobs: found.rows.iter().map(JobRow::new).collect(),
        older: found.next,
        is_first: page.cursor.is_none(),
    }))
}

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    frame: Frame,
    row: JobRow,
    is_over: bool,
    is_cancelling: bool,
    prompt: String,
    summary: String,
    error: String,
    came_of: String,
    is_refused: bool,
    branch: String,
    /// The checkout that it reads in, of one that only reads.
    reads_in: String,
    is_reader: bool,
    commit: String,
    pull_request: Option<String>,
    escaped: Vec<String>,
    left_out: Vec<(String, &'static str)>,
    shared: Vec<String>,
    is_held: bool,
    denied: Vec<String>,
    steps: Vec<Step>,
    sessions: Vec<SessionRow>,
    tokens: String,
    log: Log,
    diff: Option<Diff>,
    diff_problem: String,
}

/// A part of a job.
struct Step {
    name: String,
    kind: &'static str,
    took: String,
    details: Vec<String>,
}

struct SessionRow {
    runtime: String,
    status: String,
    tokens: String,
    cost: String,
    context: Option<(Bar, u64)>,
    took: String,
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Id(id): Id<JobId>, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let jobs = app.jobs(&engine)?;
    let job = jobs.require(&id).await?;
    let mut sessions = jobs.sessions(&id).await?;
    let (reader, head) = (jobs.log(&id), jobs.log(&id));
    let read = app.on_thread(move || async move { log::load(reader, head) }).await;
    let log = read.map_err(|_| ApiError::failed("the log could not be read"))??;
    drop(jobs);
    if let (Some(session), Some(taken)) = (sessions.last_mut(), log.taken) {
        taken.tell(session);
    }
    let (asked, of_job) = (engine.clone(), job.clone());
    let diff = within(&app, move || async move { Ok(diff::of_job(&asked, &of_job).await?) }).await;
    let (diff, diff_problem) = match diff {
        Ok(Some(diff)) => (Some(Diff::parse(&diff.diff, diff.truncated)), String::new()),
        Ok(None) => (None, "git has not answered within the time limit".to_owned()),
        Err(problem) => (None, problem.0.message),
    };
    let outcome = &job.outcome;
    let usage = sessions.iter().fold(spinney_core::Usage::default(), |sum, session| sum.plus(session.usage));
    let tokens = match usage.tokens() {
        0 => String::new(),
        _ => format!(
            "{} read, {} from the cache, {} written",
            words::rough(usage.input_tokens + usage.cache_write_tokens),
            words::rough(usage.cache_read_tokens),
            words::rough(usage.output_tokens)
        ),
    };
    Ok(render(&JobPage {
        frame: Frame::new(&caller, "Jobs", &did),
        is_over: job.status.is_final(),
        is_cancelling: job.cancel != Cancel::No && !job.status.is_final(),
        prompt: job.prompt.clone(),
        summary: outcome.summary.clone().unwrap_or_default(),
        error: words::error_of(&job, Front::CommandLine).unwrap_or_default(),
        came_of: came_of(outcome),
        is_refused: outcome.push == Some(Push::Refused),
        branch: outcome.branch.clone().unwrap_or_default(),
        reads_in: load_reading(&engine, &job).await?,
        is_reader: job.request.reads,
        commit: outcome.commit.as_ref().map(|commit| short(commit.as_str()).to_owned()).unwrap_or_default(),
        pull_request: outcome.pull_request.clone().filter(|url| url.starts_with("http")),
        escaped: outcome.escaped.clone(),
        left_out: outcome.left_out.iter().map(|one| (one.path.clone(), words::left_out(one.reason))).collect(),
        shared: outcome.shared.clone(),
        is_held: outcome.held.is_some() && job.status.is_final(),
        denied: outcome.denied.clone(),
        steps: steps(&job, &log.entries),
        sessions: sessions.iter().map(SessionRow::new).collect(),
        tokens,
        row: JobRow { took: took(&job), ..JobRow::new(&job) },
        log,
        diff,
        diff_problem,
    }))
}

/// Where the checkout is that a job reads in; nothing for any other job, and once it is gone.
async fn load_reading(engine: &Engine, job: &Job) -> std::result::Result<String, ApiError> {
    if !job.request.reads {
        return Ok(String::new());
    }
    let row = jobs::workspace_of(engine, job).await?.filter(|row| row.status == WorkspaceStatus::Reading);
    Ok(row.map(|row| row.path.display().to_string()).unwrap_or_default())
}

/// The parts of a job in their order, each with how long it took.
fn steps(job: &Job, entries: &[LogEntry]) -> Vec<Step> {
    let mut steps: Vec<(Step, i64)> = Vec::new();
    let mut phase_before = None;
    for entry in entries {
        let (name, kind, detail) = match &entry.event {
            JobEvent::Phase { phase, detail } => {
                let goes_on = phase_before.replace(*phase) == Some(*phase);
                let detail = detail.as_deref().map(|text| words::plain(text).into_owned());
                if let (true, Some((step, _))) = (goes_on, steps.last_mut()) {
                    step.details.extend(detail);
                    continue;
                }
                (words::phase(*phase).to_owned(), "done", detail)
            }
            JobEvent::HandOff { .. } => {
                ("hand-off".to_owned(), "done", Some("to a new session, with a note".to_owned()))
            }
            JobEvent::Finished { status, .. } => {
                phase_before = None;
                let kind = if *status == JobStatus::Completed { "done" } else { "failed" };
                (words::ended(*status, None), kind, None)
            }
            _ => continue,
        };
        steps.push((Step { name, kind, took: String::new(), details: detail.into_iter().collect() }, entry.at_ms));
    }
    let now = Timestamp::now().as_millisecond();
    let begins: Vec<i64> = steps.iter().map(|(_, at)| *at).collect();
    let mut steps: Vec<Step> = steps.into_iter().map(|(step, _)| step).collect();
    let last = steps.len().saturating_sub(1);
    for (index, step) in steps.iter_mut().enumerate() {
        let is_last = index == last;
        if is_last && !job.status.is_final() {
            step.kind = "running";
        }
        let end = begins.get(index + 1).copied().unwrap_or(now);
        if !is_last || !job.status.is_final() {
            let (from, to) = (Timestamp::from_millisecond(begins[index]), Timestamp::from_millisecond(end));
            let took = words::between(from, to);
            step.took = if took.as_secs() < 60 { words::took(took) } else { words::lasted(took) };
        }
    }
    steps
}

impl SessionRow {
    fn new(session: &Session) -> Self {
        let status = match (session.status, session.resumed) {
            (SessionStatus::HandedOff, _) => "handed off".to_owned(),
            (status, true) => format!("{status}, resumed"),
            (status, false) => status.to_string(),
        };
        Self {
            runtime: session.runtime.clone(),
            status,
            tokens: words::rough(session.usage.tokens()),
            cost: session.usage.cost_micros.map(words::cost).unwrap_or_default(),
            context: Bar::context(session.context_tokens, session.context_window),
            took: words::lasted(words::between(session.started_at, session.ended_at.unwrap_or_else(Timestamp::now))),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct CancelFields {
    /// Set to end its agent without asking.
    #[serde(default)]
    force: String,
}

/// Asks a job to end, or ends it.
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<JobId>,
    Form(form): Form<CancelFields>,
) -> Result {
    let (engine, own, of) = (app.engine_of(&caller), app.clone(), id.clone());
    let cancelled: Begun<_, PageError> = Begun::new(&app, move || async move {
        let known = own.jobs(&engine)?;
        let job = known.require(&of).await?;
        Ok(jobs::cancel(&known, &job, form.force == "yes").await?)
    });
    cancelled.end().await?;
    lead(&caller, &format!("/jobs/{id}"), "cancelling")
}

#[derive(Debug, Deserialize)]
pub(crate) struct RetryFields {
    /// Set to deliver the commit that is held for a person.
    #[serde(default)]
    accept_held: String,
}

/// Runs a job again that has ended.
pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<JobId>,
    Form(form): Form<RetryFields>,
) -> Result {
    let (engine, own, of) = (app.engine_of(&caller), app.clone(), id.clone());
    let retried: Begun<_, PageError> = Begun::new(&app, move || async move {
        let jobs = own.jobs(&engine)?;
        let job = jobs.require(&of).await?;
        let how = Retry { mark: None, accept_held: form.accept_held == "yes" };
        Ok(jobs::retry(&jobs, &job, &how).await?)
    });
    retried.end().await?;
    lead(&caller, &format!("/jobs/{id}"), "retried")
}
