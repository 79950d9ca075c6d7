//! `spinney trash erase`: deletes for good, after it has said what.

use std::io::{BufRead as _, IsTerminal as _};

use clap::Args;
use spinney_app::housekeeping::{self, Erasing, ErasureAsked};
use spinney_app::{Front, document};
use spinney_core::names::visible_line;
use spinney_core::quantity::Span;
use spinney_core::{Timestamp, Workspace};
use spinney_engine::{Among, Engine, Erasable, plural, size};

use crate::app::App;
use crate::completion::trashed_names;
use crate::error::{CliError, Result};
use crate::ui::{style, words};

/// How many files are named.
const NAMED: usize = 5;

/// Delete for good what is left of removed workspaces: in the trash, in archives, and what keeps their commits
///
/// Nothing brings that back. It first says what is left; then it wants the name typed, or --yes.
#[derive(Debug, Args)]
#[command(
    after_help = "Branches stay. Commits that nothing else leads to are deleted by git's own next collection of garbage (`git gc`).\n\n\
    Examples:\n  spinney trash erase issue-42 --dry-run\n  spinney trash erase issue-42\n  spinney trash erase --before 2026-01-31\n  \
    spinney trash erase --before 90d --yes"
)]
pub struct EraseArgs {
    /// The workspaces, in the trash or purged from it: see `spinney ls --help`
    #[arg(add = trashed_names(), required_unless_present = "before")]
    names: Vec<String>,
    /// All that was removed before this day, or longer ago than this: `2026-01-31`, `90d`. In a repository: of that one
    #[arg(long, value_name = "DATE", conflicts_with = "names", value_parser = moment)]
    before: Option<Timestamp>,
    /// Erase without asking
    #[arg(long)]
    yes: bool,
    /// Only say what would be gone
    #[arg(long)]
    dry_run: bool,
}

/// Reads a day, which begins where this person is; a time; or how long ago.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Some(at) = Timestamp::parse(text).or_else(|| words::day(text)) {
        return Ok(at);
    }
    match text.parse::<Span>() {
        Ok(span) => Ok(Timestamp::now().minus(span.0)),
        Err(_) => Err("it is no day such as `2026-01-31`, and no time such as `90d`".to_owned()),
    }
}

pub async fn run(app: &App, args: EraseArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let mut failed: Vec<(String, CliError)> = Vec::new();
    let named = match args.before {
        Some(before) => {
            let here = app.context_if_any(&engine).await?;
            housekeeping::removed_before(&engine, here.as_ref().map(|context| &context.repository.id), before).await?
        }
        None => find(app, &engine, &args.names, &mut failed).await?,
    };
    let asked = housekeeping::erasable(&engine, named).await;
    if args.dry_run && app.ui.json {
        let mut told = document::Erase::asked(&engine, &asked, Front::CommandLine);
        told.failed.extend(failed.iter().map(|(name, error)| error.as_failure(name)));
        app.ui.print_json(&told);
        return Ok(u8::from(!told.failed.is_empty()));
    }
    let ErasureAsked { erasable, failed: unseen } = asked;
    let unseen = unseen.into_iter().map(|(workspace, error)| (workspace.name.to_string(), CliError::from(error)));
    let told: Vec<(String, CliError)> = unseen.chain(failed).collect();
    if args.names.len() == 1 && erasable.is_empty() {
        if let Some((_, error)) = told.into_iter().next() {
            return Err(error);
        }
        return Ok(0);
    }
    if !app.ui.json {
        erasable.iter().for_each(|one| tell(app, one));
        told.iter().for_each(|(_, error)| error.print(false));
    }
    if erasable.is_empty() {
        app.ui.say("nothing to erase");
    } else if args.dry_run {
        let bytes = size(erasable.iter().map(|one| one.bytes).sum());
        app.ui.say(format!("would erase {}, {bytes}", plural(erasable.len(), "workspace")));
    }
    if args.dry_run || (erasable.is_empty() && !app.ui.json) {
        return Ok(told.iter().map(|(_, error)| error.exit_status()).max().unwrap_or(0));
    }
    if !args.yes && !erasable.is_empty() && !is_confirmed(app, &erasable)? {
        app.ui.say("nothing was erased");
        return Ok(1);
    }
    let workspaces = erasable.into_iter().map(|one| one.workspace).collect();
    let begins = |workspace: &Workspace| app.ui.progress.set(format!("erasing {}", workspace.name));
    let erasing = housekeeping::erase(&engine, workspaces, &begins).await;
    app.ui.progress.clear();
    finish(app, &engine, erasing, &told)
}

