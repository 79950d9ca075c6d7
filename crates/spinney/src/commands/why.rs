//! `spinney why`: the verdict, every reason, and the evidence.

use clap::Args;
use spinney_core::{Consent, ReasonCode, Remover, Verdict, Workspace};
use spinney_engine::Among;
use spinney_server::document;

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
    let (word, fault) = engine.ask_forge(&context, &workspace).await;
    let verdict = engine.judge_told(&context, &workspace, Remover::Person, word.as_ref()).await?;
    if let Some(fault) = fault {
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
        let mut cells = vec![Cell::from(""), Cell::styled(code, code_style), Cell::from(reason.detail.clone())];
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
    let mut lines = Vec::new();
    for reason in &blockers {
        let help = match reason.code {
            ReasonCode::Dirty | ReasonCode::Untracked => {
                Some(format!("spinney exec {name} -- git add -A && spinney exec {name} -- git commit"))
            }
            ReasonCode::Unpushed => Some(format!("spinney exec {name} -- git push origin HEAD")),
            ReasonCode::Stash => Some(format!("spinney exec {name} -- git stash list")),
            ReasonCode::InUse => match &reason.job {
                Some(job) => Some(format!("spinney cancel {job}")),
                // The processes of a job end with it.
                None if blockers.iter().any(|other| other.job.is_some()) => None,
                None => Some("end the process, or allow it by name: --allow in_use".to_owned()),
            },
            ReasonCode::MountInside => Some("unmount what is mounted inside".to_owned()),
            ReasonCode::OperationInProgress => Some(format!("spinney exec {name} -- git status")),
            ReasonCode::PreciousIgnored => {
                Some("copy what must last to another place; git keeps no ignored file".to_owned())
            }
            ReasonCode::NestedRepository => {
                let nested = reason.items.first().map_or(".", String::as_str);
                Some(format!("spinney exec {name} -- git -C {nested} push"))
            }
            ReasonCode::SubmoduleUnpushed => {
                Some(format!("spinney exec {name} -- git submodule foreach git push origin HEAD"))
            }
            ReasonCode::DetachedCommits => Some(format!("spinney exec {name} -- git switch -c NEW-BRANCH")),
            ReasonCode::Locked => Some(format!("git worktree unlock {}", workspace.path.display())),
            ReasonCode::Shared => Some(format!("spinney show {name} tells whose it is too")),
            ReasonCode::Unverifiable => Some("spinney doctor tells what is wrong, and what mends it".to_owned()),
            _ => None,
        };
        if let Some(help) = help.filter(|help| !lines.iter().any(|line: &String| line.ends_with(help.as_str()))) {
            lines.push(format!("keep:   {help}"));
        }
    }
    if blockers.iter().all(|reason| reason.allowable()) {
        let mut codes: Vec<_> = allowed.iter().copied().chain(blockers.iter().map(|reason| reason.code)).collect();
        codes.dedup();
        let codes: Vec<_> = codes.into_iter().map(ReasonCode::as_str).collect();
        lines.push(format!("let go: spinney rm {name} --allow {}     (in the trash for {trash_for})", codes.join(",")));
    }
    lines.join("\n")
}
