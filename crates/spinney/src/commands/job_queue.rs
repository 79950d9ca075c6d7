//! `spinney job-queue`: the process that starts the jobs of a home, each at its turn. Started by others, with the lock of the
//! queue as its standard input; leaves when nothing waits.

use clap::Args;
use spinney_core::Actor;

use crate::app::App;
use crate::error::Result;
use crate::jobs;

/// Start waiting jobs, each at its turn, until none waits
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example: spinney job-queue")]
pub struct JobQueueArgs {}

pub async fn run(app: &App, _: JobQueueArgs) -> Result<u8> {
    let engine = app.open_patient_engine(spinney_jobs::STORE_PATIENCE).await?.acting_as(Actor::Daemon);
    jobs::open(app, &engine)?.supervise(app).await?;
    Ok(0)
}
