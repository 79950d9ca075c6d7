//! `spinney import`: takes over worktrees that other tools left.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use spinney_app::adoption;
use spinney_app::{Front, document};
use spinney_core::BranchName;
use spinney_engine::{Import, ImportSource, Imports, Left, plural};

use crate::app::{App, current_directory};
use crate::error::Result;
use crate::ui::{style, words};

/// As many of a kind are told one by one, unless more is asked for with `-v`.
const TOLD_IN_FULL: usize = 5;

/// Take in worktrees and records of other tools
///
/// Nothing is moved or changed. It can be run again: what is known stays as it is.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney import --dry-run\n  spinney import\n  spinney import --from ~/backup/archon.db\n  \
    spinney import --from postgres://archon@localhost/archon\n\n\
    Where it looks:\n  \
    `git worktree list` of this repository (elsewhere: of all known ones)\n  \
    `.worktrees` and `.claude/worktrees` in it\n  \
    `~/.claude/worktree-registry.json` and `~/.claude/worktrees`\n  \
    `~/tmp/worktrees`\n  \
    Archon's worktrees, and its database in `~/.archon`; one on a server is named by --from. The password comes from \
    the URL, `PGPASSWORD` or `~/.pgpass`, and is shown nowhere\n\n\
    Worktrees of other repositories are taken in, too, and their repositories added; with --repo only those of that one."
)]
pub struct ImportArgs {
    /// Only say what would be taken in
    #[arg(long)]
    dry_run: bool,
    /// Read nothing but this: a database of Archon (SQLite's file, or PostgreSQL's URL), or a registry of worktrees
    #[arg(long, value_name = "FILE|URL")]
    from: Option<OsString>,
    /// The branch that they are based on [default: `workspace.base`, else the remote's HEAD]
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// List the worktrees of all repositories that Spinney knows, wherever this is run
    #[arg(long, conflicts_with = "repo")]
    everywhere: bool,
}

pub async fn run(app: &App, args: ImportArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let here = if args.everywhere { None } else { app.context_if_any(&engine).await? };
    let from = match args.from {
        Some(from) => Some(ImportSource::parse(&from, &current_directory()?)?),
        None => None,
    };
    let import = Import {
        user_home: app.environment.user_home(),
        archon_home: app.environment.archon_home(),
        from,
        only_these: app.global.repo.is_some(),
        base: args.base,
        dry_run: args.dry_run,
    };
    let imports = adoption::import(&engine, here, &import).await?;
    if app.ui.json {
        app.ui.print_json(&document::Import::of(&engine, &imports, args.dry_run, Front::CommandLine));
    } else {
        tell(app, &imports, args.dry_run);
    }
    Ok(0)
}

fn tell(app: &App, imports: &Imports, dry_run: bool) {
    let taken = |name: &dyn std::fmt::Display, branch: &BranchName, from: &str, path: &Path| {
        let verb = if dry_run { "would import" } else { "imported" };
        let name = style::paint(style::NAME, name);
        app.ui.print(format!("{verb} {name} on `{branch}` from {from}: {}", shown(path)));
    };
    if dry_run {
        for found in &imports.found {
            taken(&found.work.workspace_name(), &found.branch, found.from, &found.path);
        }
    }
    for workspace in &imports.imported {
        let from = workspace.adopted_from.as_deref().unwrap_or_default();
        taken(&workspace.name, &workspace.branch, from, &workspace.path);
    }
    tell_skipped(app, &imports.skipped);
    for left in &imports.failed {
        app.ui.warn(format!(
            "{}: {}",
            shown(&left.path),
            words::plain(&words::with_advice(&left.reason, &left.advice, Front::CommandLine))
        ));
    }
    if imports.found.is_empty() {
        app.ui.say("nothing to import");
    } else {
        let verb = if dry_run { "would import" } else { "imported" };
        app.ui.say(format!("{verb} {}", plural(imports.found.len(), "worktree")));
    }
}

/// Tells what was left as it is, by reason; many of a kind as a number.
fn tell_skipped(app: &App, skipped: &[Left]) {
    let mut reasons: BTreeMap<&str, Vec<&Left>> = BTreeMap::new();
    for left in skipped {
        // The name of the workspace that it is would make each a reason of its own.
        let reason = left.reason.split_once(": ").map_or(left.reason.as_str(), |(reason, _)| reason);
        reasons.entry(reason).or_default().push(left);
    }
    for (reason, alike) in reasons {
        if alike.len() > TOLD_IN_FULL && !app.global.verbose {
            app.ui.say(format!("skipped {}: {}", alike.len(), words::plain(reason)));
            continue;
        }
        for Left { path, reason, .. } in alike {
            app.ui.say(format!("skipped {}: {}", shown(path), words::plain(reason)));
        }
    }
}

/// A path that others wrote, on one line.
fn shown(path: &Path) -> String {
    const MOST_CHARACTERS: usize = 300;
    let text = spinney_core::names::cut_for_message(&path.to_string_lossy(), MOST_CHARACTERS);
    words::plain(&text).into_owned()
}
