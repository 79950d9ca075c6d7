//! The first page: what runs, what waits and why, what needs a person, and how much room is left.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use spinney_app::housekeeping::Archives;
use spinney_app::{repositories, words};
use spinney_core::{Job, JobStatus, LogEntry, Push, Timestamp, Workspace, WorkspaceStatus};
use spinney_engine::{Among, Engine, Sizes, plural, size};
use spinney_jobs::{Jobs, LogReader};

use super::answer::{Asked, Result};
use super::bar::Bar;
use super::frame::{Did, Frame};
use super::log::Taken;
use super::render;
use super::rows::{JobRow, WorkspaceRow, running_in};
use super::trash::archives_words;
use crate::app::App;
use crate::auth::Caller;
use crate::daemon::configuration::Standing;
use crate::daemon::maintenance::{self, Chore};
use crate::schedules;

/// How many jobs of a kind a list has at most.
const LISTED: u32 = 100;
/// Failures that are older are history, not something to do.
const LATELY: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How much of a log's end is read for what its job does now.
const TAIL_BYTES: u64 = 16 << 10;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    /// Why the configuration's files are not what counts; for the owner of the home.
    configuration: Option<String>,
    is_empty: bool,
    has_jobs: bool,
    running: Vec<Running>,
    waiting: Vec<JobRow>,
    failed: Vec<JobRow>,
    broken: Vec<WorkspaceRow>,
    /// What store, git and disk disagree about, as far as the daemon looked.
    orphans: Vec<String>,
    /// Schedules that kept failing, and chores that do: their names, and why.
    stuck: Vec<(String, String)>,
    room: Room,
}

/// A job that runs.
struct Running {
    row: JobRow,
    doing: String,
    context: Option<(Bar, u64)>,
    cost: String,
}

/// What is left.
struct Room {
    disk: Bar,
    disk_words: String,
    free: String,
    limit: Bar,
    limit_words: String,
    limit_where: String,
    pool: Bar,
    pool_words: String,
    pool_where: String,
}

pub(crate) async fn home(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let jobs = app.jobs(&engine)?;
    let unfinished = jobs.list(None, &[JobStatus::Running, JobStatus::Pending], LISTED).await?;
    let (now, mut waiting): (Vec<Job>, Vec<Job>) =
        unfinished.into_iter().partition(|job| job.status == JobStatus::Running);
    waiting.reverse();
    let recent = jobs.list(None, JobStatus::ALL, LISTED).await?;
    let workspaces = engine.workspaces(None, Among::All).await?;
    let known = engine.repositories().await?;
    let running_in = running_in(&now);
    let broken = workspaces.iter().filter(|workspace| needs_somebody(workspace.status));
    Ok(render(&HomePage {
        frame: Frame::new(&caller, "Home", &did),
        configuration: caller.account.is_local().then(|| configuration(app.standing())).flatten(),
        is_empty: known.is_empty(),
        has_jobs: !recent.is_empty(),
        waiting: waiting.iter().map(JobRow::new).collect(),
        failed: to_look_at(&recent).into_iter().map(JobRow::new).collect(),
        broken: broken.map(|workspace| WorkspaceRow::new(workspace, &running_in)).collect(),
        orphans: load_orphans(&engine).await?,
        stuck: load_stuck(&engine).await?,
        room: Room::of(&engine, &workspaces, &load_archives(&engine).await?, known.len()),
        running: load_running(&app, &jobs, &now).await?,
    }))
}

async fn load_archives(engine: &Engine) -> Result<Archives> {
    let tallied = repositories::tally(engine, None).await?;
    Ok(Archives::of(tallied.iter().flat_map(|row| &row.tallies)))
}

/// What of the configuration does not count, and why.
fn configuration(standing: Standing) -> Option<String> {
    let Standing { error, needs_restart } = standing;
    if let Some(error) = error {
        return Some(format!(
            "The configuration was changed and can't be used: {error}. What it was before still counts."
        ));
    }
    let keys: Vec<_> = needs_restart.iter().map(|key| format!("`{key}`")).collect();
    (!keys.is_empty()).then(|| format!("Changed keys count after a restart of the daemon: {}.", keys.join(", ")))
}

/// What the last look of the daemon found and left to a person.
async fn load_orphans(engine: &Engine) -> Result<Vec<String>> {
    let row = maintenance::known(engine, Chore::Orphans).await?;
    let findings = row.and_then(|row| row.last_report["findings"].as_array().cloned()).unwrap_or_default();
    let open = findings.iter().filter(|finding| finding["done"].is_null());
    Ok(open.filter_map(|finding| finding["what"].as_str().map(ToOwned::to_owned)).collect())
}

