//! `spinney ls`: the workspaces, from the store alone or with what git says.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use clap::Args;
use spinney_app::document;
use spinney_app::workspaces::{self, Running};
use spinney_core::{Workspace, WorkspaceId, WorkspaceStatus};
use spinney_engine::{Among, Context, Details, Engine, has_tree, plural, size};

use crate::app::App;
use crate::background;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// List workspaces
///
/// Reads the store and looks whether each directory is there; `-l` asks git in every tree. Outside a repository: the workspaces of
/// all repositories.
#[derive(Debug, Args)]
#[command(
    after_help = "How commands take a workspace: by its name, branch or id, the number of its issue or pull request (`42` \
    or `#42`), the address of that page, `.` for the one you stand in, or a part of the name that no other workspace has \
    (at least 3 letters).\n\nExamples:\n  spinney ls\n  spinney ls -l\n  spinney ls --size\n  spinney ls --all --json"
)]
pub struct LsArgs {
    /// Ask git: changes, distance from base, merged or not
    #[arg(short)]
    long: bool,
    /// What each takes on disk, measured at most some minutes ago
    #[arg(long)]
    size: bool,
    /// How long to wait for sizes that are not known yet; the rest is measured in the background
    #[arg(long, hide = true, value_name = "MS", default_value_t = 1000)]
    measure_ms: u64,
    /// The trash too
    #[arg(long)]
    all: bool,
    /// Only those with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<WorkspaceStatus>,
}

pub async fn run(app: &App, args: LsArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context_if_any(&engine).await?;
    let among = if args.all || args.status.is_some() { Among::All } else { Among::Live };
    let repository = context.as_ref().map(|context| &context.repository.id);
    workspaces::notice_vanished(&engine, repository).await?;
    let mut rows = engine.workspaces(repository, among).await?;
    if let Some(status) = args.status {
        rows.retain(|workspace| workspace.status == status);
    }
    let details = if args.long {
        app.ui.progress.set(format!("asking git in {}", plural(rows.len(), "tree")));
        Some(workspaces::inspect_all(&engine, context.as_ref(), &rows).await?)
    } else {
        None
    };
    let unmeasured = if args.size {
        Some(measure(app, &engine, &mut rows, Duration::from_millis(args.measure_ms)).await?)
    } else {
        None
    };
    app.ui.progress.clear();
    let running = workspaces::running(&engine).await?;
    if app.ui.json {
        let document = |(index, workspace): (usize, &Workspace)| {
            let job = running.get(&workspace.id).map(|job| &job.id);
            let listed = document::ListedWorkspace::of(&engine, workspace, job);
            match &details {
                Some(details) => {
                    document::ListedRow::Detailed(Box::new(listed.with_details(workspace, &details[index])))
                }
                None => document::ListedRow::Plain(Box::new(listed)),
            }
        };
        let list: Vec<_> = rows.iter().enumerate().map(document).collect();
        app.ui.print_json(&document::Listed { workspaces: list });
        return Ok(0);
    }
    print_heading(app, context.as_ref(), &rows, &running);
    if !rows.is_empty() {
        app.ui.print_table(&table(&rows, &running, details.as_deref(), unmeasured.as_ref(), context.is_none()));
    }
    if let Some(count) = unmeasured.map(|left| left.len()).filter(|count| *count > 0) {
        let count = plural(count, "size").replace("size", "more size");
        app.ui.say(format!("{count} still being measured: `spinney ls --size` shows them soon"));
    }
    Ok(0)
}

/// Measures for as long as a person waits; gives those whose turn did not come, which somebody else measures now.
async fn measure(
    app: &App,
    engine: &Engine,
    rows: &mut [Workspace],
    patience: Duration,
) -> Result<HashSet<WorkspaceId>> {
    app.ui.progress.set("measuring trees".to_owned());
    let left = workspaces::measure(engine, rows, Some(Instant::now() + patience)).await?;
    if !left.is_empty() {
        background::measure(app, engine);
    }
    Ok(left)
}

