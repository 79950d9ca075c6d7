//! `spinney logs`: what happened in a job, for people or as it was written.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use clap::Args;
use spinney_app::Front;
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

/// Show what happened in a job
///
/// With `--json`, the log's own lines as they are: one JSON object a line, not one document.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney logs 7f3k2a\n  spinney logs issue-42 -f\n  spinney logs issue-42 --tail 20\n  spinney logs 7f3k2a --json | jq 'select(.type == \"tool_use\")'"
)]
pub struct LogsArgs {
    /// A job's id, the beginning of it, or a workspace, whose newest job is meant
    #[arg(add = job_ids())]
    job: String,
    /// Go on until the job is over
    #[arg(short, long)]
    follow: bool,
    /// Only the last N lines of what there is by now
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
}

pub async fn run(app: &App, args: LogsArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let job = jobs::find(app, &engine, &jobs, &args.job).await?;
    if job.node != *engine.home().node() {
        return Err(CliError::not_found(format!("the log of job {} is on the machine that ran it", job.id)));
    }
    app.take_interrupts();
    let printer = if app.ui.json { Printer::Raw } else { Printer::of(app, &job, args.tail) };
    tokio::select! {
        printed = print(&jobs, &job, &args, printer) => printed,
        // Who has seen enough is no failure of anybody's.
        _ = tokio::signal::ctrl_c() => Ok(130),
    }
}

enum Printer {
    Raw,
    Readable { story: Story, began_ms: Option<i64>, last: Option<Last> },
}

/// The last lines so far.
struct Last {
    most: usize,
    lines: VecDeque<String>,
}

impl Last {
    fn push(&mut self, line: String) {
        self.lines.push_back(line);
        if self.lines.len() > self.most {
            self.lines.pop_front();
        }
    }
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
    fn of(app: &App, job: &Job, tail: Option<u32>) -> Self {
        let since = match job.status {
            JobStatus::Pending => format!(", asked for {}", words::ago(job.created_at)),
            JobStatus::Running => format!(", started {}", words::ago(job.started_at.unwrap_or(job.created_at))),
            _ => format!(" {}", words::ago(job.ended_at.unwrap_or(job.created_at))),
        };
        let status = style::paint(story::status_style(job.status), state(job));
        app.ui.say(format!("job {}: {} on {}, {status}{since}", job.id, job.agent, job.work.workspace_name()));
        let last = tail.map(|most| Last { most: most as usize, lines: VecDeque::new() });
        Self::Readable { story: Story::default(), began_ms: None, last }
    }

    fn print_next(&mut self, log: &mut LogReader) -> Result<Printed> {
        let written = match self {
            Self::Raw => {
                let Some(line) = log.next_line()? else { return Ok(Printed::None) };
                std::io::stdout().write_all(&words::log_line(line, Front::CommandLine))
            }
            Self::Readable { story, began_ms, last } => {
                let Some(entry) = log.next_entry()? else {
                    // All that is there by now was read.
                    let lines = last.take().map(|last| last.lines).unwrap_or_default();
                    let printed = lines.into_iter().try_for_each(|line| writeln!(anstream::stdout(), "{line}"));
                    return Ok(if printed.is_ok() { Printed::None } else { Printed::Closed });
                };
                let mut time = time_of(&entry, *began_ms.get_or_insert(entry.at_ms));
                story.tell(&entry.event).iter().try_for_each(|line| {
                    let time = std::mem::replace(&mut time, " ".repeat(TIME_WIDTH));
                    let line = format!("{}  {}", style::paint(style::QUIET, time), line.painted());
                    match last {
                        Some(last) => {
                            last.push(line);
                            Ok(())
                        }
                        None => writeln!(anstream::stdout(), "{line}"),
                    }
                })
            }
        };
        Ok(if written.is_ok() { Printed::Whole } else { Printed::Closed })
    }
}

async fn print(jobs: &Jobs<'_>, job: &Job, args: &LogsArgs, mut printer: Printer) -> Result<u8> {
    let follow = args.follow;
    let mut log = jobs.log(&job.id);
    if !follow {
        log.stop_here()?;
    }
    // What people read is told by all that came before it.
    if let (Printer::Raw, Some(lines)) = (&printer, args.tail) {
        log.skip_to_last_lines(lines.into())?;
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
