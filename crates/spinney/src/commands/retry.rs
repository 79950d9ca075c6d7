//! `spinney retry`: runs a job that has ended once more, where it stopped.

use clap::Args;
use spinney_app::jobs::Retry;

use crate::app::App;
use crate::completion::job_ids;
use crate::error::Result;
use crate::follow::{self, Asked, Interrupts, Watched};
use crate::jobs;

/// Run an ended job again in the same workspace
///
/// It continues where it stopped: in the same session if the runtime can, or with the delivery alone if the agent was done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney retry 7f3k2a\n  spinney retry issue-42 --detach")]
pub struct RetryArgs {
    /// A job's id, the beginning of it, or a workspace, whose newest job is meant
    #[arg(add = job_ids())]
    job: String,
    /// Deliver the very commit that is held for a person: with files that Spinney copied, or without commits that its agent dropped
    #[arg(long)]
    accept_held: bool,
    /// Print the job's id and return at once
    #[arg(long)]
    detach: bool,
}

pub async fn run(app: &App, args: RetryArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let job = jobs::find(app, &engine, &jobs, &args.job).await?;
    let interrupts = Interrupts::listen()?;
    // What the log has by now is of the attempts before.
    let mut log = jobs.log(&job.id);
    log.skip()?;
    let how = Retry { mark: None, accept_held: args.accept_held };
    let job = spinney_app::jobs::retry(&jobs, &job, &how).await?;
    app.take_interrupts();
    if args.detach {
        return follow::hand_over(app, &engine, &jobs, &[job], &Asked::default()).await;
    }
    follow::to_the_end(app, &engine, &jobs, vec![Watched::new(job, log)], &Asked::default(), interrupts).await
}
