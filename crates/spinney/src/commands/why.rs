//! `spinney why`: the verdict, every reason, and the evidence.

use clap::Args;
use spinney_app::document;
use spinney_app::workspaces::{self, Why};
use spinney_core::{Consent, ReasonCode, Verdict, Workspace};
use spinney_engine::Among;

use crate::app::App;
use crate::completion::workspace_names;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// Tell whether a workspace may go, with every reason
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney why issue-42")]
pub struct WhyArgs {
    /// A name, id, beginning of an id, or branch
    #[arg(add = workspace_names())]
    name: String,
}

pub async fn run(app: &App, args: WhyArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::Live).await?;
    let Why { verdict, forge_fault } = workspaces::why(&engine, &context, &workspace).await?;
    if let Some(fault) = forge_fault {
        app.ui.say(format!("note: its pull request is taken for open: {fault}"));
    }
    if app.ui.json {
        app.ui.print_json(&document::Verdict::of(&engine, &workspace, &verdict));
        return Ok(0);
    }
    let name = style::paint(style::NAME, &workspace.name);
    if verdict.removable(&Consent::None) {
        app.ui.print(format!("{name} may go: {}", words::standing(&verdict)));
    } else {
        app.ui.print(format!("{name} would not be removed:"));
    }
    let table = reasons_table(&verdict);
    if !table.is_empty() {
        app.ui.print(table);
    }
    let trash_for = words::days(&context.config().cleanup.trash_for.to_string());
    app.ui.print(format!("\n{}", what_helps(&workspace, &verdict, &[], &trash_for)));
    Ok(0)
}

/// The reasons, aligned; those that do not stop a person in brackets.
pub fn reasons_table(verdict: &Verdict) -> String {
    let mut table = Table::default();
    for reason in &verdict.reasons {
        let code = if reason.blocks { reason.code.to_string() } else { format!("({})", reason.code) };
        let code_style = if reason.blocks { style::WARNING } else { style::QUIET };
        let mut cells = vec![Cell::from(""), Cell::styled(code, code_style), Cell::from(reason.detail())];
        if !reason.items.is_empty() {
            cells.push(Cell::from(words::items_of(reason)));
        }
        table.row(cells);
    }
    table.render()
}

/// Ends with what to type; what was allowed already stays allowed.
pub fn what_helps(workspace: &Workspace, verdict: &Verdict, allowed: &[ReasonCode], trash_for: &str) -> String {
    let name = &workspace.name;
    let blockers: Vec<_> = verdict.blockers(&Consent::None).collect();
    if blockers.is_empty() {
        return format!("let go: spinney rm {name}     (in the trash for {trash_for})");
    }
    let keeps = words::ways_to_keep(workspace, verdict);
    let mut lines: Vec<_> = keeps.iter().map(|help| format!("keep:   {help}")).collect();
    if blockers.iter().all(|reason| reason.allowable()) {
        let mut codes: Vec<_> = allowed.iter().copied().chain(blockers.iter().map(|reason| reason.code)).collect();
        codes.dedup();
        let codes: Vec<_> = codes.into_iter().map(ReasonCode::as_str).collect();
        lines.push(format!("let go: spinney rm {name} --allow {}     (in the trash for {trash_for})", codes.join(",")));
    }
    lines.join("\n")
}
