//! What the daemon does by itself: settles what processes left that died, tries again what may be, starts what is
//! scheduled, keeps the place clean.

use std::time::Duration;

use spinney_core::{JobStatus, Timestamp};
use tokio::task::JoinError;

use crate::app::App;
use crate::error::{ApiError, Result};
use crate::{idempotency, maintenance};

/// When nothing else says when to look again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Between two looks, however much is due.
const LEAST_SLEEP_MS: i64 = 100;
/// How often jobs are looked at whose processes may have died.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often a node says that it is there.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// How many interrupted jobs are looked through.
const LOOKED_THROUGH: u32 = 200;
/// How long what a request began is told.
const OPERATIONS_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Settles what the daemon before this one left.
pub(crate) async fn settle(app: &App) -> Result<()> {
    let node = app.engine().home().node().clone();
    let now = Timestamp::now();
    let mut db = app.engine().store().write().await?;
    // A home that nothing was done in yet has no row of its machine.
    db.start_node(&node, &rustix::system::uname().nodename().to_string_lossy()).await?;
    db.interrupt_long_operations(&node, now).await?;
    db.commit().await?;
    app.engine().recover(&|_| {}).await?;
    Ok(())
}

/// Forgets what requests left that nobody asks for any more.
pub(crate) async fn forget_requests(app: &App) -> Result<()> {
    let now = Timestamp::now();
    let mut db = app.engine().store().write().await?;
    db.delete_long_operations_before(now.minus(OPERATIONS_FOR)).await?;
    db.delete_idempotency_keys_before(now.minus(idempotency::REMEMBERED_FOR)).await?;
    db.delete_expired_tokens(now).await?;
    db.delete_deliveries_before(now.minus(spinney_platforms::REMEMBERED_FOR)).await?;
    Ok(db.commit().await?)
}

/// Works until the server ends.
pub(crate) async fn run(app: App) {
    tokio::join!(jobs(&app), schedules(&app), chores(&app), conversations(&app), contact(&app));
}

/// Lets the other machines of the store know that this one is there.
async fn contact(app: &App) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(TELL_EVERY) => {},
            () = app.stop().asked() => return,
        }
        let told = async { app.engine().store().read().await?.touch_node(app.engine().home().node()).await };
        if let Err(error) = told.await {
            tracing::debug!(cause = %error, "the last contact could not be noted");
        }
    }
}

/// Answers those who ask on platforms.
async fn conversations(app: &App) {
    tokio::select! {
        () = app.orchestrator().run() => {},
        () = app.stop().asked() => {},
    }
}

/// Starts what is scheduled, at its time or when somebody asks.
async fn schedules(app: &App) {
    loop {
        let own = app.clone();
        let ticked = app.on_thread(move || async move { tick_schedules(&own).await }).await;
        let wake = ticked.unwrap_or_else(broken).unwrap_or_else(|error| {
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
        match app.schedules(&engine)?.tick(Timestamp::now()).await {
            Ok(next) => wake = wake.min(next),
            // The others' go on.
            Err(error) => tracing::error!(account = %account.name, cause = %error, "schedules could not be looked at"),
        }
    }
    Ok(wake)
}

/// Does chores.
async fn chores(app: &App) {
    let mut is_start = true;
    loop {
        let (door, own) = (app.clone(), app.clone());
        let tick = async move { door.on_thread(move || async move { maintenance::tick(&own, is_start).await }).await };
        let tick = app.tasks().spawn(tick);
        is_start = false;
        let ticked = tokio::select! {
            ticked = tick => ticked,
            // What is under way is waited for like any other work.
            () = app.stop().asked() => return,
        };
        let wake = match ticked {
            Ok(Ok(Ok(wake))) => wake,
            Ok(Ok(Err(error))) => {
                tracing::error!(cause = %error.message, "chores could not be looked at");
                Timestamp::now().plus(LOOK_AGAIN)
            }
            Ok(Err(_)) | Err(_) => Timestamp::now().plus(LOOK_AGAIN),
        };
        tokio::select! {
            () = sleep_until(wake) => {},
            () = app.chores_asked().notified() => {},
            () = app.stop().asked() => return,
        }
    }
}

/// What panicked is told as a failure: the next look is another try.
fn broken<T>(_: JoinError) -> Result<T> {
    Err(ApiError::failed("it broke something here"))
}

async fn sleep_until(wake: Timestamp) {
    let left = wake.as_millisecond() - Timestamp::now().as_millisecond();
    tokio::time::sleep(Duration::from_millis(left.max(LEAST_SLEEP_MS).unsigned_abs())).await;
}

/// Looks after jobs.
async fn jobs(app: &App) {
    loop {
        let own = app.clone();
        let looked = app.on_thread(move || async move { look_after_jobs(&own).await }).await;
        if let Err(error) = looked.unwrap_or_else(broken) {
            tracing::error!(cause = %error.message, "jobs could not be looked at");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {},
            () = app.stop().asked() => return,
        }
    }
}

/// Settles jobs whose processes died, and takes up those that may be, whoever settled them.
async fn look_after_jobs(app: &App) -> Result<()> {
    for job in app.jobs(app.engine())?.recover().await? {
        tracing::warn!(job = %job.id, agent = job.agent, "its process died");
    }
    for account in app.engine().accounts().await? {
        let engine = app.engine_for(&account.name);
        let jobs = app.jobs(&engine)?;
        for job in jobs.list(None, &[JobStatus::Interrupted], LOOKED_THROUGH).await? {
            if !jobs.may_resume(&job).await {
                continue;
            }
            match jobs.resume(&job).await {
                Ok(None) => {}
                Ok(Some(_)) => tracing::info!(job = %job.id, attempt = job.attempt + 1, "taken up again"),
                Err(error) => tracing::error!(job = %job.id, cause = %error, "it could not be taken up again"),
            }
        }
    }
    Ok(())
}