fn print_heading(app: &App, context: Option<&Context>, workspaces: &[Workspace], running: &Running) {
    let live = workspaces.iter().filter(|workspace| workspace.status.is_live()).count();
    let busy = match workspaces.iter().filter(|workspace| running.contains_key(&workspace.id)).count() {
        0 => String::new(),
        count => format!(", {count} running"),
    };
    match context {
        Some(context) => {
            let limit = context.config().limits.max_workspaces;
            app.ui.say(format!("{}: {live} of {limit} workspaces{busy}", context.repository.name));
        }
        None => app.ui.say(format!("all repositories: {}{busy}", plural(live, "workspace"))),
    }
    if workspaces.is_empty() {
        app.ui.say(match app.global.is_other_account() && context.is_none() {
            true => "add a repository with `spinney repo add URL`",
            false => "make the first with `spinney new --issue 42` or `spinney new \"Add dark mode\"`",
        });
    }
}

fn table(
    workspaces: &[Workspace],
    running: &Running,
    details: Option<&[Details]>,
    unmeasured: Option<&HashSet<WorkspaceId>>,
    with_repository: bool,
) -> Table {
    let mut columns = vec!["NAME", "BRANCH", "STATE"];
    if details.is_some() {
        columns.extend(["CHANGES", "±BASE"]);
    }
    if unmeasured.is_some() {
        columns.push("SIZE");
    }
    columns.extend(["AGE", "BY"]);
    if with_repository {
        columns.push("REPOSITORY");
    }
    let mut table = Table::with_header(&columns);
    for (index, workspace) in workspaces.iter().enumerate() {
        let details = details.map(|details| &details[index]);
        let state = details.map_or(workspace.status.as_str(), |details| details.state(workspace));
        let job = running.get(&workspace.id);
        let state = if job.is_some() { "running" } else { state };
        let by = job.map_or(workspace.platform.as_str(), |job| &job.agent);
        let mut cells = vec![
            Cell::styled(workspace.name.as_str(), style::NAME),
            Cell::from(workspace.branch.as_str()),
            Cell::styled(state, state_style(state)),
        ];
        if let Some(details) = details {
            cells.extend([Cell::from(changes(details)), Cell::from(distance(details))]);
        }
        if let Some(unmeasured) = unmeasured {
            cells.push(Cell::from(size_of(workspace, unmeasured)));
        }
        cells.extend([Cell::from(words::age(workspace.last_activity_at)), Cell::from(by)]);
        if with_repository {
            cells.push(Cell::from(workspace.repository.to_string()));
        }
        table.row(cells);
    }
    table
}

/// What it takes on disk, also when that was measured a while ago.
fn size_of(workspace: &Workspace, unmeasured: &HashSet<WorkspaceId>) -> String {
    match workspace.size {
        _ if !has_tree(workspace) => "–".to_owned(),
        Some(known) => size(known.bytes),
        None if unmeasured.contains(&workspace.id) => "…".to_owned(),
        None => "?".to_owned(),
    }
}

fn state_style(state: &str) -> anstyle::Style {
    match state {
        "merged" => style::GOOD,
        "broken" | "lost" => style::ERROR,
        "stale" => style::WARNING,
        "trashed" | "purged" => style::QUIET,
        _ => anstyle::Style::new(),
    }
}

pub fn changes(details: &Details) -> String {
    match (details.changed, details.untracked) {
        (Some(0), Some(0)) => "–".to_owned(),
        (Some(changed), Some(0)) => plural(changed, "file"),
        (Some(0), Some(untracked)) => format!("{untracked} untracked"),
        (Some(changed), Some(untracked)) => format!("{}, {untracked} untracked", plural(changed, "file")),
        _ => "?".to_owned(),
    }
}

pub fn distance(details: &Details) -> String {
    match details.distance {
        Some((0, 0)) => "–".to_owned(),
        Some((ahead, 0)) => format!("+{ahead}"),
        Some((ahead, behind)) => format!("+{ahead} −{behind}"),
        None => "?".to_owned(),
    }
}
