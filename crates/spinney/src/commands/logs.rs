//! `spinney logs`: what happened in a job, for people or as it was written.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use spinney_core::{Job, JobStatus, LogEntry};
use spinney_jobs::{Jobs, LogReader};

use crate::app::App;
use crate::commands::jobs::state;
use crate::completion::job_ids;
use crate::error::{CliError, Result};
use crate::jobs;
use crate::ui::story::{self, Story};
use crate::ui::{style, words};

/// How often a log is looked at for more.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How many entries are printed before an interrupt is looked for.
const AT_ONCE: usize = 500;
/// Room for the time before each line: `12:05`, `1:02:05`.
const TIME_WIDTH: usize = 7;

/// Show what happened in a job: text as prose, tools as one line each, errors in place
///
/// With `--json`, the log's own lines as they are: one JSON object a line, not one document.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney logs 7f3k2a\n  spinney logs issue-42 -f\n  spinney logs 7f3k2a --json | jq 'select(.type == \"tool_use\")'"
)]
pub struct LogsArgs {
    /// A job's id, the beginning of it, or a workspace, whose newest job is meant
    #[arg(add = job_ids())]
    job: String,
    /// Go on until the job is over
    #[arg(short, long)]
    follow: bool,
}

pub async fn run(app: &App, args: LogsArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let job = jobs::find(app, &engine, &jobs, &args.job).await?;
    if job.node != *engine.home().node() {
        return Err(CliError::not_found(format!("the log of job {} is on the machine that ran it", job.id)));
    }
    app.take_interrupts();
    let printer = if app.ui.json { Printer::Raw } else { Printer::of(app, &job) };
    tokio::select! {
        printed = print(&jobs, &job, args.follow, printer) => printed,
        // Who has seen enough is no failure of anybody's.
        _ = tokio::signal::ctrl_c() => Ok(130),
    }
}

enum Printer {
    Raw,
    Readable { story: Story, began_ms: Option<i64> },
}

/// What became of the next entry.
enum Printed {
    Whole,
    /// There is none yet.
    None,
    /// Nobody reads any more.
    Closed,
}

impl Printer {
    fn of(app: &App, job: &Job) -> Self {
        let since = match job.status {
            JobStatus::Pending => format!(", asked for {}", words::ago(job.created_at)),
            JobStatus::Running => format!(", started {}", words::ago(job.started_at.unwrap_or(job.created_at))),
            _ => format!(" {}", words::ago(job.ended_at.unwrap_or(job.created_at))),
        };
        let status = style::paint(story::status_style(job.status), state(job));
        app.ui.say(format!("job {}: {} on {}, {status}{since}", job.id, job.agent, job.work.workspace_name()));
        Self::Readable { story: Story::default(), began_ms: None }
    }

    fn print_next(&mut self, log: &mut LogReader) -> Result<Printed> {
        let written = match self {
            Self::Raw => {
                let Some(line) = log.next_line()? else { return Ok(Printed::None) };
                std::io::stdout().write_all(&line)
            }
            Self::Readable { story, began_ms } => {
                let Some(entry) = log.next_entry()? else { return Ok(Printed::None) };
                let mut time = time_of(&entry, *began_ms.get_or_insert(entry.at_ms));
                story.tell(&entry.event).iter().try_for_each(|line| {
                    let time = std::mem::replace(&mut time, " ".repeat(TIME_WIDTH));
                    writeln!(anstream::stdout(), "{}  {}", style::paint(style::QUIET, time), line.painted())
                })
            }
        };
        Ok(if written.is_ok() { Printed::Whole } else { Printed::Closed })
    }
}

async fn print(jobs: &Jobs<'_>, job: &Job, follow: bool, mut printer: Printer) -> Result<u8> {
    let mut log = jobs.log(&job.id);
    if !follow {
        log.stop_here()?;
    }
    loop {
        // Asked before the log is read: what was written by then is not missed.
        let is_over = jobs.is_over(job).await?;
        for printed in 1.. {
            match printer.print_next(&mut log)? {
                Printed::Whole => {}
                Printed::None => break,
                Printed::Closed => return Ok(0),
            }
            if printed % AT_ONCE == 0 {
                // An interrupt must not have to wait for the end of a long log.
                tokio::task::yield_now().await;
            }
        }
        if is_over || !follow {
            return Ok(0);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn time_of(entry: &LogEntry, began_ms: i64) -> String {
    let seconds = (entry.at_ms - began_ms).max(0) / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") };
    format!("{time:>TIME_WIDTH$}")
}