/// What does not run by itself any more, or fails each time.
async fn load_stuck(engine: &Engine) -> Result<Vec<(String, String)>> {
    let rows = schedules::rows(engine).await?;
    let stuck = rows.into_iter().filter(|row| row.failures > 0 && (row.paused || row.key.agent.is_none()));
    let told = stuck.map(|row| {
        let name = match &row.key.agent {
            Some(agent) => format!("{agent}/{}", row.key.name),
            None => row.key.name.to_string(),
        };
        let why = row.pause_reason.unwrap_or_else(|| format!("it failed {} times in a row", row.failures));
        (name, why)
    });
    Ok(told.collect())
}

/// What only a person can mend.
fn needs_somebody(status: WorkspaceStatus) -> bool {
    matches!(status, WorkspaceStatus::Broken | WorkspaceStatus::Lost)
}

/// The jobs that ended badly lately, unless the same work was taken up again since.
fn to_look_at(newest_first: &[Job]) -> Vec<&Job> {
    let since = Timestamp::now().minus(LATELY);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for job in newest_first {
        let is_newest = seen.insert((&job.repository_id, &job.work));
        let is_bad = matches!(job.status, JobStatus::Failed | JobStatus::TimedOut | JobStatus::Interrupted)
            || (job.status == JobStatus::Completed && job.outcome.push == Some(Push::Refused));
        if is_newest && is_bad && job.ended_at.is_some_and(|ended| ended > since) {
            found.push(job);
        }
    }
    found
}

async fn load_running(app: &App, jobs: &Jobs<'_>, now: &[Job]) -> Result<Vec<Running>> {
    let mut running = Vec::new();
    for job in now {
        let mut session = jobs.sessions(&job.id).await?.pop();
        let log = jobs.log(&job.id);
        let read = app.on_thread(move || async move { last_doing(log) }).await;
        let (doing, taken) = read.ok().and_then(std::result::Result::ok).unwrap_or_default();
        if let (Some(session), Some(taken)) = (&mut session, taken) {
            taken.tell(session);
        }
        let context = session.as_ref().and_then(|session| Bar::context(session.context_tokens, session.context_window));
        let spent = session.map_or(job.outcome.usage, |session| job.outcome.usage.plus(session.usage));
        let cost = spent.cost_micros.map(words::cost).unwrap_or_default();
        running.push(Running { row: JobRow::new(job), doing: doing.unwrap_or_default(), context, cost });
    }
    Ok(running)
}

/// What the end of a log says that its job does, and what its session took by then.
fn last_doing(mut log: LogReader) -> spinney_jobs::Result<(Option<String>, Option<Taken>)> {
    log.skip_to_last(TAIL_BYTES)?;
    log.stop_here()?;
    let (mut last, mut taken) = (None, None);
    while let Some(LogEntry { event, .. }) = log.next_entry()? {
        last = words::doing(&event).or(last);
        taken = Taken::of(&event).or(taken);
    }
    Ok((last, taken))
}

impl Room {
    fn of(engine: &Engine, workspaces: &[Workspace], archives: &Archives, repositories: usize) -> Self {
        let config = engine.config();
        let sizes = Sizes::of(workspaces);
        let free = engine.free_disk().unwrap_or(0);
        let limit = config.limits.max_workspaces;
        let mut live: HashMap<String, u64> = HashMap::new();
        for workspace in workspaces.iter().filter(|row| row.status.is_of_work()) {
            *live.entry(workspace.repository.to_string()).or_default() += 1;
        }
        let (fullest, count) = live.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        let warm = workspaces.iter().filter_map(|row| row.metadata.warm.as_ref());
        let ready = warm.filter(|warm| warm.ready && !warm.template).count() as u64;
        let wanted = u64::from(config.pool.size) * repositories as u64;
        Self {
            disk: Bar::new(sizes.bytes, sizes.bytes.saturating_add(free), "what the trees take of the disk"),
            disk_words: {
                let trees = match sizes.known {
                    0 => format!("{}, not measured yet", plural(sizes.trees, "tree")),
                    _ => format!("{} in {}", size(sizes.bytes), plural(sizes.trees, "tree")),
                };
                [trees, archives_words(archives)]
                    .into_iter()
                    .filter(|words| !words.is_empty())
                    .collect::<Vec<_>>()
                    .join("; ")
            },
            free: format!("{} free", size(free)),
            limit: Bar::new(count, u64::from(limit), "the limit of workspaces"),
            limit_words: if limit == 0 { format!("{count} live") } else { format!("{count} of {limit}") },
            limit_where: if fullest.is_empty() {
                "no workspace yet".to_owned()
            } else {
                format!("in {fullest}, the fullest")
            },
            pool: Bar::new(ready, wanted.max(ready), "how much of the pool is ready").calm(),
            pool_words: format!("{ready} of {wanted}"),
            pool_where: if wanted == 0 {
                "`pool.size` is 0: nothing is kept warm".to_owned()
            } else {
                "warm workspaces ready".to_owned()
            },
        }
    }
}
