//! What keeps the place clean by itself: chores, each with a row among the schedules, its plan and its last report.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spinney_app::housekeeping::{self, ByItself, SweepAsked};
use spinney_app::{Front, document};
use spinney_core::config::CleanupConfig;
use spinney_core::{Schedule, ScheduleKey, ScheduleName, Timestamp, in_full};
use spinney_engine::{Engine, What};

use crate::app::App;
use crate::daemon::loops;
use crate::error::{ApiError, Result};

/// How often the trash is looked at, and pools.
const OFTEN: Duration = Duration::from_secs(60);
/// How often trees are measured that changed, and for how long at most.
const MEASURE_EVERY: Duration = Duration::from_secs(15 * 60);
const MEASURE_FOR: Duration = Duration::from_secs(60);
/// When somebody else sweeps.
const LATER: Duration = Duration::from_secs(60);

/// One thing that is done again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chore {
    /// What is merged or stale goes to the trash.
    Cleanup,
    /// What store, git and disk disagree about.
    Orphans,
    /// What was in the trash for long enough.
    Trash,
    /// Old jobs, conversations, events.
    Sessions,
    /// Warm workspaces.
    Pool,
    /// What the trees take on disk.
    Sizes,
}

impl Chore {
    pub(crate) const ALL: [Self; 6] =
        [Self::Cleanup, Self::Orphans, Self::Trash, Self::Sessions, Self::Pool, Self::Sizes];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cleanup => "cleanup",
            Self::Orphans => "orphans",
            Self::Trash => "trash",
            Self::Sessions => "sessions",
            Self::Pool => "pool",
            Self::Sizes => "sizes",
        }
    }

    /// None: never by itself.
    pub(crate) fn interval(self, config: &CleanupConfig) -> Option<Duration> {
        let interval = match self {
            Self::Cleanup | Self::Orphans => config.interval.0,
            Self::Sessions => config.session_interval.0,
            Self::Trash | Self::Pool => OFTEN,
            Self::Sizes => MEASURE_EVERY,
        };
        (!interval.is_zero()).then_some(interval)
    }

    /// Whether a daemon that starts does it at once.
    fn is_first(self, config: &CleanupConfig) -> bool {
        match self {
            Self::Cleanup | Self::Orphans => config.on_startup,
            Self::Trash | Self::Pool | Self::Sizes => true,
            Self::Sessions => false,
        }
    }

    pub(crate) fn key(self, engine: &Engine) -> Result<ScheduleKey> {
        let name: ScheduleName = self.name().parse().map_err(|_| ApiError::failed("a chore has no name"))?;
        let (account, node) = (engine.account().to_owned(), engine.home().node().clone());
        Ok(ScheduleKey { account, node, repository_id: None, agent: None, name })
    }

    /// Its row as it would be planned now.
    fn first(self, engine: &Engine, now: Timestamp) -> Result<Schedule> {
        let config = &engine.config().cleanup;
        let interval = self.interval(config);
        Ok(Schedule {
            key: self.key(engine)?,
            timing: timing(interval),
            planned_at: interval.map(|interval| if self.is_first(config) { now } else { now.plus(interval) }),
            asked: false,
            paused: false,
            pause_reason: None,
            failures: 0,
            last_started_at: None,
            last_job_id: None,
            last_status: None,
            last_report: Value::Null,
            updated_at: now,
        })
    }
}

fn timing(interval: Option<Duration>) -> String {
    interval.map_or_else(|| "never".to_owned(), |interval| format!("every {} s", interval.as_secs()))
}

/// Does what is due, and says when to look again.
pub(crate) async fn tick(app: &App, is_start: bool) -> Result<Timestamp> {
    let mut wake = Timestamp::now().plus(OFTEN);
    for account in app.engine().accounts().await? {
        let engine = app.engine_for(&account.name);
        for chore in Chore::ALL {
            if app.stop().is_asked() {
                return Ok(wake);
            }
            match attend(app, &engine, chore, is_start).await {
                Ok(Some(next)) => wake = wake.min(next),
                Ok(None) => {}
                Err(error) => tracing::error!(chore = chore.name(), cause = %error.message, "a chore failed"),
            }
        }
    }
    Ok(wake)
}

/// Loads the row of a chore, if it has one yet.
pub(crate) async fn known(engine: &Engine, chore: Chore) -> Result<Option<Schedule>> {
    Ok(engine.store().read().await?.schedule(&chore.key(engine)?).await?)
}

