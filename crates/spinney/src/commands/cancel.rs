//! `spinney cancel`: ends jobs, and waits until they are over.

use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use spinney_core::{Cancel, Job};
use spinney_engine::Engine;
use spinney_jobs::Jobs;

use crate::app::App;
use crate::completion::job_ids;
use crate::error::{CliError, Result};
use crate::jobs;
use crate::ui::words;

/// An agent that is asked has some seconds to leave, and its hooks follow.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// End jobs; their work stays where it is
///
/// The agent is asked to end and made to after a few seconds; `--now` does not ask. `spinney retry` goes on later.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney cancel 7f3k2a\n  spinney cancel issue-42 --now")]
pub struct CancelArgs {
    /// Jobs: ids, beginnings of ids, or workspaces, whose newest job is meant
    #[arg(required = true, value_name = "JOB", add = job_ids())]
    names: Vec<String>,
    /// End the agent at once
    #[arg(long)]
    now: bool,
}

pub async fn run(app: &App, args: CancelArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let how = if args.now { Cancel::AtOnce } else { Cancel::Asked };
    let mut asked = Vec::new();
    let mut failed: Vec<(String, CliError)> = Vec::new();
    // All are asked before any is waited for.
    for name in &args.names {
        match ask(app, &engine, &jobs, name, how).await {
            Ok(job) => asked.push((name, job)),
            Err(error) => failed.push((name.clone(), error)),
        }
    }
    let deadline = Instant::now() + PATIENCE;
    let mut ended = Vec::new();
    for (name, job) in asked {
        app.ui.progress.set(format!("waiting for job {} to end", job.id));
        match wait(&jobs, &job, deadline).await {
            Ok(job) => ended.push(job),
            Err(error) => failed.push((name.clone(), error)),
        }
    }
    app.ui.progress.clear();
    if args.names.len() == 1
        && let Some((_, error)) = failed.pop()
    {
        return Err(error);
    }
    if app.ui.json {
        let mut documents = Vec::new();
        for job in &ended {
            documents.push(jobs::document(&engine, &jobs, job).await?);
        }
        match documents.pop() {
            Some(only) if args.names.len() == 1 => app.ui.print_json(&only),
            last => {
                documents.extend(last);
                let failures = failed.iter().map(|(name, error)| json!({ "name": name, "error": error.to_json() }));
                app.ui.print_json(&json!({ "jobs": documents, "failed": failures.collect::<Vec<_>>() }));
            }
        }
    } else {
        ended.iter().for_each(|job| tell(app, job));
        failed.iter().for_each(|(_, error)| error.print(false));
    }
    Ok(failed.iter().map(|(_, error)| error.exit_status()).max().unwrap_or(0))
}

async fn ask(app: &App, engine: &Engine, jobs: &Jobs<'_>, name: &str, how: Cancel) -> Result<Job> {
    let job = jobs::find(app, engine, jobs, name).await?;
    jobs.cancel(&job, how).await?;
    Ok(job)
}

async fn wait(jobs: &Jobs<'_>, job: &Job, deadline: Instant) -> Result<Job> {
    while !jobs.is_over(job).await? {
        if Instant::now() > deadline {
            let message = format!("job {} was asked to end {} s ago, and has not", job.id, PATIENCE.as_secs());
            return Err(CliError::held(message).hinted(format!("`spinney cancel {} --now` does not ask", job.id)));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // One whose process died meanwhile is not settled yet.
    jobs.recover().await?;
    Ok(jobs.load(&job.id).await?)
}

fn tell(app: &App, job: &Job) {
    let after = match (job.started_at, job.ended_at) {
        (Some(started), Some(ended)) => format!(" after {}", words::lasted(words::between(started, ended))),
        _ => " before it began".to_owned(),
    };
    let again = format!("again: spinney retry {}", job.id);
    app.ui.say(format!("job {} ({} on {}) is {}{after}", job.id, job.agent, job.work.workspace_name(), job.status));
    app.ui.say(again);
}
