//! What stays when jobs are over: what each came to, where its work is, and what to type next.

use std::io::IsTerminal;

use spinney_app::Front;
use spinney_core::{Job, JobStatus, LeftOut, Push, Workspace, WorkspaceStatus};
use spinney_engine::{Engine, escapes_in_words, plural};
use spinney_git::REMOTE_HAS_MOVED_ON;

use crate::app::App;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{story, style, words};

/// How much of a summary is shown; `spinney logs` has all of it.
const SUMMARY_LINES: usize = 3;
/// How many paths and tools are named.
const MAX_NAMED: usize = 5;

/// Tells what one job came to. The pull request, else the branch, alone goes to stdout.
pub async fn tell(app: &App, engine: &Engine, job: &Job) -> Result<()> {
    let mark = style::paint(story::status_style(job.status), stop_word(job.status));
    app.ui.say(format!(
        "{mark} {}  {}  {}",
        job.agent,
        words::lasted(words::ran_for(job)),
        words::outcome(job, Front::CommandLine)
    ));
    for warning in warnings(job) {
        app.ui.say(format!("{} {warning}", style::paint(style::WARNING, "!")));
    }
    if let Some(result) = result(job) {
        let indent = if std::io::stdout().is_terminal() { "  " } else { "" };
        app.ui.print(format!("{indent}{result}"));
    }
    for line in summary(job) {
        app.ui.say(format!("  {line}"));
    }
    for line in next(engine, job).await? {
        app.ui.say(format!("  {line}"));
    }
    Ok(())
}

/// Tells what several jobs came to, in one table.
pub async fn tell_all(app: &App, engine: &Engine, jobs: &[Job]) -> Result<()> {
    let mut table = Table::default();
    for (index, job) in jobs.iter().enumerate() {
        let mut cells = vec![
            Cell::from(format!("{:>2}", index + 1)),
            Cell::styled(stop_word(job.status), story::status_style(job.status)),
            Cell::styled(job.work.workspace_name().as_str(), style::NAME),
            Cell::from(words::lasted(words::ran_for(job))),
            Cell::from(words::outcome(job, Front::CommandLine)),
        ];
        cells.extend(result(job).map(Cell::from));
        table.row(cells);
    }
    app.ui.print_table(&table);
    for job in jobs {
        let work = job.work.workspace_name();
        for warning in warnings(job) {
            app.ui.say(format!("{} {work}: {warning}", style::paint(style::WARNING, "!")));
        }
        if job.status != JobStatus::Completed {
            app.ui.say(format!("{work}:"));
            next(engine, job).await?.iter().for_each(|line| app.ui.say(format!("  {line}")));
        }
    }
    Ok(())
}

/// The mark of a job that is over, at the beginning of its line.
pub fn stop_word(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Completed => "✓",
        JobStatus::Failed | JobStatus::TimedOut | JobStatus::Interrupted => "✗",
        JobStatus::Cancelled => "–",
        JobStatus::Pending | JobStatus::Running => "…",
    }
}

/// What a program wants to go on with: the pull request, else the branch, if there is anything on it.
fn result(job: &Job) -> Option<String> {
    let made = job.status == JobStatus::Completed && job.outcome.commits > 0;
    let branch = job.outcome.branch.as_deref().filter(|_| made);
    job.outcome.pull_request.as_deref().or(branch).map(|text| words::plain(text).into_owned())
}

fn summary(job: &Job) -> Vec<String> {
    let text = job.outcome.summary.as_deref().unwrap_or_default();
    let lines = text.lines().map(words::plain).filter(|line| !line.trim().is_empty());
    lines.take(SUMMARY_LINES).map(|line| line.into_owned()).collect()
}

fn warnings(job: &Job) -> Vec<String> {
    let outcome = &job.outcome;
    let mut warnings = Vec::new();
    if !outcome.escaped.is_empty() {
        let what = if job.request.reads { "the checkout that it may only read" } else { "the main checkout" };
        warnings.push(format!("{what} changed meanwhile: {}", escapes_in_words(&outcome.escaped)));
    }
    if !outcome.left_out.is_empty() {
        let one = |left: &LeftOut| format!("{} ({})", left.path, words::left_out(left.reason));
        let paths: Vec<String> = outcome.left_out.iter().map(one).collect();
        warnings.push(format!("not committed: {}", named(&paths)));
    }
    if !outcome.shared.is_empty() {
        let paths = named(&outcome.shared);
        warnings.push(format!("its commits contain changes that were uncommitted before the agent started: {paths}"));
    }
    if !outcome.denied.is_empty() {
        let times = plural(outcome.denied.len(), "time");
        warnings.push(format!("its agent was refused tools, {times}: {}", named(&outcome.denied)));
    }
    warnings
}