/// Loads the row of a chore, planned as it is configured.
pub(crate) async fn row(engine: &Engine, chore: Chore) -> Result<Schedule> {
    let now = Timestamp::now();
    let first = chore.first(engine, now)?;
    let mut db = engine.store().read().await?;
    if let Some(mut row) = db.schedule(&first.key).await? {
        if row.timing != first.timing {
            (row.timing, row.planned_at) = (first.timing, first.planned_at);
            db.update_schedule(&mut row).await?;
        }
        return Ok(row);
    }
    db.insert_schedule(&first).await?;
    Ok(first)
}

async fn attend(app: &App, engine: &Engine, chore: Chore, is_start: bool) -> Result<Option<Timestamp>> {
    let mut row = row(engine, chore).await?;
    let now = Timestamp::now();
    let config = &engine.config().cleanup;
    let is_due = row.planned_at.is_some_and(|planned| planned <= now) || (is_start && chore.is_first(config));
    let wants = row.asked || (is_due && !row.paused);
    if !wants {
        return Ok(row.planned_at.filter(|_| !row.paused));
    }
    // Taken before it is done: it is not begun again by a daemon that comes up while it lasts.
    row.asked = false;
    row.last_started_at = Some(now);
    row.planned_at = chore.interval(config).map(|interval| now.plus(interval));
    if !engine.store().read().await?.update_schedule(&mut row).await? {
        return Ok(Some(now));
    }
    let report = run(app, engine, chore).await;
    match report {
        Ok(Some(report)) => (row.last_report, row.failures) = (report, 0),
        Ok(None) => row.planned_at = Some(Timestamp::now().plus(LATER)),
        Err(error) => {
            row.last_report = error.document();
            row.failures += 1;
            tracing::error!(chore = chore.name(), cause = %error.message, "a chore failed");
        }
    }
    engine.store().read().await?.update_schedule(&mut row).await?;
    Ok(row.planned_at)
}

/// Does a chore; none when somebody else is at it.
async fn run(app: &App, engine: &Engine, chore: Chore) -> Result<Option<Value>> {
    let report = match chore {
        Chore::Cleanup => return sweep(app, engine, What { merged: true, stale: true, ..What::MERGED }).await,
        Chore::Orphans => return sweep(app, engine, What::ORPHANS).await,
        Chore::Trash => report("purged", &housekeeping::purge_by_itself(engine).await?),
        Chore::Sessions => {
            loops::forget_requests(app).await?;
            let forgotten = app.jobs(engine)?.forget_old().await?;
            json!({
                "jobs": forgotten.jobs,
                "workspaces": forgotten.workspaces,
                "conversations": forgotten.conversations,
                "events": forgotten.events,
                "files": forgotten.files,
            })
        }
        Chore::Pool => report("filled", &housekeeping::refill_pools(engine).await?),
        Chore::Sizes => match housekeeping::measure_changed(engine, Instant::now() + MEASURE_FOR).await? {
            Some(measured) => json!({ "measured": measured }),
            None => return Ok(None),
        },
    };
    Ok(Some(report))
}

async fn sweep(app: &App, engine: &Engine, what: What) -> Result<Option<Value>> {
    let repositories = engine.repositories().await?;
    let archives = what.merged || what.stale;
    let asked = SweepAsked { repositories, what, forget: false, archives, dry_run: false };
    let swept = match housekeeping::sweep(engine, &app.jobs(engine)?, &asked, &|_| {}).await {
        Err(spinney_app::Error::SweepUnderWay) => return Ok(None),
        swept => swept?,
    };
    for gone in &swept.erased {
        let (name, id) = (gone.workspace.name.to_string(), gone.workspace.id.to_string());
        tracing::info!(workspace = name, id, bytes = gone.bytes, why = gone.why, "an archive was erased");
    }
    let told = document::Cleanup::of(engine, &swept, false, Front::Api);
    Ok(Some(serde_json::to_value(told).unwrap_or_default()))
}

/// What a chore did for each of several, under a word for what was done.
fn report(done: &str, outcome: &ByItself) -> Value {
    let failed = outcome.failed.iter().map(|(name, error)| json!({ "name": name, "error": in_full(error) }));
    json!({ done: outcome.done, "failed": failed.collect::<Vec<_>>() })
}