/// Finds what is named; what is not found keeps no other from being looked at.
async fn find(
    app: &App,
    engine: &Engine,
    names: &[String],
    failed: &mut Vec<(String, CliError)>,
) -> Result<Vec<Workspace>> {
    let mut named: Vec<Workspace> = Vec::new();
    for name in names {
        match app.workspace(engine, name, Among::Removed).await {
            Ok((_, row)) if named.iter().all(|known| known.id != row.id) => named.push(row),
            Ok(_) => {}
            Err(error) => failed.push((name.clone(), error)),
        }
    }
    Ok(named)
}

/// Says what is left of one workspace.
fn tell(app: &App, one: &Erasable) {
    let workspace = &one.workspace;
    let place = match workspace.status {
        spinney_core::WorkspaceStatus::Trashed => "in the trash",
        _ if one.archives.is_empty() => "purged, without an archive",
        _ => "archived",
    };
    let removed = workspace.removed_at.map(|at| format!(", removed {}", words::ago(at))).unwrap_or_default();
    let name = style::paint(style::NAME, &workspace.name);
    app.ui.print(format!(
        "{name} ({} of {}){removed}, {place}: {}",
        workspace.id,
        workspace.repository,
        size(one.bytes)
    ));
    app.ui.print(match &one.files {
        None => "  all of its files: git does not tell which of them it has".to_owned(),
        Some(files) if files.is_empty() => "  no files that git does not have".to_owned(),
        Some(files) => {
            let first: Vec<_> =
                files.iter().take(NAMED).map(|file| visible_line(&file.to_string_lossy()).into_owned()).collect();
            let more = if files.len() > NAMED { ", …" } else { "" };
            format!("  {} that git does not have: {}{more}", plural(files.len(), "file"), first.join(", "))
        }
    });
    let commits = usize::try_from(one.commits).unwrap_or(usize::MAX);
    if commits > 0 {
        let are = if commits == 1 { "is" } else { "are" };
        app.ui.print(format!("  {} that {are} nowhere else:", plural(commits, "commit")));
        for (commit, subject) in &one.newest {
            app.ui.print(format!("    {} {}", commit.short(), visible_line(subject)));
        }
        if commits > one.newest.len() {
            app.ui.print("    …");
        }
    } else if one.repositories.is_empty() && !one.is_bundled {
        app.ui.print("  no commits that are nowhere else");
    }
    if one.is_bundled {
        app.ui.print("  its commits, which only a bundle beside its files has");
    }
    if !one.repositories.is_empty() {
        let first: Vec<_> = one
            .repositories
            .iter()
            .take(NAMED)
            .map(|path| visible_line(&path.to_string_lossy()).into_owned())
            .collect();
        let more = if one.repositories.len() > NAMED { ", …" } else { "" };
        let are = if one.repositories.len() == 1 { "a repository of its own" } else { "repositories of their own" };
        app.ui.print(format!(
            "  all that was committed in {}{more}: {are}, whose commits are not counted",
            first.join(", ")
        ));
    }
    if one.has_branch {
        app.ui.print(format!("  its branch `{}` stays", workspace.branch));
    }
}

/// Has the name typed; of several, how many they are.
fn is_confirmed(app: &App, erasable: &[Erasable]) -> Result<bool> {
    if app.ui.json || !std::io::stdin().is_terminal() {
        return Err(CliError::usage("`spinney trash erase` deletes for good and asks first, and there is no terminal")
            .hinted("`--yes` erases without being asked")
            .hinted("`--dry-run` only says what would be gone"));
    }
    let (what, wanted) = match erasable {
        [one] => ("its name".to_owned(), one.workspace.name.to_string()),
        several => (format!("`erase {}`", several.len()), format!("erase {}", several.len())),
    };
    app.ui.say(format!("nothing brings this back. Type {what} to erase it:"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| CliError::failed(format!("no answer could be read: {error}")))?;
    Ok(answer.trim() == wanted)
}

fn finish(app: &App, engine: &Engine, erasing: Erasing, before: &[(String, CliError)]) -> Result<u8> {
    if app.ui.json {
        let mut told = document::Erase::done(engine, &erasing, Front::CommandLine);
        told.failed.extend(before.iter().map(|(name, error)| error.as_failure(name)));
        app.ui.print_json(&told);
        return Ok(u8::from(!told.failed.is_empty()));
    }
    for one in &erasing.erased {
        let name = style::paint(style::NAME, &one.workspace.name);
        app.ui.say(format!("{name} is erased: {} freed", size(one.freed)));
    }
    let failed: Vec<CliError> = erasing.failed.into_iter().map(|(_, error)| CliError::from(error)).collect();
    failed.iter().for_each(|error| error.print(false));
    let all = failed.iter().chain(before.iter().map(|(_, error)| error));
    Ok(all.map(CliError::exit_status).max().unwrap_or(0))
}
