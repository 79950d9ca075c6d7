//! What the daemon does by itself: settles what processes left that died, tries again what may be, starts what is
//! scheduled, keeps the place clean.

use std::time::Duration;

use spinney_app::workspaces;
use spinney_core::{JobStatus, Timestamp};
use tokio::task::JoinError;

use crate::app::App;
use crate::daemon::maintenance;
use crate::error::{ApiError, Result};
use crate::idempotency;

/// When nothing else says when to look again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Between two looks, however much is due.
const LEAST_SLEEP_MS: i64 = 100;
/// How often jobs are looked at whose processes may have died.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often it is looked whether the directories of workspaces are there.
const NOTICE_EVERY: Duration = Duration::from_secs(10);
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
    let retention = app.engine().config().cleanup.session_retention.0;
    if !retention.is_zero() {
        db.delete_deliveries_before(now.minus(retention)).await?;
    }
    Ok(db.commit().await?)
}

/// Works until the server ends.
pub(crate) async fn run(app: App) {
    tokio::join!(jobs(&app), schedules(&app), chores(&app), conversations(&app), contact(&app), directories(&app));
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
            tracing::debug!(cause = %error, "the last contact could not be recorded");
        }
    }
}

/// Keeps the lists true: pages and API tell what the store knows, and a directory vanishes without a word.
async fn directories(app: &App) {
    loop {
        let own = app.clone();
        let looked = app.on_thread(move || async move { notice_vanished(&own).await }).await;
        if let Err(error) = looked.unwrap_or_else(broken) {
            tracing::error!(cause = %error.message, "workspaces could not be read");
        }
        tokio::select! {
            () = tokio::time::sleep(NOTICE_EVERY) => {},
            () = app.stop().asked() => return,
        }
    }
}

async fn notice_vanished(app: &App) -> Result<()> {
    for account in app.engine().accounts().await? {
        workspaces::notice_vanished(&app.engine_for(&account.name), None).await?;
    }
    Ok(())
}

/// Answers those who ask on platforms.
async fn conversations(app: &App) {
    tokio::select! {
        ((), ()) = async { tokio::join!(answer(app), hear(app)) } => {},
        () = app.stop().asked() => {},
    }
}

/// Attends to what came, always with the configuration that counts.
async fn answer(app: &App) {
    let mut generation = app.generation();
    loop {
        generation.mark_unchanged();
        let orchestrator = app.orchestrator();
        tokio::select! {
            () = orchestrator.attend() => {},
            _ = generation.changed() => {},
        }
    }
}

/// Hears platforms that do not call; begins anew where their settings changed.
async fn hear(app: &App) {
    let mut generation = app.generation();
    loop {
        let begun = generation.borrow_and_update().adapters;
        let changed = async {
            // Nobody drops the sender.
            let _ = generation.wait_for(|now| now.adapters != begun).await;
        };
        let orchestrator = app.orchestrator();
        orchestrator.listen(changed).await;
        // Those that listen to nothing are done at once.
        let _ = generation.wait_for(|now| now.adapters != begun).await;
    }
}

/// Starts what is scheduled, at its time or when somebody asks.
async fn schedules(app: &App) {
    loop {
        let own = app.clone();
        let ticked = app.on_thread(move || async move { tick_schedules(&own).await }).await;
        let wake = ticked.unwrap_or_else(broken).unwrap_or_else(|error| {
            tracing::error!(cause = %error.message, "schedules could not be read");
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
            Err(error) => tracing::error!(account = %account.name, cause = %error, "schedules could not be read"),
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
                tracing::error!(cause = %error.message, "chores could not be read");
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
    Err(ApiError::failed("an internal error interrupted it"))
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
            tracing::error!(cause = %error.message, "jobs could not be read");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {},
            () = app.stop().asked() => return,
        }
    }
}

/// Settles jobs whose processes died, and takes up those that may be, whoever settled them.
async fn look_after_jobs(app: &App) -> Result<()> {
    let engine = app.engine();
    for job in app.jobs(&engine)?.recover().await? {
        tracing::warn!(job = %job.id, agent = job.agent, "its process died");
    }
    for account in engine.accounts().await? {
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
