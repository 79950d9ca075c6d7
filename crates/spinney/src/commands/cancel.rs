//! `spinney cancel`: ends jobs, and waits until they are over.

use std::time::{Duration, Instant};

use clap::Args;
use spinney_app::document;
use spinney_app::own_program::JOB_COMMAND;
use spinney_core::{Cancel, Job, JobId};
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

/// End jobs; their work stays
///
/// The agent is asked to end, and killed if it has not ended after a few seconds. `spinney retry` continues later.
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
        match wait(&jobs, &job, how, deadline).await {
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
                let failures = failed.iter().map(|(name, error)| error.as_failure(name));
                app.ui.print_json(&document::Jobs { jobs: documents, failed: Some(failures.collect()) });
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
    spinney_app::jobs::cancel(jobs, &job, how == Cancel::AtOnce).await?;
    Ok(job)
}

async fn wait(jobs: &Jobs<'_>, job: &Job, how: Cancel, deadline: Instant) -> Result<Job> {
    while !jobs.is_over(job).await? {
        if Instant::now() > deadline {
            let message = format!("job {} was asked to end {} s ago and still runs", job.id, PATIENCE.as_secs());
            return Err(CliError::stuck(message).hinted(what_ends(&job.id, how, process_of(&job.id))));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    // One whose process died meanwhile is not settled yet.
    jobs.recover().await?;
    Ok(jobs.require(&job.id).await?)
}

/// A process that runs a job.
#[derive(Clone, Copy)]
struct Process {
    pid: u32,
    /// Somebody stopped it, and it hears nothing.
    stopped: bool,
}

/// Looks for the process of a job by how it was started; none where the system has no `/proc`.
fn process_of(id: &JobId) -> Option<Process> {
    let wanted = format!("\0{JOB_COMMAND}\0{id}\0");
    let entries = std::fs::read_dir("/proc").ok()?.flatten();
    entries.into_iter().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let stopped = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
        String::from_utf8_lossy(&line).contains(&wanted).then_some(Process { pid, stopped })
    })
}

/// What ends a job that did not end.
fn what_ends(id: &JobId, how: Cancel, process: Option<Process>) -> String {
    match process {
        Some(Process { pid, stopped: true }) => {
            format!("its process {pid} is stopped: `kill -CONT {pid}` lets it go on, and end")
        }
        _ if how != Cancel::AtOnce => format!("`spinney cancel {id} --now` kills the agent at once"),
        Some(Process { pid, .. }) => format!("`kill -9 {pid}` ends its process; `spinney retry {id}` goes on later"),
        None => "`spinney doctor` tells what is wrong".to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_to_do_what_did_not_help() {
        let id = JobId::generate();
        let process = |stopped| Some(Process { pid: 42, stopped });
        assert!(what_ends(&id, Cancel::Asked, process(false)).contains("--now"));
        for (how, process, helps) in [
            (Cancel::AtOnce, process(false), "`kill -9 42`"),
            (Cancel::AtOnce, process(true), "`kill -CONT 42`"),
            (Cancel::Asked, process(true), "`kill -CONT 42`"),
            (Cancel::AtOnce, None, "`spinney doctor`"),
        ] {
            let told = what_ends(&id, how, process);
            assert!(told.contains(helps) && !told.contains("--now"), "{told}");
        }
    }

    #[test]
    fn only_the_process_of_a_job_is_taken_for_it() {
        assert!(process_of(&JobId::generate()).is_none());
    }
}
