//! `spinney run`: an agent on a piece of work, now.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use spinney_app::jobs::JobAsked;
use spinney_app::{InvalidRequest, Prompt, WorkRequest};
use spinney_core::{AgentName, BranchName, JobId, Platform, Work};
use spinney_jobs::Busy;

use super::fan_out::{self, Piece};
use super::new::WorkArgs;
use crate::app::App;
use crate::completion::agent_names;
use crate::error::{CliError, Result};
use crate::follow::{self, Asked, Interrupts, Watched};
use crate::jobs;

/// More than a prompt may have; what is beyond need not be read to be refused.
const MAX_INPUT_BYTES: u64 = 8 << 20;

/// Run an agent on a piece of work
///
/// The agent works in a workspace; its commits are pushed, and with `create_pr` a pull request is opened. The job runs in its
/// own process, so that a closed terminal does not end it; Ctrl-C cancels it. Progress goes to stderr; stdout gets the URL of
/// the pull request, or the branch.
///
/// Exit status: 0 completed, 1 failed, 3 no room for its workspace, 6 cancelled, timed out or interrupted; of several jobs,
/// the worst.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney run --agent coder --issue 42 \"fix the login bug\"\n  spinney run --task \"Add dark mode\"\n  \
    spinney run --pr 99 --head feature/auth --wait \"address the review\"\n  spinney run --issue 42 --detach - < prompt.md\n  \
    spinney run --each prompts.txt\n  spinney run --issue 42 --count 3 \"fix the login bug\"\n\n\
    Without a work flag, the job is its own work, and its workspace goes when it has delivered."
)]
pub struct RunArgs {
    /// What to do; `-` reads it from stdin [default: the text of --task]
    prompt: Option<String>,
    /// The agent [default: the only one that is configured]
    #[arg(long, value_name = "NAME", add = agent_names())]
    agent: Option<AgentName>,
    /// A title for people
    #[arg(long, value_name = "TEXT", conflicts_with = "each")]
    title: Option<String>,
    /// Start from this branch, tag or commit [default: `workspace.base`, the remote's HEAD, or the current branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// Issues and pull requests of this repository that this belongs to: their workspace is shared
    #[arg(long, value_name = "42,pr:9", value_delimiter = ',', value_parser = Work::link, conflicts_with_all = ["count", "each"])]
    links: Vec<Work>,
    /// Adopt the worktree that has this branch, if there is one
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["count", "each"])]
    suggest: Option<BranchName>,
    /// Run N jobs with the same prompt, each in its own workspace: for issue 42, the tasks `issue-42-1`, `issue-42-2`, …
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "each")]
    count: Option<u32>,
    /// A job for every line of a file (`-`: stdin), each a task of its own; empty lines and those that begin with `#` are skipped
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "WorkArgs"])]
    each: Option<PathBuf>,
    /// Print the ids of the jobs and return at once
    #[arg(long)]
    detach: bool,
    /// Wait for the job that has this work, and for room for a workspace, instead of failing
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    work: WorkArgs,
}

impl RunArgs {
    /// The pieces of work to do; more than one with `--count` and `--each`.
    fn pieces(&self, asked: &WorkRequest) -> Result<Vec<Piece>> {
        if let Some(file) = &self.each {
            return fan_out::of_lines(&read_lines(file)?);
        }
        let prompt = self.prompt()?;
        let (work, title) = (asked.work.clone(), asked.title.clone());
        match self.count {
            Some(count) => fan_out::of_count(count, work.as_ref(), asked.branch.as_ref(), title.as_deref(), &prompt),
            None => Ok(vec![Piece { work, title, prompt }]),
        }
    }

    fn prompt(&self) -> Result<String> {
        let prompt = match (&self.prompt, &self.work.task) {
            (Some(prompt), _) if prompt == "-" => read_stdin("the prompt")?,
            (Some(prompt), _) => prompt.clone(),
            (None, Some(task)) => task.clone(),
            (None, None) => String::new(),
        };
        Ok(Prompt::new(prompt)?.as_str().to_owned())
    }

    fn request(&self) -> Result<WorkRequest> {
        let request = self.work.request(Platform::Cli)?;
        Ok(WorkRequest {
            title: self.title.clone().or(request.title),
            base: self.base.clone(),
            links: self.links.clone(),
            suggest: self.suggest.clone(),
            ..request
        })
    }
}

pub async fn run(app: &App, args: RunArgs) -> Result<u8> {
    let request = args.request()?;
    let pieces = args.pieces(&request)?;
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let context = app.context(&engine).await?;
    let busy = if args.wait { Busy::Wait } else { Busy::Refuse };
    let mut asked = Asked { many: args.count.is_some() || args.each.is_some(), failed: Vec::new() };
    // Nobody sits before a list, nor before a daemon's jobs, who could make room and ask again.
    let has_daemon = spinney_server::running_url(engine.home().root()).is_some();
    let waits_for_room = asked.many || args.wait || has_daemon;
    let batch = args.each.is_some().then(JobId::generate);
    let interrupts = Interrupts::listen()?;
    let mut started = Vec::new();
    let mut first = Some(context);
    for Piece { work, title, prompt } in pieces {
        let name = work.as_ref().map_or_else(|| prompt.clone(), |work| work.workspace_name().to_string());
        let new = JobAsked {
            id: None,
            agent: args.agent.clone(),
            prompt: Prompt::new(prompt)?,
            work: WorkRequest { work, title, ..request.clone() },
            names_repository: app.global.repo.is_some(),
            busy,
            waits_for_room,
            batch: batch.clone(),
        };
        let context = match first.take() {
            Some(context) => context,
            None => app.context(&engine).await?,
        };
        match spinney_app::jobs::submit(&jobs, context, new).await {
            Ok(job) => started.push(job),
            // What is wrong with the first is wrong with the command.
            Err(error) if started.is_empty() => return Err(error.into()),
            Err(error) => asked.failed.push((name, error.into())),
        }
        // From here on an interrupt is meant for the jobs.
        app.take_interrupts();
    }
    if args.detach {
        return follow::hand_over(app, &engine, &jobs, &started, &asked).await;
    }
    let watched = started.into_iter().map(|job| {
        let log = jobs.log(&job.id);
        Watched::new(job, log)
    });
    follow::to_the_end(app, &engine, &jobs, watched.collect(), &asked, interrupts).await
}

fn read_lines(file: &Path) -> Result<String> {
    if file.as_os_str() == "-" {
        return read_stdin("the prompts");
    }
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|error| {
        CliError::usage(format!("`{}` can't be read: {error}", file.display())).hinted("one prompt a line")
    })?;
    read(opened, &format!("`{}`", file.display()))
}

fn read_stdin(what: &str) -> Result<String> {
    if std::io::stdin().is_terminal() {
        anstream::eprintln!("type {what}; Ctrl-D ends it");
    }
    read(std::io::stdin().lock(), "stdin")
}

fn read(reader: impl Read, place: &str) -> Result<String> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("{place} can't be read: {error}")))?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err(CliError::usage(format!("{place} has more than {MAX_INPUT_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| CliError::usage(format!("{place} is not text in UTF-8")))?;
    checked(text)
}

/// No program takes a text with a zero byte as an argument, and no database as a text.
fn checked(text: String) -> Result<String> {
    if text.contains('\0') { Err(InvalidRequest::ZeroByteInPrompt.into()) } else { Ok(text) }
}