fn named(texts: &[String]) -> String {
    let mut shown: Vec<_> = texts.iter().take(MAX_NAMED).map(|text| words::first_line(text).into_owned()).collect();
    if texts.len() > MAX_NAMED {
        shown.push(format!("{} more", texts.len() - MAX_NAMED));
    }
    shown.join(", ")
}

/// Where the work is, and what to type next.
async fn next(engine: &Engine, job: &Job) -> Result<Vec<String>> {
    // What it read in is no workspace of its own; what it changed there is in the trash.
    let is_own = |workspace: &Workspace| !job.request.reads || !workspace.status.is_live();
    let workspace = spinney_app::jobs::workspace_of(engine, job).await?.filter(is_own);
    let live = workspace.as_ref().filter(|workspace| workspace.status.is_live());
    let there = live.filter(|workspace| workspace.path.is_dir());
    let look = there.map(|workspace| format!("look: cd \"$(spinney path --link {})\"", workspace.name));
    if job.status == JobStatus::Completed {
        if let Some(workspace) = workspace.filter(|_| job.request.reads) {
            return Ok(vec![format!("what was changed is in the trash: spinney restore {}", workspace.name)]);
        }
        let stays = !matches!(job.outcome.push, Some(Push::Pushed | Push::Nothing));
        return Ok(look.filter(|_| stays).into_iter().collect());
    }
    let mut lines = Vec::new();
    if let Some(workspace) = there {
        let commits = match job.outcome.commits {
            0 => String::new(),
            commits if workspace.metadata.pushed_commit == job.outcome.commit => {
                format!(" ({}, pushed)", words::counted(commits, "commit"))
            }
            commits => format!(" ({}, not pushed)", words::counted(commits, "commit")),
        };
        if !job.outcome.untouched {
            lines.push(format!("its work is in {}{commits}", workspace.name));
        }
        lines.extend(what_mends(engine, job, workspace).await?);
    } else if let Some(workspace) = live {
        lines.push(format!("its directory is gone; what was committed is on `{}`", workspace.branch));
    } else if let Some(workspace) = workspace.filter(|workspace| workspace.status == WorkspaceStatus::Trashed) {
        let (name, id) = (&workspace.name, &workspace.id);
        lines.push(format!("{name} is in the trash: spinney restore {id}"));
    }
    let again = format!("again: spinney retry {}", job.id);
    let look = look.unwrap_or_else(|| format!("look: spinney logs {}", job.id));
    lines.push(format!("{again}     {look}"));
    Ok(lines)
}

/// What must be done before the job can go on, where another try alone would end the same.
async fn what_mends(engine: &Engine, job: &Job, workspace: &Workspace) -> Result<Option<String>> {
    if workspace.path.join(".git").symlink_metadata().is_err() {
        let repository = engine.repositories().await?.into_iter().find(|known| known.id == workspace.repository_id);
        let place = repository.map(|repository| repository.root.unwrap_or(repository.common_dir));
        return Ok(place.map(|place| format!("its `.git` file is gone: git -C {} worktree repair", place.display())));
    }
    let has_moved_on = job.outcome.error.as_deref().is_some_and(|error| error.contains(REMOTE_HAS_MOVED_ON));
    if job.outcome.push != Some(Push::Refused) || !has_moved_on {
        return Ok(None);
    }
    let remote = match engine.context_of(workspace).await {
        Ok(context) => engine.remote(&context).await?.map(|remote| remote.name),
        Err(_) => None,
    };
    let branch = job.outcome.branch.as_deref().unwrap_or(workspace.branch.as_str());
    let remote = remote.unwrap_or_else(|| "origin".to_owned());
    Ok(Some(format!("first: spinney exec {} -- git pull --rebase {remote} {}", workspace.name, words::plain(branch))))
}
