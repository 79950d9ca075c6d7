//! `spinney pool`: the workspaces that are prepared ahead of any work.

use std::time::Duration;

use clap::{Args, Subcommand};
use spinney_app::{Front, document, housekeeping};
use spinney_core::names::cut_for_message;
use spinney_engine::{Drained, Engine, Filled, MemberState, PoolStatus, PoolStatuses, plural};

use crate::app::App;
use crate::background;
use crate::error::{CliError, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// How long the background waits before it begins: whoever claims one workspace often claims the next right after.
const BEGIN_AFTER: Duration = Duration::from_millis(300);

/// How much of a line is shown: how a set-up command ended stands after the command itself.
const SHOWN_CHARS: usize = 1000;

/// Show, fill or drain the pool of warm workspaces
#[derive(Debug, Args)]
#[command(
    after_help = "How many are kept ready is `pool.size`: in your own file, in a repository's `spinney.toml`, or as \
    SPINNEY_POOL__SIZE.\n\nExamples:\n  spinney pool\n  SPINNEY_POOL__SIZE=3 spinney pool fill\n  spinney pool drain"
)]
pub struct PoolArgs {
    #[command(subcommand)]
    command: Option<PoolCommand>,
}

#[derive(Debug, Subcommand)]
enum PoolCommand {
    /// Tell how many are ready, which are behind base, and what failed
    #[command(after_help = "Example: spinney pool status --json")]
    Status,
    /// Make what is missing, and bring up to date what is behind base; waits until it is done
    #[command(after_help = "Example: spinney pool fill --repo acme/app")]
    Fill {
        /// Give way to everything else that runs
        #[arg(long, hide = true)]
        background: bool,
    },
    /// Delete all warm workspaces; one with changes goes to the trash
    #[command(after_help = "Example: spinney pool drain")]
    Drain,
}

pub async fn run(app: &App, args: PoolArgs) -> Result<u8> {
    match args.command.unwrap_or(PoolCommand::Status) {
        PoolCommand::Status => status(app).await,
        PoolCommand::Fill { background: true } => fill_in_background(app).await,
        PoolCommand::Fill { background: false } => fill(app).await,
        PoolCommand::Drain => drain(app).await,
    }
}

async fn status(app: &App) -> Result<u8> {
    let engine = app.engine().await?;
    let statuses = housekeeping::pools(&engine, app.context_if_any(&engine).await?.as_ref()).await?;
    if app.ui.json {
        app.ui.print_json(&document::Pools::of(&statuses, Front::CommandLine));
        return Ok(0);
    }
    let PoolStatuses { pools, failed } = statuses;
    for (name, error) in &failed {
        app.ui.warn(format!("{name}: {}", document::Error::message_of(error)));
    }
    if pools.is_empty() && failed.is_empty() {
        app.ui.say(match app.global.is_other_account() {
            true => "no repository yet: `spinney repo add URL` adds one",
            false => "no repository yet: run `spinney new --issue 42` in one, or `spinney repo add URL`",
        });
    }
    for pool in &pools {
        print_status(app, pool);
    }
    Ok(0)
}

fn print_status(app: &App, pool: &PoolStatus) {
    let name = style::paint(style::NAME, &pool.repository);
    let base = pool.base.as_deref().map(|base| format!(", base `{base}`")).unwrap_or_default();
    app.ui.print(format!("{name}: {} of {} ready{base}", pool.ready, pool.size));
    if !pool.members.is_empty() {
        let mut table = Table::with_header(&["NAME", "STATE", "AT", "BY", "PREPARED", "PATH"]);
        for member in &pool.members {
            table.row([
                Cell::styled(member.name.as_str(), style::NAME),
                Cell::from(state_word(member.state)),
                Cell::from(member.commit.short()),
                Cell::from(member.populate.as_str()),
                Cell::from(member.prepared_at.map_or("–".to_owned(), words::ago)),
                Cell::from(member.path.display().to_string()),
            ]);
        }
        app.ui.print_table(&table);
    }
    for member in &pool.members {
        if let Some(error) = &member.error {
            app.ui.warn(format!("{}: {}", member.name, indented(error)));
        }
    }
    let failed = pool.members.iter().any(|member| member.error.is_some());
    if let Some(error) = pool.error.as_ref().filter(|_| !failed) {
        app.ui.warn(format!("the last filling stopped: {}", indented(error)));
    }
    let behind = pool.members.iter().filter(|member| member.state == MemberState::Behind).count();
    if pool.filling {
        app.ui.say("it is being filled now");
    } else if failed {
        app.ui.say("try again: spinney pool fill");
    } else if behind > 0 {
        let are = if behind == 1 { "is" } else { "are" };
        app.ui.say(format!("{behind} {are} behind the base; `spinney pool fill` brings the pool up to date"));
    } else if pool.ready < pool.size as usize {
        app.ui.say("the pool is not full; `spinney pool fill` fills it now");
    } else if pool.size == 0 && pool.members.is_empty() {
        app.ui.say("no pool: `pool.size` is 0; try SPINNEY_POOL__SIZE=2 spinney pool fill");
    }
}

