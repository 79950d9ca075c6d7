//! `spinney why`: the verdict, every reason, and the evidence.

use clap::Args;
use spinney_app::document;
use spinney_app::workspaces::{self, Why};
use spinney_core::{Consent, ReasonCode, Verdict, Workspace};
use spinney_engine::{Among, Context, Engine};

use crate::ancestors;
use crate::app::{App, HERE, current_directory};
use crate::completion::workspace_names;
use crate::error::Result;
use crate::ui::repeat::repeated;
use crate::ui::table::{Cell, Table};
use crate::ui::words::Around;
use crate::ui::{style, words};

/// Say whether a workspace may be removed, and why
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney why issue-42")]
pub struct WhyArgs {
    /// The workspace: see `spinney ls --help` [default: the current one]
    #[arg(add = workspace_names(), default_value = HERE, hide_default_value = true)]
    name: String,
}

pub async fn run(app: &App, args: WhyArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let (context, workspace) = app.workspace(&engine, &args.name, Among::Live).await?;
    let Why { verdict, forge_fault } = workspaces::why(&engine, &context, &workspace).await?;
    if let Some(fault) = forge_fault {
        app.ui.say(format!("note: the forge could not be asked, so its pull request counts as open: {fault}"));
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
    let helps = what_helps(&workspace, &verdict, &[], &trash_for, &around(&engine, &context).await?);
    app.ui.print(format!("\n{}", repeated(&helps)));
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

/// What advice depends on beside the verdict.
pub async fn around(engine: &Engine, context: &Context) -> Result<Around> {
    let has_remote = workspaces::has_remote(engine, context).await?;
    Ok(Around { has_remote, own_processes: ancestors::of_this_process() })
}

/// Ends with what to type; what was allowed already stays allowed.
pub fn what_helps(
    workspace: &Workspace,
    verdict: &Verdict,
    allowed: &[ReasonCode],
    trash_for: &str,
    around: &Around,
) -> String {
    let name = &workspace.name;
    let blockers: Vec<_> = verdict.blockers(&Consent::None).collect();
    if blockers.is_empty() {
        return format!("let go: spinney rm {name}     (in the trash for {trash_for})");
    }
    // By its name, one's own shell would hold it; without one it does not, so that there is no need to leave.
    let is_inside = current_directory().is_ok_and(|directory| directory.starts_with(&workspace.path));
    let others: Vec<_> = verdict.reasons.iter().filter(|reason| !is_inside || !around.is_own_shell(reason)).collect();
    let others = Verdict { reasons: others.into_iter().cloned().collect(), merge: verdict.merge.clone() };
    let keeps = words::ways_to_keep(workspace, &others, around);
    let mut lines: Vec<_> = keeps.iter().map(|help| format!("keep:   {help}")).collect();
    if others.reasons.len() < verdict.reasons.len() {
        lines.push("note:   your own shell is in it; `spinney rm` without a name does not count it".to_owned());
    }
    let named = if is_inside { String::new() } else { format!(" {name}") };
    if blockers.iter().all(|reason| around.is_own_shell(reason)) {
        lines.push(format!(
            "let go: spinney rm     (without a name: the workspace you are in; in the trash for {trash_for})"
        ));
    } else if blockers.iter().all(|reason| reason.allowable()) {
        let others = blockers.iter().filter(|reason| !is_inside || !around.is_own_shell(reason));
        let mut codes: Vec<_> = allowed.iter().copied().chain(others.map(|reason| reason.code)).collect();
        codes.dedup();
        let codes: Vec<_> = codes.into_iter().map(ReasonCode::as_str).collect();
        let which = if is_inside { "without a name: the workspace you are in; " } else { "" };
        let codes = codes.join(",");
        lines.push(format!("let go: spinney rm{named} --allow {codes}     ({which}in the trash for {trash_for})"));
    }
    lines.join("\n")
}
