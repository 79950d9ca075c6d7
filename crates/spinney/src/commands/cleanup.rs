//! `spinney cleanup`: sweeps, within the verdict.

use clap::{Args, ValueEnum};
use spinney_app::housekeeping::{self, SweepAsked, Swept};
use spinney_app::{Front, document};
use spinney_core::Reason;
use spinney_core::names::visible_line;
use spinney_engine::{What, plural, size};
use spinney_jobs::Forgotten;

use crate::app::App;
use crate::background;
use crate::error::{CliError, Result};
use crate::jobs;
use crate::ui::{style, words};

/// Move to the trash what is merged or stale, and mend what is out of step; says what stays and why
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney cleanup --dry-run\n  spinney cleanup merged --include-closed\n  spinney cleanup caches\n\n\
    In a repository: that one; elsewhere, or with --everywhere: all."
)]
pub struct CleanupArgs {
    /// What to sweep
    #[arg(value_enum, default_value_t = Kind::All)]
    what: Kind,
    /// Only tell what would happen
    #[arg(long)]
    dry_run: bool,
    /// Also workspaces whose pull request was closed without being merged
    #[arg(long)]
    include_closed: bool,
    /// All repositories, wherever this is run
    #[arg(long)]
    everywhere: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Workspaces whose branch is provably merged
    Merged,
    /// Workspaces in which nothing happened for `cleanup.stale_after`
    Stale,
    /// What store, git and disk disagree about, and workspaces that a job should have let go
    Orphans,
    /// Regenerable ignored directories (`cleanup.caches`) of idle workspaces
    Caches,
    /// Merged, stale and orphans; forgets old jobs and conversations too
    All,
}

impl CleanupArgs {
    fn what(&self) -> Result<What> {
        let what = match self.what {
            Kind::Merged => What::MERGED,
            Kind::Stale => What::STALE,
            Kind::Orphans => What::ORPHANS,
            Kind::Caches => What::CACHES,
            Kind::All => What::ALL,
        };
        if self.include_closed && !what.merged {
            return Err(CliError::usage("`--include-closed` goes with `merged` and `all`"));
        }
        Ok(What { closed: self.include_closed, ..what })
    }
}

pub async fn run(app: &App, args: CleanupArgs) -> Result<u8> {
    let what = args.what()?;
    let engine = app.engine().await?;
    let here = if args.everywhere { None } else { app.context_if_any(&engine).await? };
    let repositories = match here {
        Some(context) => vec![context.repository],
        None => engine.repositories().await?,
    };
    let jobs = jobs::open(app, &engine)?;
    let asked = SweepAsked { repositories, what, forget: args.what == Kind::All, dry_run: args.dry_run };
    let swept = housekeeping::sweep(&engine, &jobs, &asked, &app.observer()).await?;
    app.ui.progress.clear();
    if !args.dry_run {
        background::purge_what_is_due(app, &engine).await?;
    }
    if app.ui.json {
        app.ui.print_json(&document::Cleanup::of(&engine, &swept, args.dry_run, Front::CommandLine));
    } else {
        let trash_for = words::days(&engine.config().cleanup.trash_for.to_string());
        tell(app, &swept, args.dry_run, &trash_for);
    }
    Ok(u8::from(!swept.report.failed.is_empty()))
}

fn tell(app: &App, swept: &Swept, dry_run: bool, trash_for: &str) {
    let Swept { report, forgotten } = swept;
    let verb = |done: &str, would: &str| if dry_run { format!("would {would}") } else { done.to_owned() };
    for (workspace, why) in &report.removed {
        let name = style::paint(style::NAME, &workspace.name);
        app.ui.print(format!("{} {name}: {why}", verb("removed", "remove")));
    }
    for kept in &report.kept {
        let reasons: Vec<String> = kept.reasons.iter().map(reason_text).collect();
        app.ui.print(format!(
            "{} {}: {}",
            verb("kept", "keep"),
            style::paint(style::NAME, &kept.workspace.name),
            visible_line(&reasons.join(", "))
        ));
    }
    for finding in &report.findings {
        let done = finding.done.as_ref().map(|done| format!(": {done}")).unwrap_or_default();
        app.ui.print(visible_line(&format!("{}{done}", words::found(finding, Front::CommandLine))));
    }
    for cleaned in &report.caches {
        let directories: Vec<_> =
            cleaned.directories.iter().map(|path| visible_line(&path.to_string_lossy()).into_owned()).collect();
        let name = style::paint(style::NAME, &cleaned.workspace.name);
        app.ui.print(format!(
            "{} {} of {name}: {}",
            verb("freed", "free"),
            size(cleaned.bytes),
            directories.join(", ")
        ));
    }
    for (name, error) in &report.failed {
        app.ui.warn(visible_line(&format!("{name}: {error}")));
    }
    if *forgotten != Forgotten::default() {
        let jobs = plural(forgotten.jobs, "old job");
        let conversations = plural(usize::try_from(forgotten.conversations).unwrap_or(usize::MAX), "old conversation");
        let events = plural(usize::try_from(forgotten.events).unwrap_or(usize::MAX), "old event");
        app.ui.print(format!("forgot {jobs}, {conversations} and {events}"));
    }
    let total: u64 = report.caches.iter().map(|cleaned| cleaned.bytes).sum();
    if total > 0 {
        app.ui.say(format!("{} {} of caches", verb("freed", "free"), size(total)));
    }
    if !report.removed.is_empty() {
        let freed = if dry_run { format!(", {} in all", size(report.bytes)) } else { String::new() };
        app.ui.say(format!(
            "{} {}{freed}; restorable for {trash_for}",
            verb("moved to the trash:", "move to the trash:"),
            plural(report.removed.len(), "workspace")
        ));
    } else if report.kept.is_empty()
        && report.findings.is_empty()
        && report.caches.is_empty()
        && report.failed.is_empty()
        && *forgotten == Forgotten::default()
    {
        app.ui.say("nothing to do");
    }
}

fn reason_text(reason: &Reason) -> String {
    format!("{} ({})", reason.code, reason.detail())
}
