//! `spinney job-run`: the process of one job. Started by others, with the job's lock as its standard input.

use clap::Args;
use spinney_core::JobId;

use crate::app::App;
use crate::error::Result;
use crate::jobs;

/// Run one job from its turn to its end
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example: spinney job-run 7f3k2a9qxe")]
pub struct JobRunArgs {
    id: JobId,
}

/// Leaves the terminal's session first of all: what a person types there is not meant for the job.
pub fn leave_terminal() {
    // It was started as the head of a group of its own, and such a one can't leave: it goes through that of the session's
    // head. Where there is none any more, there is no terminal either.
    if rustix::process::setsid().is_err() {
        let _ = rustix::process::getsid(None).and_then(|head| rustix::process::setpgid(None, Some(head)));
        let _ = rustix::process::setsid();
    }
}

pub async fn run(app: &App, args: JobRunArgs) -> Result<u8> {
    app.take_interrupts();
    let engine = app.open_engine().await?;
    // What can't be finished is met again where the job's log tells it.
    let _ = engine.recover(&|_| {}).await;
    jobs::open(app, &engine)?.run(&args.id).await?;
    Ok(0)
}
