//! What commands answer: the words of the command line, in spans.

use std::fmt::Write;

use spinney_app::{Front, words};
use spinney_core::{Consent, Reason, ReasonCode, Verdict, Workspace};
use spinney_engine::{Removed, Report, plural};

use crate::Message;

/// More than these make nobody wiser in a thread.
const MOST_LINES: usize = 40;

/// Rows under a heading, aligned.
pub(super) fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..heading.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head: Vec<_> = heading.iter().map(ToString::to_string).collect();
    let mut text = line(&head);
    for row in rows.iter().take(MOST_LINES) {
        let _ = write!(text, "\n{}", line(row));
    }
    if rows.len() > MOST_LINES {
        let _ = write!(text, "\n… and {} more", rows.len() - MOST_LINES);
    }
    text
}

/// What `why` says.
pub(super) fn verdict(workspace: &Workspace, verdict: &Verdict, trash_for: &str) -> Message {
    let name = workspace.name.as_str();
    let mut message = Message::new().strong(name);
    let may_go = verdict.removable(&Consent::None);
    message = match may_go {
        true => message.plain(" may go: ").sentence(&words::plain(&words::standing(verdict))).plain("."),
        false => message.plain(" would not be removed:"),
    };
    if !verdict.reasons.is_empty() {
        message = message.block(reasons(&verdict.reasons));
    } else {
        message = message.line();
    }
    let blockers: Vec<_> = verdict.blockers(&Consent::None).collect();
    if may_go {
        return message
            .code(format!("/worktree remove {name}"))
            .plain(format!(" lets it go (in the trash for {trash_for})."));
    }
    if blockers.iter().any(|reason| reason.code == ReasonCode::InUse && reason.job.is_some()) {
        return message.code("/cancel").plain(" ends what runs in it.");
    }
    if blockers.iter().all(|reason| reason.overridable) {
        let force = format!("/worktree remove {name} --force");
        return message.code(force).plain(format!(" lets it go (in the trash for {trash_for})."));
    }
    message
}

/// One line each; those that stop nobody in brackets.
pub(super) fn reasons(reasons: &[Reason]) -> String {
    let rows: Vec<Vec<String>> = reasons
        .iter()
        .map(|reason| {
            let code = if reason.blocks { reason.code.to_string() } else { format!("({})", reason.code) };
            vec![code, words::plain(&reason.detail()).into_owned(), words::plain(&words::items_of(reason)).into_owned()]
        })
        .collect();
    let table = table(&["", "", ""], &rows);
    table.trim_start_matches('\n').to_owned()
}

/// What went to the trash, and how it comes back.
pub(super) fn removed(removed: &Removed, until: &str) -> Message {
    let Removed { workspace, verdict, branch_deleted } = removed;
    let branch =
        if *branch_deleted { " was deleted too: it is merged or has no commits of its own." } else { " stays." };
    Message::new()
        .strong(workspace.name.as_str())
        .plain(format!(" is in the trash until {until}{}; its branch ", words::plain(&words::lost_with(verdict))))
        .code(workspace.branch.as_str())
        .plain(branch)
        .line()
        .plain("Undo: ")
        .code(format!("/worktree restore {}", workspace.name))
}

/// A refusal with every reason, and what to write.
pub(super) fn refused(workspace: &Workspace, reasons_found: &[Reason], trash_for: &str) -> Message {
    let name = workspace.name.as_str();
    let message = Message::new().strong(name).plain(" stays:").block(reasons(reasons_found));
    if reasons_found.iter().filter(|reason| reason.blocks).all(|reason| reason.overridable) {
        let force = format!("/worktree remove {name} --force");
        return message.code(force).plain(format!(" moves it to the trash, for {trash_for}."));
    }
    message
}

/// What a sweep did, or would do.
pub(super) fn swept(report: &Report, dry_run: bool, trash_for: &str) -> Message {
    let verb = |done: &'static str, would: &'static str| if dry_run { would } else { done };
    let mut lines = Vec::new();
    for (workspace, why) in &report.removed {
        lines.push(format!("{} {}: {}", verb("removed", "would remove"), workspace.name, words::first_line(why)));
    }
    for kept in &report.kept {
        let reasons: Vec<_> =
            kept.reasons.iter().map(|reason| format!("{} ({})", reason.code, reason.detail())).collect();
        lines.push(format!("kept {}: {}", kept.workspace.name, words::plain(&reasons.join(", "))));
    }
    for dropped in &report.branches {
        let (branch, why) = (words::plain(dropped.branch.as_str()), words::first_line(&dropped.why));
        let verb = verb("deleted", "would delete");
        lines.push(format!("{verb} branch {branch} (at {}): {why}", dropped.commit.short()));
    }
    for finding in &report.findings {
        let done = finding.done.as_ref().map(|done| format!(": {done}")).unwrap_or_default();
        lines.push(words::plain(&format!("{}{done}", words::found(finding, Front::Chat))).into_owned());
    }
    for (name, error) in &report.failed {
        lines.push(format!("failed: {}: {}", words::plain(name), words::first_line(error)));
    }
    if lines.is_empty() {
        return Message::new().plain("Nothing to do.");
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    let message = Message::new().block(lines.join("\n"));
    match report.removed.len() {
        0 => message,
        _ if dry_run => message,
        count => message.plain(format!("{} in the trash; restorable for {trash_for}.", plural(count, "workspace"))),
    }
}

/// What can be written.
pub(super) fn help(agent: &str) -> Message {
    let lines = [
        ("/run <prompt>", "a job for this conversation; so does a mention without a command"),
        ("/cancel", "ends this conversation's job; its work stays"),
        ("/status", "counts of workspaces and jobs, and free disk space"),
        ("/worktree list", "the workspaces"),
        ("/worktree create <branch>", "a workspace on that branch; this conversation moves to it"),
        ("/worktree why <name>", "whether a workspace may be removed, and why"),
        ("/worktree remove [name] [--force]", "moves a workspace to the trash; without a name, this conversation's"),
        ("/worktree restore <name>", "brings it back"),
        ("/worktree orphans", "worktrees that the store does not know; lists only"),
        ("/worktree cleanup merged|stale", "removes what is merged or stale"),
        ("/repo [name]", "which repository this is about"),
    ];
    let width = lines.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let text: Vec<_> = lines.iter().map(|(command, does)| format!("{command:<width$}  {does}")).collect();
    Message::new()
        .plain("Tell me what to do, and ")
        .strong(agent)
        .plain(" does it in a workspace of its own.")
        .block(text.join("\n"))
}
