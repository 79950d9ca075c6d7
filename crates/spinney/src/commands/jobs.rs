//! `spinney jobs`: what runs, what waits, what came of the rest.

use std::time::Duration;

use clap::Args;
use spinney_app::{Front, document};
use spinney_core::{Job, JobStatus, Timestamp};
use spinney_engine::plural;
use spinney_jobs::Jobs;

use crate::app::App;
use crate::error::Result;
use crate::jobs;
use crate::ui::table::{Cell, Table};
use crate::ui::{story, style, words};

/// How long a job that has ended is of interest.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of the end of a log is searched for what its agent did last.
const TAIL_BYTES: u64 = 64 << 10;
/// What is shown of a sentence in a table.
const MAX_SENTENCE_CHARACTERS: usize = 100;

/// List jobs, newest first
///
/// Those that run or wait, and those that ended within the last day.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney jobs\n  spinney jobs --status failed -n 5\n  spinney jobs --all --json")]
pub struct JobsArgs {
    /// Of all repositories, however old
    #[arg(long)]
    all: bool,
    /// Only those with this status, however old
    #[arg(long, value_name = "STATUS")]
    status: Option<JobStatus>,
    /// List at most N
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 50)]
    limit: u32,
}

pub async fn run(app: &App, args: JobsArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let context = if args.all { None } else { app.context_if_any(&engine).await? };
    let repository = context.as_ref().map(|context| &context.repository.id);
    let statuses = args.status.map_or_else(|| JobStatus::ALL.to_vec(), |status| vec![status]);
    let since = (!args.all && args.status.is_none()).then(|| Timestamp::now().minus(LATELY));
    let is_asked_for =
        |job: &Job| since.is_none_or(|since| !job.status.is_final() || job.ended_at.unwrap_or(job.created_at) >= since);
    let mut listed = jobs.list(repository, &statuses, args.limit).await?;
    let is_cut = listed.len() >= usize::try_from(args.limit).unwrap_or(usize::MAX);
    listed.retain(is_asked_for);
    if since.is_some() {
        // However many came after it, one that runs is shown.
        let unfinished = jobs.list(repository, &[JobStatus::Pending, JobStatus::Running], u32::MAX >> 1).await?;
        for job in unfinished {
            if !listed.iter().any(|listed| listed.id == job.id) {
                listed.push(job);
            }
        }
    }
    if app.ui.json {
        let mut documents = Vec::new();
        for job in &listed {
            documents.push(jobs::document(&engine, &jobs, job).await?);
        }
        app.ui.print_json(&document::Jobs { jobs: documents, failed: None });
        return Ok(0);
    }
    let place = context.as_ref().map(|context| context.repository.name.to_string());
    let place = place.unwrap_or_else(|| "all repositories".to_owned());
    // Only where the list was cut can there be more.
    let all = if is_cut { jobs.list(repository, &statuses, u32::MAX >> 1).await? } else { Vec::new() };
    let total = all.iter().filter(|job| is_asked_for(job)).count();
    let shown = match listed.len() {
        shown if shown < total => format!("{shown} of {}", plural(total, "job")),
        shown => plural(shown, "job"),
    };
    let count = |status| listed.iter().filter(|job| job.status == status).count();
    let (running, waiting) = (count(JobStatus::Running), count(JobStatus::Pending));
    app.ui.say(format!("{place}: {shown}, {running} running, {waiting} waiting"));
    if listed.is_empty() {
        app.ui.say("start one with `spinney run --issue 42 \"fix the login bug\"`; `--all` shows old ones too");
        return Ok(0);
    }
    app.ui.print_table(&table(&jobs, &listed, args.all || repository.is_none()));
    Ok(0)
}

fn table(jobs: &Jobs<'_>, listed: &[Job], with_repository: bool) -> Table {
    let mut columns = vec!["ID", "AGENT", "WORK", "STATE", "TOOK", "AGE"];
    if with_repository {
        columns.push("REPOSITORY");
    }
    columns.push("WHAT");
    let mut table = Table::with_header(&columns);
    for job in listed {
        let took = if job.started_at.is_some() { words::lasted(words::ran_for(job)) } else { "–".to_owned() };
        let mut cells = vec![
            Cell::styled(job.id.as_str(), style::NAME),
            Cell::from(job.agent.as_str()),
            Cell::from(job.work.workspace_name().as_str()),
            Cell::styled(state(job), story::status_style(job.status)),
            Cell::from(took),
            Cell::from(words::age(job.created_at)),
        ];
        if with_repository {
            cells.push(Cell::from(job.repository.to_string()));
        }
        cells.push(Cell::from(what(jobs, job)));
        table.row(cells);
    }
    table
}

/// One word for a job's status.
pub fn state(job: &Job) -> &'static str {
    match job.status {
        JobStatus::Pending => "waiting",
        JobStatus::TimedOut => "timed out",
        status => status.as_str(),
    }
}

/// What it waits for, does, or came to.
fn what(jobs: &Jobs<'_>, job: &Job) -> String {
    let sentence = match job.status {
        JobStatus::Pending => job
            .waits_for
            .as_ref()
            .map(|what| format!("for {}", words::plain(&words::waits_for(what, Front::CommandLine)))),
        JobStatus::Running => last_action(jobs, job),
        JobStatus::Completed => job.outcome.summary.as_deref().map(|text| words::first_line(text).into_owned()),
        _ => words::error_of(job, Front::CommandLine).map(|text| words::first_line(&text).into_owned()),
    };
    let sentence = sentence.filter(|text| !text.is_empty()).unwrap_or_else(|| match job.status.is_final() {
        true => words::outcome(job, Front::CommandLine),
        false => "starting".to_owned(),
    });
    spinney_core::names::cut_for_message(&sentence, MAX_SENTENCE_CHARACTERS)
}

/// The last thing that its log tells.
fn last_action(jobs: &Jobs<'_>, job: &Job) -> Option<String> {
    let mut log = jobs.log(&job.id);
    log.skip_to_last(TAIL_BYTES).ok()?;
    // An agent may write faster than this reads.
    log.stop_here().ok()?;
    let mut last = None;
    while let Ok(Some(entry)) = log.next_entry() {
        last = words::doing(&entry.event).or(last);
    }
    last
}
