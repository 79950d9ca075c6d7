//! `spinney show`: one workspace, with its health.

use clap::Args;
use spinney_app::document;
use spinney_app::workspaces::{self, Seen};
use spinney_core::WorkspaceStatus;
use spinney_engine::Among;

use crate::app::{App, HERE};
use crate::commands::jobs::state;
use crate::commands::ls::{changes, distance};
use crate::completion::workspace_names;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// Show one workspace: its work, place and health
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney show issue-42")]
pub struct ShowArgs {
    /// The workspace: see `spinney ls --help` [default: the current one]
    #[arg(add = workspace_names(), default_value = HERE, hide_default_value = true)]
    name: String,
}

pub async fn run(app: &App, args: ShowArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::All).await?;
    workspaces::notice_vanished(&engine, Some(&workspace.repository_id)).await?;
    let workspace = engine.require_workspace(&workspace.id).await?;
    let Seen { shown, jobs } = workspaces::show(&engine, Some(&context), &workspace).await?;
    if app.ui.json {
        app.ui.print_json(&document::ShownWorkspace::of(&engine, &workspace, &shown, &jobs));
        return Ok(0);
    }
    let mut table = Table::default();
    let mut line = |key: &str, value: String| table.row([Cell::styled(key, style::HEADER), Cell::from(value)]);
    line("workspace", format!("{} ({})", workspace.name, workspace.id));
    if let Some(title) = &workspace.title {
        line("title", title.clone());
    }
    line("repository", workspace.repository.to_string());
    let works: Vec<_> = shown.works.iter().map(ToString::to_string).collect();
    line("work", if works.is_empty() { workspace.work.to_string() } else { works.join(", ") });
    line("path", workspace.path.display().to_string());
    if let Some(link) = &shown.link {
        line("link", link.display().to_string());
    }
    line(
        "branch",
        match &shown.details.head {
            Some(head) => format!("{} (HEAD is now on {head})", workspace.branch),
            None => workspace.branch.to_string(),
        },
    );
    let base = workspace.base_branch.as_ref().map(|base| format!("{base} ")).unwrap_or_default();
    line("base", format!("{base}{}", workspace.base_commit.short()));
    if let Some(from) = &workspace.adopted_from {
        let how = if workspace.metadata.migrated { "imported from" } else { "made by somebody else at" };
        line("adopted", format!("{how} {from}"));
    }
    line(
        "age",
        format!("{}, last touched {}", words::age(workspace.created_at), words::ago(workspace.last_activity_at)),
    );
    for port in &shown.ports {
        line("port", format!("{} {}", port.name, port.port));
    }
    if workspace.status.is_live() {
        line("changes", changes(&shown.details));
        line("distance", distance(&shown.details));
    }
    for job in &jobs {
        let at = words::ago(job.ended_at.or(job.started_at).unwrap_or(job.created_at));
        line("job", format!("{} {} {} {at}", job.id, job.agent, state(job)));
    }
    let fault = shown.details.fault.as_ref().or(workspace.error.as_ref());
    line(
        "health",
        match fault {
            Some(fault) => format!("{}: {fault}", shown.details.state(&workspace)),
            None => shown.details.state(&workspace).to_owned(),
        },
    );
    if let Some(erased) = &workspace.metadata.erased {
        let by = if erased.by.is_empty() { String::new() } else { format!(" by {}", erased.by) };
        line("erased", format!("{}{by}: nothing of it is left", words::ago(erased.at())));
    }
    app.ui.print_table(&table);
    if workspace.status == WorkspaceStatus::Trashed {
        app.ui.say(format!("\nbring it back: spinney restore {}", workspace.id));
    }
    Ok(0)
}