fn state_word(state: MemberState) -> &'static str {
    match state {
        MemberState::Ready => "ready",
        MemberState::Behind => "behind",
        MemberState::Preparing => "preparing",
        MemberState::Failed => "failed",
        MemberState::Template => "template",
    }
}

/// What a set-up printed is somebody else's text: no escape sequence of it reaches the terminal.
fn indented(text: &str) -> String {
    text.lines().map(|line| cut_for_message(line, SHOWN_CHARS)).collect::<Vec<_>>().join("\n    ")
}

async fn fill(app: &App) -> Result<u8> {
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let size = context.config().pool.size;
    let filled = housekeeping::fill_pool(&engine, context, &app.observer()).await?;
    app.ui.progress.clear();
    if app.ui.json {
        app.ui.print_json(&document::Filled::of(&filled));
    } else {
        app.ui.say(sentence(&filled, size));
        tell_retired(app, &filled.retired);
        if size == 0 {
            app.ui.say("`pool.size` is 0: nothing is kept ready; try SPINNEY_POOL__SIZE=2 spinney pool fill");
        }
    }
    match &filled.stopped {
        None => Ok(0),
        Some(why) => Err(CliError::failed(format!("the pool is not full: {}", indented(why)))
            .hinted("`spinney pool status` shows each; `spinney pool fill` tries again")),
    }
}

fn sentence(filled: &Filled, size: u32) -> String {
    let mut parts = vec![format!("{} of {size} ready", filled.ready)];
    if filled.made > 0 {
        parts.push(format!("{} made", filled.made));
    }
    if filled.refreshed > 0 {
        parts.push(format!("{} brought up to date", filled.refreshed));
    }
    if filled.retired.deleted > 0 {
        parts.push(format!("{} deleted", filled.retired.deleted));
    }
    parts.join(", ")
}

fn tell_retired(app: &App, drained: &Drained) {
    for name in &drained.trashed {
        app.ui.say(format!("{name} contained changes and went to the trash; `spinney restore {name}` brings it back"));
    }
    for (name, why) in &drained.kept {
        app.ui.warn(format!("{name} stays: {why}"));
    }
}

/// Fills until there is nothing left to do; ends at once when somebody else is at it.
async fn fill_in_background(app: &App) -> Result<u8> {
    background::give_way();
    tokio::time::sleep(BEGIN_AFTER).await;
    let engine = app.engine().await?;
    let context = app.context(&engine).await?;
    housekeeping::refill_pool_to_the_end(&engine, context).await?;
    Ok(0)
}

async fn drain(app: &App) -> Result<u8> {
    let engine: Engine = app.engine().await?;
    let context = app.context(&engine).await?;
    let drained = housekeeping::drain_pool(&engine, &context, &app.observer()).await?;
    if app.ui.json {
        app.ui.print_json(&document::Drained::of(&drained));
        return Ok(0);
    }
    app.ui.say(format!("{} deleted", plural(drained.deleted, "warm workspace")));
    tell_retired(app, &drained);
    if context.config().pool.size > 0 {
        app.ui.say("`pool.size` is not 0: the next `spinney new` fills it again");
    }
    Ok(0)
}
