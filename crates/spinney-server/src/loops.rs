//! What the daemon does by itself: settles what processes left that died, tries again what may be, starts what is
//! scheduled, keeps the place clean.

use std::time::Duration;

use spinney_core::{AgentName, Job, JobStatus, Timestamp};
use spinney_jobs::Agent;
use tokio::runtime::Handle;

use crate::app::App;
use crate::error::{ApiError, Result};
use crate::{idempotency, maintenance};

/// When nothing else says when to look again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Between two looks, however much is due.
const LEAST_SLEEP_MS: i64 = 100;
/// How often jobs are looked at whose processes may have died.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long ago a job may have been interrupted for a daemon that starts to take it up again.
const LATELY: Duration = Duration::from_secs(60 * 60);
/// How many jobs are looked through for such ones.
const LOOKED_THROUGH: u32 = 200;
/// How long what a request began is told.
const OPERATIONS_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Settles what the daemon before this one left.
pub(crate) async fn settle(app: &App) -> Result<()> {
    let node = app.engine().home().node().clone();
    let now = Timestamp::now();
    let mut db = app.engine().store().write().await?;
    // A home that nothing was done in yet has no row of its machine.
    db.ensure_node(&node, &rustix::system::uname().nodename().to_string_lossy()).await?;
    db.interrupt_long_operations(&node, now).await?;
    db.delete_long_operations_before(now.minus(OPERATIONS_FOR)).await?;
    db.delete_idempotency_keys_before(now.minus(idempotency::REMEMBERED_FOR)).await?;
    db.commit().await?;
    app.engine().recover(&|_| {}).await?;
    Ok(())
}

/// Works until the server ends.
pub(crate) async fn run(app: App) {
    tokio::join!(jobs(&app), schedules(&app), chores(&app));
}

/// Starts what is scheduled, at its time or when somebody asks.
async fn schedules(app: &App) {
    loop {
        let wake = tick_schedules(app).await.unwrap_or_else(|error| {
            tracing::error!(cause = %error.message, "schedules could not be looked at");
            Timestamp::now().plus(LOOK_EVERY)
        });
        tokio::select! {
            () = sleep_until(wake) => {},
            () = app.schedules_asked().notified() => {},
            () = app.stop().asked() => return,
        }
    }
}

async fn tick_schedules(app: &App) -> Result<Timestamp> {
    let mut wake = Timestamp::now().plus(LOOK_AGAIN);
    for account in app.engine().accounts().await? {
        let engine = app.engine_for(&account.name);
        wake = wake.min(app.schedules(&engine)?.tick(Timestamp::now()).await?);
    }
    Ok(wake)
}

/// Does chores. They read and write many files, so they have a thread of their own.
async fn chores(app: &App) {
    let mut is_start = true;
    loop {
        let (handle, own) = (Handle::current(), app.clone());
        let tick = app.tasks().spawn_blocking(move || handle.block_on(maintenance::tick(&own, is_start)));
        is_start = false;
        let ticked = tokio::select! {
            ticked = tick => ticked,
            // What is under way is waited for like any other work.
            () = app.stop().asked() => return,
        };
        let wake = match ticked {
            Ok(Ok(wake)) => wake,
            Ok(Err(error)) => {
                tracing::error!(cause = %error.message, "chores could not be looked at");
                Timestamp::now().plus(LOOK_AGAIN)
            }
            Err(_) => Timestamp::now().plus(LOOK_AGAIN),
        };
        tokio::select! {
            () = sleep_until(wake) => {},
            () = app.chores_asked().notified() => {},
            () = app.stop().asked() => return,
        }
    }
}

async fn sleep_until(wake: Timestamp) {
    let left = wake.as_millisecond() - Timestamp::now().as_millisecond();
    tokio::time::sleep(Duration::from_millis(left.max(LEAST_SLEEP_MS).unsigned_abs())).await;
}

/// Looks after jobs.
async fn jobs(app: &App) {
    if let Err(error) = take_up_interrupted(app).await {
        tracing::error!(cause = %error.message, "interrupted jobs could not be looked for");
    }
    loop {
        if let Err(error) = look_after_jobs(app).await {
            tracing::error!(cause = %error.message, "jobs could not be looked at");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {},
            () = app.stop().asked() => return,
        }
    }
}

/// Settles jobs whose processes died, and tries them again.
async fn look_after_jobs(app: &App) -> Result<()> {
    let settled = app.jobs(app.engine())?.recover().await?;
    for job in settled {
        tracing::warn!(job = %job.id, agent = job.agent, "its process died");
        if let Err(error) = try_again(app, &job).await {
            tracing::error!(job = %job.id, cause = %error.message, "it could not be tried again");
        }
    }
    Ok(())
}

/// Takes up what was interrupted while no daemon ran, and settled by somebody else.
async fn take_up_interrupted(app: &App) -> Result<()> {
    for account in app.engine().accounts().await? {
        let engine = app.engine_for(&account.name);
        let jobs = app.jobs(&engine)?.list(None, &[JobStatus::Interrupted], LOOKED_THROUGH).await?;
        let since = Timestamp::now().minus(LATELY);
        for job in jobs.iter().filter(|job| job.node == *engine.home().node()) {
            if job.ended_at.is_some_and(|ended| ended > since) {
                try_again(app, job).await?;
            }
        }
    }
    Ok(())
}

/// Tries an interrupted job again, as often as its agent says.
async fn try_again(app: &App, job: &Job) -> Result<()> {
    let engine = app.engine_for(&job.account.parse().map_err(|_| ApiError::failed("a job's account has no name"))?);
    let configured_in = job.request.configured_in.as_ref().unwrap_or(&job.repository);
    let context = engine.repository(Some(&configured_in.to_string()), engine.home().root()).await?;
    let Ok(name) = job.agent.parse::<AgentName>() else { return Ok(()) };
    let agent = Agent::find(&context, &name)?;
    if job.attempt >= agent.config.max_attempts {
        tracing::warn!(job = %job.id, attempts = job.attempt, "it was tried as often as it may be");
        return Ok(());
    }
    app.jobs(&engine)?.retry(job).await?;
    tracing::info!(job = %job.id, attempt = job.attempt + 1, "taken up again");
    Ok(())
}
