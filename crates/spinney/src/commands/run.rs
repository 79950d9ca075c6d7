//! `spinney run`: an agent on a piece of work, now.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use spinney_core::{AgentName, BranchName, JobRequest, Platform, Work};
use spinney_jobs::{Agent, Busy, NewJob};

use super::fan_out::{self, Piece};
use super::new::WorkArgs;
use crate::app::App;
use crate::completion::agent_names;
use crate::error::{CliError, Result};
use crate::follow::{self, Asked, Interrupts, Watched};
use crate::jobs;

/// More than a prompt may have; what is beyond need not be read to be refused.
const MAX_INPUT_BYTES: u64 = 8 << 20;

/// Run an agent on a piece of work: workspace, session, commits, push, pull request
///
/// The job runs in a process of its own, which outlives this one. Its progress goes to stderr; the pull request's URL, else the
/// branch with its commits, goes to stdout. Ctrl-C cancels it, twice at once. Exit status: 0 completed, 1 failed, 6 cancelled,
/// timed out or interrupted; of several jobs, the worst.
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
    /// Start from this branch, tag or commit [default: `workspace.base`, else the remote's HEAD]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// Issues and pull requests of this repository that this belongs to: their workspace is shared
    #[arg(long, value_name = "42,pr:9", value_delimiter = ',', value_parser = Work::link, conflicts_with_all = ["count", "each"])]
    links: Vec<Work>,
    /// Adopt the worktree that has this branch, if there is one
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["count", "each"])]
    suggest: Option<BranchName>,
    /// So many jobs with the same prompt, each in a workspace of its own: of an issue 42, the tasks `issue-42-1`, `issue-42-2`, …
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with = "each")]
    count: Option<u32>,
    /// A job for every line of a file (`-`: stdin), each a task of its own; empty lines and those that begin with `#` are skipped
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "WorkArgs"])]
    each: Option<PathBuf>,
    /// Print the ids of the jobs and leave them to themselves
    #[arg(long)]
    detach: bool,
    /// Where the same work is being done already, take the place behind it instead of being refused
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    work: WorkArgs,
}

impl RunArgs {
    /// The pieces of work to do; more than one with `--count` and `--each`.
    fn pieces(&self) -> Result<Vec<Piece>> {
        if let Some(file) = &self.each {
            return fan_out::of_lines(&read_lines(file)?);
        }
        let prompt = self.prompt()?;
        let work = self.work.work_if_any()?;
        let title = self.title.clone().or_else(|| self.work.task.clone());
        match self.count {
            Some(count) => {
                let branch = self.work.branch.as_ref();
                fan_out::of_count(count, work.as_ref(), branch, title.as_deref(), &prompt)
            }
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
        if prompt.trim().is_empty() {
            return Err(CliError::usage("the prompt is empty")
                .hinted("say what to do: `spinney run --issue 42 \"fix the login bug\"`; `-` reads it from stdin"));
        }
        checked(prompt)
    }

    fn request(&self) -> JobRequest {
        JobRequest {
            base: self.base.clone(),
            branch: self.work.branch.clone(),
            head: self.work.head.clone(),
            sha: self.work.sha.clone(),
            fork: self.work.fork,
            setup: self.work.setup,
            links: self.links.clone(),
            suggest: self.suggest.clone(),
            ..JobRequest::default()
        }
    }
}

pub async fn run(app: &App, args: RunArgs) -> Result<u8> {
    let pieces = args.pieces()?;
    let engine = app.engine().await?;
    let jobs = jobs::open(app, &engine)?;
    let context = app.context(&engine).await?;
    let agent = match &args.agent {
        Some(agent) => agent.clone(),
        None => Agent::only(&context)?,
    };
    let busy = if args.wait { Busy::Wait } else { Busy::Refuse };
    let mut asked = Asked { many: args.count.is_some() || args.each.is_some(), failed: Vec::new() };
    let interrupts = Interrupts::listen()?;
    let mut started = Vec::new();
    let mut first = Some(context);
    for Piece { work, title, prompt } in pieces {
        let name = work.as_ref().map_or_else(|| prompt.clone(), |work| work.workspace_name().to_string());
        let new = NewJob {
            id: None,
            agent: agent.clone(),
            work,
            title,
            prompt,
            trigger: Platform::Cli,
            request: args.request(),
            names_repository: app.global.repo.is_some(),
        };
        let context = match first.take() {
            Some(context) => context,
            None => app.context(&engine).await?,
        };
        match jobs.submit(context, new, busy).await {
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
    match text.contains('\0') {
        true => Err(CliError::usage("the prompt has a zero byte in it")),
        false => Ok(text),
    }
}
