//! `spinney job-run`: the process of one job. Started by others, with the job's lock as its standard input.

use clap::Args;
use spinney_core::{AccountName, Actor, JobId};

use crate::app::App;
use crate::error::Result;
use crate::jobs;

/// Run one job from its turn to its end
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example: spinney job-run 7f3k2a9qxe")]
pub struct JobRunArgs {
    id: JobId,
}

pub async fn run(app: &App, args: JobRunArgs) -> Result<u8> {
    app.take_interrupts();
    let engine = app.open_patient_engine(spinney_jobs::STORE_PATIENCE).await?;
    let account = jobs::open(app, &engine)?.owner(&args.id).await?.unwrap_or_else(AccountName::local);
    let engine = engine.for_account(&account).acting_as(Actor::Job { id: args.id.clone() });
    // What can't be finished is met again where the job's log tells it.
    let _ = engine.recover(&|_| {}).await;
    jobs::open(app, &engine)?.run(&args.id, app).await?;
    Ok(0)
}
