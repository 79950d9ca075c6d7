//! `spinney cleanup`: sweeps, within the verdict.

use clap::{Args, ValueEnum};
use spinney_app::housekeeping::{self, SweepAsked, Swept};
use spinney_app::{Front, document};
use spinney_core::Reason;
use spinney_core::names::visible_line;
use spinney_engine::{Among, What, plural, size};
use spinney_jobs::Forgotten;

use crate::app::App;
use crate::background;
use crate::error::{CliError, Result};
use crate::jobs;
use crate::ui::{style, words};

/// Move merged and stale workspaces to the trash
///
/// Repairs what store, git and disk disagree about, too, and deletes merged branches that removed workspaces left. Says what
/// stays and why.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney cleanup --dry-run\n  spinney cleanup merged --include-closed\n  spinney cleanup caches\n\n\
    In a repository: that one; elsewhere, or with --everywhere: all."
)]
pub struct CleanupArgs {
    /// What to sweep
    #[arg(value_enum, default_value_t = Kind::All)]
    what: Kind,
    /// Only say what would happen
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
    /// Workspaces in which nothing happened for `cleanup.stale_after`, and what jobs that ended badly left
    /// (`cleanup.abandoned_after`)
    Stale,
    /// What store, git and disk disagree about, and workspaces that an ended job did not release
    Orphans,
    /// Regenerable ignored directories (`cleanup.caches`) of idle workspaces
    Caches,
    /// Merged, stale and orphans; forgets old jobs and conversations, and erases archives that are kept no longer
    /// (`cleanup.archive_for`, `cleanup.archive_quota`)
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
    let mut live = 0;
    for repository in &repositories {
        live += engine.workspaces(Some(&repository.id), Among::Live).await?.len();
    }
    let is_all = args.what == Kind::All;
    let asked = SweepAsked { repositories, what, forget: is_all, archives: is_all, dry_run: args.dry_run };
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
        if nothing_happened(&swept) {
            app.ui.say(nothing(args.what, live));
        }
    }
    Ok(u8::from(!swept.report.failed.is_empty()))
}

fn tell(app: &App, swept: &Swept, dry_run: bool, trash_for: &str) {
    let Swept { report, erased, forgotten } = swept;
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
    for dropped in &report.branches {
        let branch = style::paint(style::NAME, visible_line(dropped.branch.as_str()));
        let of = format!("(at {}), left by {}", dropped.commit.short(), dropped.workspace.name);
        app.ui.print(format!("{} branch {branch} {of}: {}", verb("deleted", "delete"), dropped.why));
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
    for gone in erased {
        let name = style::paint(style::NAME, &gone.workspace.name);
        app.ui.print(format!("{} {name} ({}): {}", verb("erased", "erase"), size(gone.bytes), gone.why));
    }
    for (name, error) in &report.failed {
        app.ui.warn(visible_line(&format!("{name}: {error}")));
    }
    if *forgotten != Forgotten::default() {
        let jobs = plural(forgotten.jobs, "old job");
        let conversations = plural(usize::try_from(forgotten.conversations).unwrap_or(usize::MAX), "old conversation");
        let events = plural(usize::try_from(forgotten.events).unwrap_or(usize::MAX), "old event");
        let gone = plural(usize::try_from(forgotten.workspaces).unwrap_or(usize::MAX), "purged workspace");
        app.ui.print(format!("forgot {jobs}, {gone}, {conversations} and {events}"));
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
    }
}

fn nothing_happened(swept: &Swept) -> bool {
    let Swept { report, erased, forgotten } = swept;
    erased.is_empty()
        && report.removed.is_empty()
        && report.kept.is_empty()
        && report.branches.is_empty()
        && report.findings.is_empty()
        && report.caches.is_empty()
        && report.failed.is_empty()
        && *forgotten == Forgotten::default()
}

/// Why there was nothing to do, with so many live workspaces.
fn nothing(what: Kind, live: usize) -> String {
    let what = match what {
        Kind::Merged => "is merged",
        Kind::Stale => "is stale",
        Kind::All => "is merged or stale",
        Kind::Orphans => return "nothing to do: store, git and disk agree".to_owned(),
        Kind::Caches => return "nothing to do: no idle workspace has caches to free".to_owned(),
    };
    match live {
        0 => "nothing to do: there are no workspaces".to_owned(),
        1 => format!("nothing to do: the one workspace stays, none {what}"),
        _ => format!("nothing to do: all {live} workspaces stay, none {what}"),
    }
}

fn reason_text(reason: &Reason) -> String {
    format!("{} ({})", reason.code, reason.detail())
}
